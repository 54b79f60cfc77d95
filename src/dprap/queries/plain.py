"""Query families as plain data: one form for ledgers, releases, workload files and whoever reads
them.

family     plain form
marginal   {"columns": [...]}, and "groups": [...] where codes of some columns are merged
threshold  {"columns": [...], "at_least": t}
range      {"columns": [...], "ranges": {column: "all", "prefixes" or [[first, last], ...]}};
           where there are prefixes alone, {"columns": [...], "cumulative": [...]}
halfspace  {"columns": [...], "halfspaces": {"count": m, "by": [...], "seed": s,
           "shape": "linear" or "prefix"}}, and "points" among these where the places of codes are
           known
custom     {"custom": name, "columns": [...]}, and "queries": m where it is to be read back

The keys tell the family, so two families never have the same form. A function is code, and plain
data holds none: a custom query comes back by name, as a `NamedCustom`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries.code_groups import Groups
from dprap.queries.custom import Custom, NamedCustom
from dprap.queries.halfspace import Halfspace
from dprap.queries.marginal import Marginal
from dprap.queries.query import Family
from dprap.queries.range import Range
from dprap.queries.threshold import Threshold

# Every class with a plain form. A subclass could answer differently, so it is none of them.
KINDS: tuple[type, ...] = (Marginal, Threshold, Range, Halfspace, Custom, NamedCustom)


def as_plain(family: Family, domain: Domain | None = None) -> dict[str, Any]:
    """A family as plain data.

    Args:
        family: A family of one of `KINDS`, not of a subclass.
        domain: Where the form is to be read back: then custom queries say how many they are.

    Returns:
        The form, of lists, strings and whole numbers alone.

    Raises:
        WorkloadError: The class has no plain form.

    >>> as_plain(Range.prefixes(("sex", "age"), cumulative=("age",)))
    {'columns': ['sex', 'age'], 'cumulative': ['age']}
    >>> as_plain(Range(("sex", "age"), {"age": "all"}))
    {'columns': ['sex', 'age'], 'ranges': {'age': 'all'}}

    """
    if type(family) not in KINDS:
        raise WorkloadError(
            f"a query family of the class {type(family).__name__} has no plain form to be"
            " stored in."
        )
    columns: dict[str, Any] = {"columns": list(family.columns)}
    match family:
        case Marginal():
            return (
                columns
                if family.groups is None
                else columns | {"groups": [_listed(each) for each in family.groups]}
            )
        case Threshold():
            return columns | {"at_least": family.at_least}
        case Range():
            return columns | _plain_ranges(family)
        case Halfspace():
            return columns | {"halfspaces": _plain_halfspaces(family)}
        case Custom():
            queries = {} if domain is None else {"queries": family.size(domain)}
            return {"custom": family.name, **columns, **queries}
        case _:
            assert_never(family)


def from_plain(plain: Any, domain: Domain) -> Family:
    """The family of a plain form; the inverse of `as_plain`, but for the functions of custom
    queries.

    Args:
        plain: The form, from a file that anybody may have written.
        domain: The columns and their codes.

    Returns:
        The family, all of whose columns and groups the domain has.

    Raises:
        WorkloadError: The form is none of those above, or does not fit the domain.

    >>> str(from_plain({"columns": ["sex", "age"], "at_least": 1}, Domain.of({"sex": 2, "age": 9})))
    '1-of-2(sex, age)'
    """
    if not isinstance(plain, Mapping) or not isinstance(plain.get("columns"), list):
        raise WorkloadError("a query family is a mapping with a list of columns.")
    columns = tuple(str(name) for name in plain["columns"])
    domain.shape_of(columns)  # refuses columns that the domain does not have
    named = "×".join(columns)
    rest = {key: value for key, value in plain.items() if key != "columns"}
    match rest:
        case {"at_least": _, "cumulative": _}:
            raise WorkloadError(f"{named} is a threshold or a range family, not both.")
        case {"custom": name, "queries": int(queries)} if len(rest) == 2 and _is_whole(queries):
            return NamedCustom.of(str(name), columns, queries)
        case {"at_least": at_least} if len(rest) == 1:
            if not _is_whole(at_least):
                raise WorkloadError(f"at_least of {named} is not a whole number.")
            return Threshold(columns, at_least)
        case {"cumulative": cumulative} if len(rest) == 1:
            if not isinstance(cumulative, list):
                raise WorkloadError(f"cumulative of {named} is not a list of columns.")
            return Range.prefixes(columns, tuple(str(name) for name in cumulative))
        case {"ranges": ranges} if len(rest) == 1:
            if not isinstance(ranges, Mapping):
                raise WorkloadError(
                    f"ranges of {named} is not a mapping from columns to intervals."
                )
            family = Range(columns, {str(name): intervals for name, intervals in ranges.items()})
            family.shape(domain)  # refuses intervals of other codes than the domain's
            return family
        case {"halfspaces": terms} if len(rest) == 1:
            return _halfspaces(columns, terms, domain)
        case {"groups": groups} if len(rest) == 1:
            if not isinstance(groups, list):
                raise WorkloadError(
                    f"groups of {named} is not a list with the groups of each column."
                )
            marginal = Marginal(columns, tuple(groups))
            marginal.shape(domain)  # refuses groups of other codes than the domain's
            return marginal
        case _ if not rest:
            return Marginal(columns)
        case _:
            raise WorkloadError(
                f"the query family of {named} has, beside its columns, at_least, cumulative,"
                " ranges, halfspaces, groups, or custom with the number of its queries."
            )


def _plain_ranges(family: Range) -> dict[str, Any]:
    if all(intervals == "prefixes" for intervals in family.along.values()):
        return {"cumulative": list(family.along)}
    listed = {
        name: [list(pair) for pair in intervals] if isinstance(intervals, tuple) else intervals
        for name, intervals in family.along.items()
    }
    return {"ranges": listed}


def _plain_halfspaces(family: Halfspace) -> dict[str, Any]:
    terms = {
        "count": family.count,
        "by": list(family.by),
        "seed": family.seed,
        "shape": family.shape,
    }
    return (
        terms
        if family.points is None
        else terms | {"points": [list(each) for each in family.points]}
    )


def _halfspaces(columns: tuple[str, ...], terms: Any, domain: Domain) -> Halfspace:
    known = {"count", "by", "seed", "shape", "points"}
    lists = isinstance(terms, Mapping) and all(
        isinstance(terms.get(key, []), list) for key in ("by", "points")
    )
    if (
        not lists
        or not {"count"} <= set(terms) <= known
        or not all(isinstance(p, list) for p in terms.get("points", []))
    ):
        raise WorkloadError(
            f"halfspaces of {'×'.join(columns)} have a count and may have: by, seed, shape, points."
        )
    family = Halfspace(columns, **{**terms, "by": tuple(str(name) for name in terms.get("by", []))})
    family.points_of(domain)  # refuses points of other codes than the domain's
    return family


def _is_whole(value: Any) -> bool:
    return type(value) is int and value >= 0


def _listed(groups: Groups) -> list[Any] | None:
    return (
        None
        if groups is None
        else [list(each) if isinstance(each, tuple) else each for each in groups]
    )
