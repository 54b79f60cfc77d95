"""Groups of a column's codes: every code lies in exactly one of them."""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dprap.errors import WorkloadError

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Starts = tuple[int, ...] | None
"""The first code of every group of neighbouring codes; None where each code stands alone."""

Sets = tuple[tuple[int, ...], ...]
"""The codes of every group."""

Groups = Starts | Sets
"""Groups of a column's codes: their first codes, or where they are not neighbours the codes of each
group.
"""


def is_sets(groups: Groups) -> TypeIs[Sets]:
    """Whether the groups are given by their codes."""
    return groups is not None and len(groups) > 0 and isinstance(groups[0], tuple)


def whole_numbers(groups: Any) -> Groups:
    """The groups as tuples of whole numbers.

    Raises:
        TypeError: They are anything else.

    """
    if groups is None:
        return None
    if any(isinstance(group, (tuple, list)) for group in groups):
        return tuple(tuple(map(operator.index, group)) for group in groups)
    return tuple(map(operator.index, groups))


def check_groups(name: str, groups: Groups) -> None:
    """Refuse groups that leave a code of the column out, or have one twice."""
    if is_sets(groups):
        codes = sorted(code for group in groups for code in group)
        if codes != list(range(len(codes))) or not all(groups):
            raise WorkloadError(
                f"column {name!r}: each code from 0 on lies in exactly one group, none is empty."
            )
    elif groups is not None and (
        groups[:1] != (0,) or any(later <= earlier for earlier, later in pairwise(groups))
    ):
        raise WorkloadError(
            f"column {name!r}: groups start at code 0 and then at ever larger ones."
        )


def number_of_groups(name: str, groups: Groups, codes: int) -> int:
    """How many groups a column of so many codes has; refuses groups of other codes than these."""
    if is_sets(groups):
        if sum(map(len, groups)) != codes:
            raise WorkloadError(
                f"column {name!r} has {codes} codes, but its groups {sum(map(len, groups))}."
            )
    elif groups is not None and groups[-1] >= codes:
        raise WorkloadError(
            f"column {name!r} has {codes} codes, so no group starts at {groups[-1]}."
        )
    return codes if groups is None else len(groups)
