"""Graphical models of noisy marginals (McKenna, Sheldon and Miklau 2019): what HDMM+PGM, AIM and MST infer with.

The model is fitted by `mbi`'s mirror descent. Marginals that no clique holds are computed here, from the calibrated junction
tree: the joint distribution is a product of one clique's table and conditionals of the others, summed out by `einsum`. (`mbi`
compiles a programme for each such marginal, which takes longer than all of this.)
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int

from dprap.array_types import Answers
from dprap.domain import Domain
from dprap.errors import SettingsError
from dprap.privacy import Measurement
from dprap.queries import Marginal

Columns = frozenset[str]


def _double_precision() -> AbstractContextManager[Any]:
    return jax.enable_x64(True)  # type: ignore[no-any-return, no-untyped-call, unused-ignore]  # noqa: FBT003


def _mbi() -> ModuleType:
    """The optional package, or a message that says how to get it."""
    try:
        # It warns on import that single precision is too little; every use below is in double precision.
        with warnings.catch_warnings(), _double_precision():
            warnings.simplefilter("ignore")
            import mbi
    except ImportError:
        raise SettingsError("methods with graphical models need mbi. Install dprap[bench].") from None
    module: ModuleType = mbi
    return module


def model_megabytes(domain: Domain, marginals: Iterable[Marginal]) -> float:
    """Size of the junction tree of a model that holds these marginals."""
    mbi = _mbi()
    cliques = [marginal.columns for marginal in marginals if marginal.columns]
    size: float = mbi.junction_tree.hypothetical_model_size(mbi.Domain(domain.names, domain.sizes), cliques)
    return size


def check_model_size(domain: Domain, marginals: Iterable[Marginal], max_megabytes: float) -> None:
    """Refuse, before anything is spent, marginals whose junction tree does not fit."""
    size = model_megabytes(domain, marginals)
    if size > max_megabytes:
        raise SettingsError(
            f"a graphical model of these marginals takes {size:,.0f} MB; the limit is {max_megabytes:,.0f}. "
            "Use least squares, fewer marginals, or raise max_model_megabytes."
        )


@dataclass(frozen=True)
class GraphicalModel:
    """A fitted distribution: tables of a junction tree's cliques, each parent before its children."""

    domain: Domain
    cliques: tuple[tuple[str, ...], ...]
    parents: tuple[int | None, ...]
    tables: tuple[Float[np.ndarray, "..."], ...]
    fitted: Any

    def fractions(self, marginal: Marginal) -> Answers:
        """Fractions of the cells of any marginal."""
        wanted = frozenset(marginal.columns)
        if not wanted:
            return np.ones(1)
        kept = self._needed(wanted)
        operands: list[Any] = []
        for place in sorted(kept):
            columns, parent = self.cliques[place], self.parents[place]
            table = self.tables[place]
            if parent is not None and parent in kept:
                shared = frozenset(columns) & frozenset(self.cliques[parent])
                summed = tuple(axis for axis, name in enumerate(columns) if name not in shared)
                below = table.sum(axis=summed, keepdims=True)
                table = np.divide(table, below, out=np.zeros_like(table), where=below > 0)
            operands += [table, [self.domain.position(name) for name in columns]]
        output = [self.domain.position(name) for name in marginal.columns]
        result: Answers = np.einsum(*operands, output, optimize="greedy").ravel()
        return result

    def _needed(self, wanted: Columns) -> set[int]:
        """Cliques that a marginal depends on: leaves that add no wanted column to their neighbour are cut, repeatedly."""
        kept = set(range(len(self.cliques)))
        cut = True
        while cut:
            cut = False
            for place in sorted(kept, reverse=True):
                around = self._neighbours(place, kept)
                adds = wanted & frozenset(self.cliques[place])
                if (not around and not adds) or (
                    len(around) == 1 and adds <= frozenset(self.cliques[next(iter(around))])
                ):
                    kept.remove(place)
                    cut = True
        return kept

    def _neighbours(self, place: int, kept: set[int]) -> set[int]:
        children = {child for child, parent in enumerate(self.parents) if parent == place}
        parent = self.parents[place]
        return ((children | {parent}) if parent is not None else children) & kept

    def sample(self, rows: int, rng: np.random.Generator) -> Int[np.ndarray, "records columns"]:
        """Independent records, clique by clique: each given the columns it shares with its parent."""
        records = np.full((rows, len(self.domain)), -1, dtype=np.int64)
        for place, columns in enumerate(self.cliques):
            parent = self.parents[place]
            shared = [name for name in columns if parent is not None and name in self.cliques[parent]]
            fresh = [name for name in columns if name not in shared]
            table = self.tables[place].transpose([columns.index(name) for name in (*shared, *fresh)])
            table = table.reshape(self.domain.size_of(shared), self.domain.size_of(fresh))
            given = np.zeros(rows, dtype=np.int64)
            for name in shared:
                given = given * self.domain.size(name) + records[:, self.domain.position(name)]
            drawn = _draw(table, given, rng)
            codes = np.unravel_index(drawn, self.domain.shape_of(fresh)) if fresh else ()
            for name, code in zip(fresh, codes, strict=True):
                records[:, self.domain.position(name)] = code
        return records


