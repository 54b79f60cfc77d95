r"""Mixed rows: real coordinates for numeric columns beside one-hot blocks, fitted by an annealed
surrogate.

A query of the fit is a conjunction of *planes* \(w \cdot x \ge b\) over the coordinates of a row
and of *literals*, codes of the other columns. Its answer is the mean over rows of

\[ \prod_{\text{planes}} [w \cdot x \ge b] \; \prod_{\text{literals}} p_{code}. \]

A step function has no slope, so that the optimiser moves rows along the surrogate with
\(\sigma(\beta\,(w \cdot x - b))\) in its place. The inverse temperature β doubles from level to
level: at first a row feels planes that are far away, at the end the surrogate is nearly the step. A
blurred answer of rows that are just right is off, and would pull them away, so that each level
starts from the exact answers: the fit sees \(\text{surrogate}(D') - \text{surrogate}(D'_0) +
\text{exact}(D'_0)\), with \(D'_0\) the rows at the level's start. What counts is the *exact* loss,
with every coordinate moved to the nearest point that is the place of a code, and steps for
sigmoids. A level that made it larger is taken back: the next one starts from the best rows so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

from dprap.array_types import Float, Float32, Float64, Int32
from dprap.compiled import compiled
from dprap.domain import Domain
from dprap.errors import SettingsError, WorkloadError
from dprap.queries import Halfspace, Marginal, Query, Range
from dprap.queries.halfspace import NORMAL_UNITS, POINT_UNITS, Points
from dprap.relaxed.fit import FitResult, StepCallback, unwatched
from dprap.relaxed.rows import RelaxedDataset, column_slices, normalise_logits, uniform_weights

# An offset that every row is beyond, for planes that a query does not have.
_NO_PLANE = -1e9

# Queries are padded to a multiple of this, so that a set that grows every round is compiled a few
# times.
_TOGETHER = 256

# Sums of products in float32 may miss an offset that they should equal by this much.
_SLACK = 1e-5

Places = dict[str, Points]
"""The points of all codes of each numeric column."""

Box = dict[str, tuple[int, int]]
"""The first and last code of some columns."""

_Parts = tuple[list[Float64[np.ndarray, " numeric"]], list[float], list[int]]


@dataclass(frozen=True)
class AnnealingSettings:
    """How mixed rows are fitted.

    Attributes:
        first_temperature: The inverse temperature β of the first level; coordinates lie in [-1, 1].
        levels: How many levels there are; β doubles from one to the next.
        steps: Adam's steps at each level.
        learning_rate: Of the logits of one-hot blocks.
        coordinate_reach: A coordinate moves by about this over β in a step: a plane is felt at a
            distance of some 1/β.
    """

    first_temperature: float = 4.0
    levels: int = 10
    steps: int = 30
    learning_rate: float = 0.1
    coordinate_reach: float = 1.0

    def __post_init__(self) -> None:
        if self.levels < 1 or self.steps < 1:
            raise SettingsError("levels and steps of an annealed fit must be at least 1.")
        for name in ("first_temperature", "learning_rate", "coordinate_reach"):
            if not 0 < getattr(self, name) < float("inf"):
                raise SettingsError(
                    f"{name} must be a positive number; it is {getattr(self, name)}."
                )


class MixedRows(NamedTuple):
    """Coordinates of the numeric columns, and logits of the codes of the others, in the domain's
    order; all float32.
    """

    coordinates: Float[jax.Array, "numeric rows"]
    logits: Float[jax.Array, "onehot rows"]


class Conjunctions(NamedTuple):
    """Compiled queries: planes of coordinates, and literals as indices of one-hot coordinates (the
    last is always one).
    """

    normals: Float32[jax.Array, "queries planes numeric"]
    offsets: Float32[jax.Array, "queries planes"]
    literals: Int32[jax.Array, "queries others"]


class MixedSpace:
    """Which columns have coordinates, and where their codes lie; the other columns are one-hot
    blocks.
    """

    def __init__(self, domain: Domain, places: Places) -> None:
        self.domain = domain
        self.numeric = tuple(name for name in domain if name in places)
        others = [name for name in domain if name not in places]
        self.others = Domain(tuple(others), tuple(domain.size(name) for name in others))
        # codes that are no number, such as null, get no place: no row of this kind ever has one
        self.known = {
            name: np.array([c for c, at in enumerate(places[name]) if at is not None])
            for name in self.numeric
        }
        self.points = {
            name: np.array([at for at in places[name] if at is not None]) / POINT_UNITS
            for name in self.numeric
        }
        if any((np.diff(points) < 0).any() for points in self.points.values()):
            raise WorkloadError(
                "the points of a numeric column must follow the order of its codes."
            )
        self.middles = {
            name: (points[1:] + points[:-1]) / 2 for name, points in self.points.items()
        }

    def compiled(self, queries: Sequence[Query | Box]) -> Conjunctions:
        """Boxes and queries of halfspaces, marginals and ranges, padded to a few sizes with ones
        that never hold.
        """
        found = [self._conjunction(query) for query in queries]
        planes = max(2, *(len(offsets) for _, offsets, _ in found))
        width = max(1, *(len(literals) for *_, literals in found))
        size = -(-len(found) // _TOGETHER) * _TOGETHER
        normals = np.zeros((size, planes, len(self.numeric)), dtype=np.float32)
        offsets = np.full((size, planes), _NO_PLANE, dtype=np.float32)
        offsets[len(found) :] = -_NO_PLANE
        literals = np.full((size, width), self.others.onehot_size, dtype=np.int32)
        for place, (own_normals, own_offsets, own_literals) in enumerate(found):
            normals[place, : len(own_offsets)] = np.reshape(own_normals, (-1, len(self.numeric)))
            offsets[place, : len(own_offsets)] = own_offsets
            literals[place, : len(own_literals)] = own_literals
        return Conjunctions(jnp.asarray(normals), jnp.asarray(offsets), jnp.asarray(literals))

    def _conjunction(self, query: Query | Box) -> _Parts:
        if isinstance(query, dict):
            return self._of_box(query)
        family = query.family
        if isinstance(family, Halfspace):
            return self._of_halfspace(family, query.index)
        if not isinstance(family, Marginal | Range) or (
            isinstance(family, Marginal) and family.groups is not None
        ):
            raise WorkloadError(
                f"mixed rows take halfspaces, ranges and marginals of single codes, not {family}."
            )
        boxes = family if isinstance(family, Range) else Range(family.columns, {})
        return self._of_box(
            dict(zip(family.columns, boxes.box(self.domain, query.index), strict=True))
        )

    def _of_box(self, box: Box) -> _Parts:
        """A conjunction of intervals of codes; along columns without coordinates these are single
        codes.
        """
        normals: list[Float64[np.ndarray, " numeric"]] = []
        offsets: list[float] = []
        literals: list[int] = []
        for name, (first, last) in box.items():
            if name not in self.numeric:
                if first != last:
                    raise WorkloadError(
                        f"intervals of {name!r} need coordinates: name it in the columns of"
                        " halfspaces."
                    )
                literals.append(self.others.offset(name) + first)
                continue
            known, middles = self.known[name], self.middles[name]
            low, high = np.searchsorted(known, first), np.searchsorted(known, last, side="right")
            if low == high:  # codes without a place, such as null, which no row has
                normals, offsets = [*normals, self._axis(name, 1.0)], [*offsets, -_NO_PLANE]
                continue
            if low > 0:
                normals, offsets = [*normals, self._axis(name, 1.0)], [*offsets, middles[low - 1]]
            if high < len(known):
                normals, offsets = (
                    [*normals, self._axis(name, -1.0)],
                    [*offsets, -middles[high - 1]],
                )
        return normals, offsets, literals

    def _axis(self, name: str, sign: float) -> Float64[np.ndarray, " numeric"]:
        return np.asarray(sign * np.eye(len(self.numeric))[self.numeric.index(name)])

    def _of_halfspace(self, family: Halfspace, index: int) -> _Parts:
        halfspace, values = divmod(index, self.domain.size_of(family.by))
        planes = family.planes(self.domain)
        where = [self.numeric.index(name) for name in family.numeric]
        normals: list[Float64[np.ndarray, " numeric"]] = []
        offsets: list[float] = []
        for own, offset in zip(planes.normals[halfspace], planes.offsets[halfspace], strict=True):
            normal = np.zeros(len(self.numeric))
            normal[where] = own / NORMAL_UNITS
            at = offset / NORMAL_UNITS / POINT_UNITS
            axes = np.flatnonzero(normal)
            # between two points, so that a row on either is well inside or outside
            if len(axes) == 1:
                at = (
                    self._between(self.numeric[axes[0]], at / normal[axes[0]], normal[axes[0]])
                    * normal[axes[0]]
                )
            normals, offsets = [*normals, normal], [*offsets, at]
        codes = np.unravel_index(values, self.domain.shape_of(family.by)) if family.by else ()
        literals = [
            self.others.offset(name) + int(code)
            for name, code in zip(family.by, codes, strict=True)
        ]
        return normals, offsets, literals

    def _between(self, name: str, point: float, sign: float) -> float:
        """The middle between a point and the next one on the other side of a plane through it."""
        points = self.points[name]
        at = int(np.searchsorted(points, point, side="left" if sign > 0 else "right"))
        if at in (0, len(points)):
            return -2 * sign  # all points are inside
        return float(points[at - 1] + points[at]) / 2

    def relaxed(self, rows: MixedRows) -> RelaxedDataset:
        """The rows as relaxed rows: each coordinate as the nearest code, alone."""
        coordinates, logits = (np.asarray(part, dtype=np.float32) for part in rows)
        count = coordinates.shape[1]
        probabilities = np.zeros((self.domain.onehot_size, count), dtype=np.float32)
        slices = column_slices(self.domain)
        for name, column in zip(self.numeric, coordinates, strict=True):
            nearest = self.known[name][np.searchsorted(self.middles[name], column)]
            probabilities[slices[name].start + nearest, np.arange(count)] = 1
        logits = logits.copy()
        normalised = np.empty_like(logits)
        own = column_slices(self.others)
        normalise_logits(own, logits, normalised)
        for name, block in own.items():
            probabilities[slices[name]] = normalised[block]
        return RelaxedDataset(self.domain, probabilities, uniform_weights(count))


class MixedTargets(NamedTuple):
    """What a fit is to reach: queries over the columns of a space, their shares, and what each
    counts. Shares and weights are of the queries before padding.
    """

    space: MixedSpace
    conjunctions: Conjunctions
    shares: Float[np.ndarray, " queries"]
    weights: Float[np.ndarray, " queries"]


def fit_mixed(
    start: MixedRows,
    targets: MixedTargets,
    settings: AnnealingSettings,
    *,
    watch: StepCallback = unwatched,
) -> FitResult[MixedRows]:
    """Rows that bring the answers of conjunctions near to their targets, by Σ weight·(answer −
    target)².

    Args:
        start: Where the rows begin.
        targets: Queries, wanted answers and what each counts in the loss.
        settings: Temperatures and steps.
        watch: Is told at the end: all levels are one compiled program.

    Returns:
        The best of the start and of the rows after each level, by the exact loss.
    """
    space = targets.space
    padding = len(targets.conjunctions.offsets) - len(targets.shares)
    problem = _Problem(
        targets.conjunctions,
        jnp.asarray(np.append(targets.shares, np.zeros(padding)), jnp.float32),
        jnp.asarray(np.append(targets.weights, np.zeros(padding)), jnp.float32),
        tuple(jnp.asarray(space.points[name], jnp.float32) for name in space.numeric),
        tuple(jnp.asarray(space.middles[name], jnp.float32) for name in space.numeric),
    )
    rows, loss = _fit(start, problem, tuple(space.others.sizes), settings)
    steps = settings.levels * settings.steps
    watch(steps, steps)
    return FitResult(rows, float(loss), steps)


class _Problem(NamedTuple):
    queries: Conjunctions
    targets: jax.Array
    weights: jax.Array
    points: tuple[jax.Array, ...]
    middles: tuple[jax.Array, ...]


def _literals(logits: jax.Array, sizes: tuple[int, ...]) -> jax.Array:
    """Probabilities of all codes, and a last row of ones."""
    ends = np.cumsum([0, *sizes])
    blocks = [jax.nn.softmax(logits[start:end], axis=0) for start, end in pairwise(ends)]
    return jnp.concatenate([*blocks, jnp.ones((1, logits.shape[1]), logits.dtype)])


def _answers(inside: jax.Array, literals: jax.Array, index: jax.Array) -> jax.Array:
    """Means over rows of products: `inside` has queries, planes and rows."""
    product = jnp.prod(inside, axis=1)
    for column in range(index.shape[1]):
        product = product * literals[index[:, column]]
    return product.mean(axis=1)


@compiled(2, 3)
def _fit(
    start: MixedRows, problem: _Problem, sizes: tuple[int, ...], settings: AnnealingSettings
) -> tuple[MixedRows, jax.Array]:
    queries = problem.queries

    def distances(coordinates: jax.Array) -> jax.Array:
        return jnp.einsum("qpn,nr->qpr", queries.normals, coordinates) - queries.offsets[:, :, None]

    def answered(inside: jax.Array, rows: MixedRows) -> jax.Array:
        return _answers(inside, _literals(rows.logits, sizes), queries.literals)

    def loss(answers: jax.Array) -> jax.Array:
        return jnp.sum(problem.weights * (answers - problem.targets) ** 2)

    def surrogate(rows: MixedRows, temperature: jax.Array) -> jax.Array:
        return answered(jax.nn.sigmoid(temperature * distances(rows.coordinates)), rows)

    def exact(rows: MixedRows) -> jax.Array:
        nearest = [
            points[jnp.searchsorted(middles, column)]
            for points, middles, column in zip(
                problem.points, problem.middles, rows.coordinates, strict=True
            )
        ]
        return answered((distances(jnp.stack(nearest)) >= -_SLACK).astype(jnp.float32), rows)

    optimizer = optax.adam(settings.learning_rate)

    def level(
        carry: tuple[MixedRows, jax.Array], temperature: jax.Array
    ) -> tuple[tuple[MixedRows, jax.Array], None]:
        start, start_loss = carry
        reach = settings.coordinate_reach / (settings.learning_rate * temperature)
        blur = exact(start) - surrogate(start, temperature)
        slope = jax.grad(lambda rows: loss(surrogate(rows, temperature) + blur))

        def step(
            _: int, state: tuple[MixedRows, optax.OptState]
        ) -> tuple[MixedRows, optax.OptState]:
            rows, memory = state
            updates, memory = optimizer.update(slope(rows), memory)
            moved = rows.coordinates + reach * updates.coordinates
            return MixedRows(jnp.clip(moved, -1, 1), rows.logits + updates.logits), memory

        rows, _ = lax.fori_loop(0, settings.steps, step, (start, optimizer.init(start)))
        reached = loss(exact(rows))
        better = reached < start_loss
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), rows, start)
        return (best, jnp.minimum(reached, start_loss)), None

    temperatures = settings.first_temperature * 2.0 ** jnp.arange(settings.levels)
    return lax.scan(level, (start, loss(exact(start))), temperatures)[0]
