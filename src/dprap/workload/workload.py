"""Which queries the user cares about, and how much."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from numbers import Real

from dprap.arguments import as_whole_number
from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries import Custom, Family, Halfspace, Range, as_family
from dprap.queries.marginal import Marginal

MAX_CELLS = 10_000_000
"""Cells, or intervals of cells, a single family may have before it is refused: 80 MB of counts."""

# Columns of a family of whose subsets each is a marginal of the closure.
_MOST_COLUMNS = 12


# So many families are named where a workload shows itself.
_SHOWN = 3


@dataclass(frozen=True, repr=False)
class Workload:
    """Query families over one domain, each with a weight.

    Marginals have no groups: methods choose these.

    >>> workload = Workload(Domain.of({"sex": 2, "region": 3}), (Marginal(("sex", "region")),))
    >>> len(workload), workload.queries
    (1, 6)
    """

    domain: Domain
    families: tuple[Family, ...]
    weights: tuple[float, ...] = ()
    max_cells: int = MAX_CELLS

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain):
            raise WorkloadError(
                f"a workload takes a domain, not {type(self.domain).__name__}. Of a schema it is"
                " `schema.domain`."
            )
        given: object = self.families
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise WorkloadError(
                "a workload takes a list of marginals or other queries, such as"
                " [('age', 'sex'), ('age', 'region')]."
            )
        object.__setattr__(self, "families", tuple(as_family(each) for each in self.families))
        weights: object = self.weights
        if isinstance(weights, str) or not isinstance(weights, Iterable):
            raise WorkloadError("the weights of a workload are a list of numbers.")
        as_whole_number(self.max_cells, "max_cells", 1)
        object.__setattr__(self, "weights", tuple(weights) or (1.0,) * len(self.families))
        if not self.families:
            raise WorkloadError("the workload is empty: name at least one marginal.")
        if len(self.weights) != len(self.families):
            raise WorkloadError(
                f"the workload has {len(self.families)} families but {len(self.weights)} weights."
            )
        for family, weight in zip(self.families, self.weights, strict=True):
            is_number = type(weight) is float or isinstance(weight, Real)
            if not (is_number and 0 < weight < float("inf")):
                raise WorkloadError(f"the weight of {family} must be a positive number.")
            if isinstance(family, Marginal) and family.groups is not None:
                raise WorkloadError(
                    f"a workload has marginals of single codes; {family} has groups. Bin its"
                    " columns."
                )
            if not family.columns:
                raise WorkloadError(
                    "a query family of the workload names no column. Name at least one, such as"
                    " ['age']."
                )
            cells = self.domain.size_of(family.columns)
            if isinstance(family, Range | Halfspace):
                cells = max(cells, family.size(self.domain))
            if not isinstance(family, Custom | Halfspace) and cells > self.max_cells:
                raise WorkloadError(
                    f"{type(family).__name__.lower()} {family} has {cells:,} cells; the limit is"
                    f" {self.max_cells:,}. Leave it out, bin its columns more coarsely, or raise"
                    " the limit (max_cells)."
                )
        if len(set(self.families)) != len(self.families):
            raise WorkloadError(
                "the workload names a query family twice; give it a larger weight instead."
            )

    def __repr__(self) -> str:
        count = len(self.families)
        named = ", ".join(map(str, self.families[:_SHOWN])) + (", …" if count > _SHOWN else "")
        families = "1 family" if count == 1 else f"{count:,} families"
        return f"Workload of {families}, {self.queries:,} queries: {named}"

    def __len__(self) -> int:
        return len(self.families)

    def __iter__(self) -> Iterator[Family]:
        return iter(self.families)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of queries of each family."""
        return tuple(family.size(self.domain) for family in self.families)

    @property
    def queries(self) -> int:
        """Number of queries in all: the paper's m."""
        return sum(self.sizes)

    @property
    def marginals(self) -> tuple[Marginal, ...]:
        """The families, which must all be marginals."""
        others = [family for family in self.families if not isinstance(family, Marginal)]
        if others:
            raise WorkloadError(
                f"this method answers marginals only; {others[0]} is not one. Use the method rap."
            )
        return tuple(family for family in self.families if isinstance(family, Marginal))

    def closure(self, *, smallest: int = 1) -> tuple[Marginal, ...]:
        """Every marginal over a subset of some family's columns, once, in the domain's order.

        Of a family over more than 12 columns, a custom function's, and of halfspaces, those over at
        most three columns: all subsets would be 2^k.

        Args:
            smallest: The least number of columns of a marginal.

        Returns:
            The marginals, those of fewer columns first.

        >>> domain = Domain.of({"a": 2, "b": 2, "c": 2})
        >>> [
        ...     str(m)
        ...     for m in Workload(domain, (Marginal(("a", "b")), Marginal(("c", "b")))).closure()
        ... ]
        ['a', 'b', 'c', 'a×b', 'b×c']
        """
        if smallest not in self._closures:
            found = {
                subset
                for family in self.families
                for size in range(smallest, _most_columns(family) + 1)
                for subset in combinations(sorted(map(self.domain.position, family.columns)), size)
            }
            # A large workload of marginals is its own closure but for the columns: what stands
            # there already is not made again.
            present = {each.columns: each for each in self.families if isinstance(each, Marginal)}
            names = self.domain.names
            self._closures[smallest] = tuple(
                present.get(columns) or Marginal(columns)
                for subset in sorted(found, key=lambda subset: (len(subset), subset))
                for columns in [tuple(names[position] for position in subset)]
            )
        return self._closures[smallest]

    @cached_property
    def _closures(self) -> dict[int, tuple[Marginal, ...]]:
        """Closures that were asked for: plan, run and repetitions ask for the same."""
        return {}


def _most_columns(family: Family) -> int:
    """Columns that the marginals of a family may have."""
    wide = len(family.columns) > _MOST_COLUMNS or isinstance(family, Halfspace)
    return min(3, len(family.columns)) if wide else len(family.columns)


def weighted(
    domain: Domain, entries: Sequence[tuple[Family, float]], *, max_cells: int = MAX_CELLS
) -> Workload:
    """Make a workload from (family, weight) pairs."""
    return Workload(
        domain,
        tuple(family for family, _ in entries),
        tuple(weight for _, weight in entries),
        max_cells=max_cells,
    )
