"""Answers as fractions: of the private table (NOT PRIVATE), and of whatever was published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from dprap.array_types import Answers
from dprap.encoding import Codes
from dprap.errors import WorkloadError
from dprap.mechanisms.result import MechanismResult
from dprap.privacy.exact_counts import ExactAnswers
from dprap.queries import Family
from dprap.relaxed.marginals import answers
from dprap.relaxed.rows import RelaxedDataset
from dprap.sources import CountSource, MemorySource

Published: TypeAlias = MechanismResult | RelaxedDataset | Codes | Sequence[Answers]
"""A mechanism's result, relaxed rows, synthetic records, or answers as fractions, one array a
family.
"""


def exact_answers(source: CountSource, families: Sequence[Family]) -> Iterator[Answers]:
    """Exact fractions of every query, family by family. NOT PRIVATE when the source is."""
    exact = ExactAnswers(source)
    exact.prepare(families)
    for family in families:
        sums, unit = exact.family(family)
        yield sums / (unit * source.rows)


def published_answers(published: Published, families: Sequence[Family]) -> Iterator[Answers]:
    """Fractions of every query as published; answers are preferred to relaxed rows where a result
    has both.
    """
    if isinstance(published, MechanismResult):
        if published.answers is not None:
            published = published.answers
        elif published.relaxed is not None:
            published = published.relaxed
        else:
            raise WorkloadError("the result has neither answers nor relaxed rows to evaluate.")
    if isinstance(published, RelaxedDataset):
        yield from answers(published, families)
    elif isinstance(published, Codes):
        yield from exact_answers(MemorySource(published), families)
    else:
        if len(published) != len(families):
            raise WorkloadError(
                f"{len(published)} arrays of answers given for {len(families)} query families."
            )
        yield from published
