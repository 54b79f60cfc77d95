r"""Graphical models of noisy marginals (McKenna, Sheldon and Miklau 2019): what HDMM+PGM, AIM and
MST infer with.

Among the distributions \(p \propto \exp(\sum_S \theta_S)\), with one table of parameters for every
measured marginal S, find the one that minimises \(\tfrac12 \sum_S \lVert (n\,p_S - y_S)/\sigma_S
\rVert^2\) by mirror descent: a step along the gradient by the marginals is a step of the
parameters. Marginals come from a junction tree; those that no clique holds, from the product of one
clique's table with conditionals of the others, summed out by `einsum`.

This is the estimator of the package `mbi`, and tested against it. `mbi` 2.0 compiles its programmes
anew for every set of marginals, which took most of the time of an adaptive run; plain NumPy has
nothing to compile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dprap.accounting import Measurement
from dprap.array_types import Answers, Float, Int
from dprap.domain import Domain
from dprap.errors import SettingsError
from dprap.queries import Marginal
from dprap_bench.mechanisms.junction import JunctionTree, Table, largest_last

Columns = tuple[str, ...]

_WINDOW = 50
_TOLERANCE = 1e-5
# The descent ends when the loss has not fallen by this fraction in a window of steps.


def model_megabytes(domain: Domain, marginals: Iterable[Marginal]) -> float:
    """Size of the junction tree of a model that holds these marginals, at eight bytes a cell."""
    return JunctionTree.of(domain, [marginal.columns for marginal in marginals]).cells * 8 / 2**20


def check_model_size(domain: Domain, marginals: Iterable[Marginal], max_megabytes: float) -> None:
    """Refuse, before anything is spent, marginals whose junction tree does not fit."""
    size = model_megabytes(domain, marginals)
    if size > max_megabytes:
        raise SettingsError(
            f"a graphical model of these marginals takes {size:,.0f} MB; the limit is"
            f" {max_megabytes:,.0f}. Use least squares, fewer marginals, or raise"
            " max_model_megabytes."
        )


@dataclass(frozen=True)
class NoisyTable:
    """Counts of a marginal with a noise of their own in every cell; what `Measurement` is with one
    for all.
    """

    marginal: Marginal
    counts: Float[np.ndarray, " cells"]
    stddev_counts: Float[np.ndarray, " cells"]


@dataclass(frozen=True)
class GraphicalModel:
    """A fitted distribution: probabilities of a junction tree's cliques, and the parameters they
    come from.
    """

    tree: JunctionTree
    tables: tuple[Table, ...]
    parameters: Mapping[Columns, Table]

    def fractions(self, marginal: Marginal) -> Answers:
        """Fractions of the cells of any marginal."""
        wanted = frozenset(marginal.columns)
        if not wanted:
            return np.ones(1)
        kept = self._needed(wanted)
        operands: list[Any] = []
        for place in sorted(kept):
            columns, parent = self.tree.cliques[place], self.tree.parents[place]
            table = self.tables[place]
            if parent is not None and parent in kept:
                shared = frozenset(columns) & frozenset(self.tree.cliques[parent])
                summed = tuple(axis for axis, name in enumerate(columns) if name not in shared)
                below = table.sum(axis=summed, keepdims=True)
                table = np.divide(table, below, out=np.zeros_like(table), where=below > 0)
            operands += [table, [self.tree.domain.position(name) for name in columns]]
        output = [self.tree.domain.position(name) for name in marginal.columns]
        result: Answers = np.einsum(*operands, output, optimize="greedy").ravel()
        return result

    def _needed(self, wanted: frozenset[str]) -> set[int]:
        """Cliques that a marginal depends on: leaves that add no wanted column to their neighbour
        are cut, repeatedly.
        """
        kept = set(range(len(self.tree.cliques)))
        cut = True
        while cut:
            cut = False
            for place in sorted(kept, reverse=True):
                around = self._neighbours(place, kept)
                adds = wanted & frozenset(self.tree.cliques[place])
                if (not around and not adds) or (
                    len(around) == 1 and adds <= frozenset(self.tree.cliques[next(iter(around))])
                ):
                    kept.remove(place)
                    cut = True
        return kept

    def _neighbours(self, place: int, kept: set[int]) -> set[int]:
        children = {child for child, parent in enumerate(self.tree.parents) if parent == place}
        parent = self.tree.parents[place]
        return ((children | {parent}) if parent is not None else children) & kept

    def sample(self, rows: int, rng: np.random.Generator) -> Int[np.ndarray, "records columns"]:
        """Independent records, clique by clique: each given the columns it shares with its
        parent.
        """
        records = np.full((rows, len(self.tree.domain)), -1, dtype=np.int64)
        for place, columns in enumerate(self.tree.cliques):
            parent = self.tree.parents[place]
            shared = [
                name for name in columns if parent is not None and name in self.tree.cliques[parent]
            ]
            fresh = [name for name in columns if name not in shared]
            table = self.tables[place].transpose(
                [columns.index(name) for name in (*shared, *fresh)]
            )
            table = table.reshape(self.tree.domain.size_of(shared), self.tree.domain.size_of(fresh))
            given = np.zeros(rows, dtype=np.int64)
            for name in shared:
                given = (
                    given * self.tree.domain.size(name)
                    + records[:, self.tree.domain.position(name)]
                )
            drawn = _draw(table, given, rng)
            codes = np.unravel_index(drawn, self.tree.domain.shape_of(fresh)) if fresh else ()
            for name, code in zip(fresh, codes, strict=True):
                records[:, self.tree.domain.position(name)] = code
        return records


def _draw(
    table: Float[np.ndarray, "given cells"],
    given: Int[np.ndarray, " records"],
    rng: np.random.Generator,
) -> Int[np.ndarray, " records"]:
    """One cell a record, from the row of the table that its given values name."""
    drawn = np.zeros(len(given), dtype=np.int64)
    for row in np.unique(given):
        members = np.flatnonzero(given == row)
        cumulative = np.cumsum(table[row])
        places = np.searchsorted(
            cumulative, rng.random(len(members)) * cumulative[-1], side="right"
        )
        drawn[members] = np.minimum(places, table.shape[1] - 1)
    return drawn


def fit_model(
    domain: Domain,
    measured: Sequence[Measurement | NoisyTable],
    records: float,
    *,
    iterations: int,
    start: GraphicalModel | None = None,
) -> GraphicalModel:
    """Fit a model to the measured marginals in at most `iterations` steps, from `start`'s
    parameters where it has them.
    """
    observed = _merged(domain, measured)
    tree = JunctionTree.of(domain, observed)
    known: Mapping[Columns, Table] = {} if start is None else start.parameters
    parameters = {
        columns: known.get(columns, np.zeros_like(counts))
        for columns, (counts, _) in observed.items()
    }
    point = _Point.at(tree, parameters, observed, records)
    # The inverse of the largest curvature of the loss is where a step certainly helps.
    sharpest = [float(np.min(stddev)) for _, stddev in observed.values()]
    step = 1 / (records**2 * sum(stddev**-2 for stddev in sharpest)) if observed else 0.0
    looked_at, spare = point.loss, None
    for done in range(iterations if observed else 0):
        moved = {
            columns: table - step * point.gradient[columns]
            for columns, table in point.parameters.items()
        }
        tried = _Point.at(tree, moved, observed, records, into=spare)
        promised = sum(
            float(
                np.vdot(
                    point.gradient[columns], point.marginals[columns] - tried.marginals[columns]
                )
            )
            for columns in observed
        )
        if point.loss - tried.loss >= 0.5 * promised:
            spare = point.tables
            point, step = tried, step * 1.5
        else:
            spare = tried.tables
            step *= 0.5
        if done % _WINDOW == _WINDOW - 1:
            if looked_at - point.loss <= _TOLERANCE * point.loss:
                break
            looked_at = point.loss
    return GraphicalModel(tree, point.tables, point.parameters)


@dataclass(frozen=True)
class _Point:
    """A place on the way: parameters, what follows from them, the loss and its gradient by the
    marginals.
    """

    parameters: Mapping[Columns, Table]
    tables: tuple[Table, ...]
    marginals: Mapping[Columns, Table]
    loss: float
    gradient: Mapping[Columns, Table]

    @classmethod
    def at(
        cls,
        tree: JunctionTree,
        parameters: Mapping[Columns, Table],
        observed: Mapping[Columns, tuple[Table, Table | float]],
        records: float,
        into: tuple[Table, ...] | None = None,
    ) -> _Point:
        tables = tree.calibrate(parameters, into)
        marginals, gradient, loss = {}, {}, 0.0
        for columns, (counts, stddev) in observed.items():
            clique = tree.cliques[tree.home(columns)]
            summed = tuple(axis for axis, name in enumerate(clique) if name not in columns)
            marginals[columns] = tables[tree.home(columns)].sum(axis=summed)
            residual = (records * marginals[columns] - counts) / stddev
            loss += 0.5 * float(np.vdot(residual, residual))
            gradient[columns] = residual * (records / stddev)
        return cls(parameters, tables, marginals, loss, gradient)


def _merged(
    domain: Domain, measured: Sequence[Measurement | NoisyTable]
) -> dict[Columns, tuple[Table, Table | float]]:
    """Tables in the tree's column order with their noise; what was measured more than once is
    averaged by precision.
    """
    sums: dict[Columns, tuple[Table, Table | float]] = {}
    for measurement in measured:
        given = measurement.marginal.columns
        if given:
            columns = largest_last(domain, given)
            order = [given.index(name) for name in columns]
            table = (
                measurement.counts.astype(np.float64)
                .reshape(domain.shape_of(given))
                .transpose(order)
            )
            information: Table | float = measurement.stddev_counts**-2.0
            if isinstance(information, np.ndarray):
                information = information.reshape(domain.shape_of(given)).transpose(order)
            total, known = sums.get(columns, (np.zeros(domain.shape_of(columns)), 0.0))
            sums[columns] = (total + information * table, known + information)
    return {columns: (total / known, known**-0.5) for columns, (total, known) in sums.items()}