def _draw(
    table: Float[np.ndarray, "given cells"], given: Int[np.ndarray, "records"], rng: np.random.Generator
) -> Int[np.ndarray, "records"]:
    """One cell a record, from the row of the table that its given values name."""
    drawn = np.zeros(len(given), dtype=np.int64)
    for row in np.unique(given):
        members = np.flatnonzero(given == row)
        cumulative = np.cumsum(table[row])
        places = np.searchsorted(cumulative, rng.random(len(members)) * cumulative[-1], side="right")
        drawn[members] = np.minimum(places, table.shape[1] - 1)
    return drawn


def fit_model(
    domain: Domain,
    measured: Sequence[Measurement],
    records: float,
    *,
    iterations: int,
    start: GraphicalModel | None = None,
) -> GraphicalModel:
    """Fit the maximum-entropy distribution whose marginals come closest to the measured ones, in units of their noise."""
    mbi = _mbi()
    with _double_precision(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mbi_domain = mbi.Domain(domain.names, domain.sizes)
        observed = [
            mbi.LinearMeasurement(counts, marginal.columns, stddev)
            for marginal, (counts, stddev) in _merged(measured).items()
        ]
        fitted = mbi.estimation.MirrorDescent().estimate(
            mbi_domain,
            observed,
            known_total=records,
            iters=iterations,
            warm_start=None if start is None else start.fitted,
        )
        tree, _ = mbi.junction_tree.make_junction_tree(mbi_domain, [tuple(clique) for clique in fitted.cliques])
        calibrated = mbi.marginal_oracles.message_passing_stable(fitted.potentials.expand(list(tree.nodes)), 1.0)
        cliques, parents = _rooted(tree)
        tables = tuple(
            np.asarray(calibrated.project(clique).datavector(flatten=False), dtype=np.float64) for clique in cliques
        )
    return GraphicalModel(domain, cliques, parents, tables, fitted)


def _merged(measured: Sequence[Measurement]) -> dict[Marginal, tuple[Float[np.ndarray, "cells"], float]]:
    """Inverse-variance means of what was measured more than once: the same loss, and fewer programmes to compile."""
    sums: dict[Marginal, tuple[Float[np.ndarray, "cells"], float]] = {}
    for measurement in measured:
        if measurement.marginal.columns:
            information = measurement.stddev_counts**-2.0
            total, known = sums.get(measurement.marginal, (np.zeros(len(measurement.counts)), 0.0))
            sums[measurement.marginal] = (total + information * measurement.counts, known + information)
    return {marginal: (total / known, known**-0.5) for marginal, (total, known) in sums.items()}


def _rooted(tree: Any) -> tuple[tuple[tuple[str, ...], ...], tuple[int | None, ...]]:
    """Cliques of a forest with each parent before its children."""
    order: list[tuple[str, ...]] = []
    parents: list[int | None] = []
    place_of: dict[tuple[str, ...], int] = {}
    for root in tree.nodes:
        if root in place_of:
            continue
        waiting: list[tuple[tuple[str, ...], int | None]] = [(root, None)]
        while waiting:
            clique, parent = waiting.pop()
            place_of[clique] = len(order)
            order.append(clique)
            parents.append(parent)
            waiting += [(other, place_of[clique]) for other in tree.neighbors(clique) if other not in place_of]
    return tuple(order), tuple(parents)
