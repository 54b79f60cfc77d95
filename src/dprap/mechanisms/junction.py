"""Junction trees: how a graphical model with some marginals as factors is summed exactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from dprap.domain import Domain

Table = Float[np.ndarray, "..."]
"""Numbers over some columns, one axis a column."""


@dataclass(frozen=True)
class JunctionTree:
    """Cliques of a forest, each parent before its children, columns of a clique in the domain's order."""

    domain: Domain
    cliques: tuple[tuple[str, ...], ...]
    parents: tuple[int | None, ...]

    @classmethod
    def of(cls, domain: Domain, factors: Iterable[Sequence[str]]) -> JunctionTree:
        """A tree whose cliques cover all factors and all columns.

        Columns are eliminated greedily, smallest new clique first; the maximal cliques, joined by a maximum spanning tree on the
        number of columns they share, then have the running intersection property.
        """
        return cls(domain, *_spanning_tree(domain, _maximal_cliques(domain, factors)))

    @property
    def cells(self) -> int:
        """Numbers held for all cliques."""
        return sum(self.domain.size_of(clique) for clique in self.cliques)

    def home(self, columns: Sequence[str]) -> int:
        """The smallest clique that holds all the columns."""
        wanted = set(columns)
        holding = [place for place, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(holding, key=lambda place: self.domain.size_of(self.cliques[place]))

    def spread(self, table: Table, columns: Sequence[str], clique: Sequence[str]) -> Table:
        """A table over some of a clique's columns, shaped to be broadcast over the clique."""
        kept = [name for name in clique if name in columns]
        aligned = table.transpose([list(columns).index(name) for name in kept])
        return aligned.reshape([self.domain.size(name) if name in columns else 1 for name in clique])

    def calibrate(self, factors: Mapping[tuple[str, ...], Table]) -> list[Table]:
        """Probabilities of every clique under the distribution proportional to exp(sum of the factors)."""
        beliefs: list[Table] = [np.zeros(self.domain.shape_of(clique)) for clique in self.cliques]
        for columns, table in factors.items():
            place = self.home(columns)
            beliefs[place] += self.spread(table, columns, self.cliques[place])
        sent: dict[int, Table] = {}
        for place in reversed(range(len(self.cliques))):
            parent = self.parents[place]
            if parent is not None:
                shared = self._shared(place, parent)
                sent[place] = _log_sum(beliefs[place], self.cliques[place], shared)
                beliefs[parent] += self.spread(sent[place], shared, self.cliques[parent])
        for place, parent in enumerate(self.parents):
            if parent is not None:
                shared = self._shared(place, parent)
                message = _log_sum(beliefs[parent], self.cliques[parent], shared) - sent[place]
                beliefs[place] += self.spread(message, shared, self.cliques[place])
        return [_normalised(belief) for belief in beliefs]

    def _shared(self, place: int, parent: int) -> tuple[str, ...]:
        return tuple(name for name in self.cliques[place] if name in self.cliques[parent])


def _log_sum(belief: Table, clique: Sequence[str], kept: Sequence[str]) -> Table:
    summed = tuple(axis for axis, name in enumerate(clique) if name not in kept)
    highest = belief.max(axis=summed, keepdims=True)
    total: Table = np.log(np.exp(belief - highest).sum(axis=summed)) + highest.squeeze(axis=summed)
    return total


def _normalised(belief: Table) -> Table:
    probabilities = np.exp(belief - belief.max())
    table: Table = probabilities / probabilities.sum()
    return table


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
    return [clique for clique in dict.fromkeys(cliques) if not any(clique < other for other in cliques)]


def _spanning_tree(
    domain: Domain, cliques: list[frozenset[str]]
) -> tuple[tuple[tuple[str, ...], ...], tuple[int | None, ...]]:
    """Prim's algorithm; a clique that shares nothing with the tree so far starts a tree of its own."""
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
    return tuple(tuple(sorted(clique, key=domain.position)) for clique in order), tuple(parents)
