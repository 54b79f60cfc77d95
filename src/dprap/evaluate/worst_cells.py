"""The worst answers of a published table, by name. NOT PRIVATE."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from dprap.encoding import Codes
from dprap.evaluate.answer_shares import exact_answers, published_answers
from dprap.queries import Family, Marginal
from dprap.schema import Schema
from dprap.sources import CountSource
from dprap.workload import Workload


@dataclass(frozen=True)
class WorstCell:
    """A query of the workload; shares are of all records. NOT PRIVATE."""

    query: str
    private: float
    published: float


def worst_cells(
    source: CountSource, workload: Workload, published: Codes, schema: Schema, *, most: int = 10
) -> list[WorstCell]:
    """The queries with the largest errors, the worst first, at most one of each family."""
    families = workload.families
    pairs = zip(
        exact_answers(source, families), published_answers(published, families), strict=True
    )
    found = []
    for family, (truth, answer) in zip(families, pairs, strict=True):
        truth, answer = np.asarray(truth).ravel(), np.asarray(answer).ravel()
        at = int(np.abs(truth - answer).argmax())
        found.append(WorstCell(_named(family, at, schema), float(truth[at]), float(answer[at])))
    return heapq.nlargest(most, found, key=lambda cell: abs(cell.private - cell.published))


def _named(family: Family, at: int, schema: Schema) -> str:
    if not isinstance(family, Marginal) or family.groups is not None:
        return f"{family}, query {at}"
    codes = np.unravel_index(at, schema.domain.shape_of(family.columns))
    return " and ".join(
        f"{name} = {schema.label(name, int(code))}"
        for name, code in zip(family.columns, codes, strict=True)
    )
