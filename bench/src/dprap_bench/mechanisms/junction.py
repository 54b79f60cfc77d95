"""Junction trees: how a graphical model with some marginals as factors is summed exactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from dprap.array_types import Float
from dprap.domain import Domain

Table = Float[np.ndarray, "..."]
"""Numbers over some columns, one axis a column."""


@dataclass(frozen=True)
class JunctionTree:
    """Cliques of a forest, each parent before its children, columns of a clique in the order of
    `largest_last`.
    """

    domain: Domain
    cliques: tuple[tuple[str, ...], ...]
    parents: tuple[int | None, ...]
    _homes: dict[tuple[str, ...], int] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, domain: Domain, factors: Iterable[Sequence[str]]) -> JunctionTree:
        """A tree whose cliques cover all factors and all columns.

        Columns are eliminated greedily, smallest new clique first; the maximal cliques, joined by a
        maximum spanning tree on the number of columns they share, then have the running
        intersection property.
        """
        return cls(domain, *_spanning_tree(domain, _maximal_cliques(domain, factors)))

    @property
    def cells(self) -> int:
        """Numbers held for all cliques."""
        return sum(self.domain.size_of(clique) for clique in self.cliques)

    def home(self, columns: Sequence[str]) -> int:
        """The smallest clique that holds all the columns."""
        key = tuple(columns)
        if key not in self._homes:  # asked for at every step of a fit
            holding = [
                place for place, clique in enumerate(self.cliques) if set(key) <= set(clique)
            ]
            self._homes[key] = min(
                holding, key=lambda place: self.domain.size_of(self.cliques[place])
            )
        return self._homes[key]

    def spread(self, table: Table, columns: Sequence[str], clique: Sequence[str]) -> Table:
        """A table over some of a clique's columns, shaped to be broadcast over the clique."""
        kept = [name for name in clique if name in columns]
        aligned = table.transpose([list(columns).index(name) for name in kept])
        return aligned.reshape(
            [self.domain.size(name) if name in columns else 1 for name in clique]
        )

    def calibrate(
        self, factors: Mapping[tuple[str, ...], Table], into: Sequence[Table] | None = None
    ) -> tuple[Table, ...]:
        """Probabilities of every clique under the distribution proportional to exp(sum of the
        factors).

        They are written over the tables of an earlier call where these are given: fresh memory
        costs as much as the sums.
        """
        beliefs = (
            list(into)
            if into is not None
            else [np.empty(self.domain.shape_of(c)) for c in self.cliques]
        )
        for belief in beliefs:
            belief.fill(0.0)
        for columns, table in factors.items():
            place = self.home(columns)
            beliefs[place] += self.spread(table, columns, self.cliques[place])
        # Up: each clique is exponentiated once, given its shared columns. Down: multiplied by what
        # its parent says of them.
        given: list[Table] = [np.empty(0)] * len(self.cliques)
        for place in reversed(range(len(self.cliques))):
            parent = self.parents[place]
            given[place], total = _exponentiated(beliefs[place], self._own_axes(place))
            if parent is not None:
                beliefs[parent] += self._moved(total, place, parent)
        for place, parent in enumerate(self.parents):
            if parent is not None:
                own = self._own_axes(parent, place)
                given[place] *= self._moved(
                    given[parent].sum(axis=own, keepdims=True), parent, place
                )
        return tuple(given)

    def _own_axes(self, place: int, other: int | None = None) -> tuple[int, ...]:
        """Axes of a clique's columns that another (its parent) has not."""
        other = self.parents[place] if other is None else other
        theirs = self.cliques[other] if other is not None else ()
        return tuple(axis for axis, name in enumerate(self.cliques[place]) if name not in theirs)

    def _moved(self, table: Table, source: int, target: int) -> Table:
        """A table over the columns two cliques share, in the shape of one, to be broadcast over the
        other.
        """
        shared = [name for name in self.cliques[target] if name in self.cliques[source]]
        return self.spread(
            table.reshape(self.domain.shape_of(shared)), shared, self.cliques[target]
        )


def largest_last(domain: Domain, columns: Iterable[str]) -> tuple[str, ...]:
    """Columns by their number of codes: sums along a long last axis are several times faster than
    along a short one.
    """
    return tuple(sorted(columns, key=lambda name: (domain.size(name), domain.position(name))))


def _exponentiated(belief: Table, summed: tuple[int, ...]) -> tuple[Table, Table]:
    """Probabilities along the summed axes for every value of the others, and the logarithms of the
    sums.
    """
    highest = belief.max(axis=summed, keepdims=True)
    probabilities: Table = np.subtract(belief, highest, out=belief)
    np.exp(probabilities, out=probabilities)
    total = probabilities.sum(axis=summed, keepdims=True)
    probabilities /= total
    return probabilities, np.log(total) + highest


def _maximal_cliques(domain: Domain, factors: Iterable[Sequence[str]]) -> list[frozenset[str]]:
    neighbours: dict[str, set[str]] = {name: set() for name in domain.names}
    for columns in factors:
        for name in columns:
            neighbours[name].update(columns)
            neighbours[name].discard(name)
    cliques: list[frozenset[str]] = []
    while neighbours:
        name = min(neighbours, key=lambda name: domain.size_of({name} | neighbours[name]))
        around = neighbours.pop(name)
        cliques.append(frozenset({name} | around))
        for other in around:
            neighbours[other] |= around
            neighbours[other] -= {name, other}
    return [
        clique for clique in dict.fromkeys(cliques) if not any(clique < other for other in cliques)
    ]


def _spanning_tree(
    domain: Domain, cliques: list[frozenset[str]]
) -> tuple[tuple[tuple[str, ...], ...], tuple[int | None, ...]]:
    """Prim's algorithm; a clique that shares nothing with the tree so far starts a tree of its
    own.
    """
    waiting = dict.fromkeys(cliques)
    order: list[frozenset[str]] = []
    parents: list[int | None] = []
    best: dict[frozenset[str], tuple[int, int | None]] = dict.fromkeys(cliques, (0, None))
    while waiting:
        clique = max(waiting, key=lambda clique: best[clique][0])
        del waiting[clique]
        parents.append(best[clique][1])
        order.append(clique)
        for other in waiting:
            if len(other & clique) > best[other][0]:
                best[other] = (len(other & clique), len(order) - 1)
    return tuple(largest_last(domain, clique) for clique in order), tuple(parents)
