r"""Sparsemax and softmax of every column block of relaxed rows.

Sparsemax is the Euclidean projection onto the probability simplex, \(\max(x_i - \tau, 0)\) with
\(\tau\) such that the sum is one. The threshold is the root of the convex, piecewise linear
\(f(\tau) = \sum_i \max(x_i - \tau, 0) - 1\); Newton's method reaches it exactly after finitely many
passes, without a sort.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from dprap.array_types import Float
from dprap.domain import Domain
from dprap.relaxed.jax.layout import PADDING, ColumnLayout, JaxRows, Packed, PerColumn, layout_of

EXACT = 1e-6
"""Deviation of a block's sum from one at which a projection is done: a few float32 roundings."""

_MOST_PASSES = 64


@dataclass(frozen=True)
class Tied:
    """Codes of a column that share one probability: what it is, by column and row, and how many
    they are.
    """

    values: PerColumn
    counts: Float[jax.Array, "columns 1"]

    def excess(self, thresholds: PerColumn) -> tuple[PerColumn, PerColumn]:
        """The sum of what exceeds the column's threshold, and the number of codes that do."""
        above = self.values - thresholds
        return self.counts * jnp.maximum(above, 0), self.counts * (above > 0)


def thresholds(
    packed: Packed,
    layout: ColumnLayout,
    start: PerColumn,
    tolerance: float = EXACT,
    tied: Tied | None = None,
) -> PerColumn:
    """Return the sparsemax threshold of every column and row, by Newton's method from `start`.

    Passes end with a Newton step taken where all sums are within `tolerance` of one, so the result
    is better than that. `tied` codes belong to their columns besides those in `packed`.
    """

    def unfinished(carry: tuple[PerColumn, jax.Array, jax.Array]) -> jax.Array:
        _, deviation, passes = carry
        return (deviation > tolerance) & (passes < _MOST_PASSES)

    def newton(
        carry: tuple[PerColumn, jax.Array, jax.Array],
    ) -> tuple[PerColumn, jax.Array, jax.Array]:
        threshold, _, passes = carry
        total, count = layout.excess(packed, threshold)
        if tied is not None:
            more, others = tied.excess(threshold)
            total, count = total + more, count + others
        # A column with nothing above the threshold has no slope; one unit down there always is
        # something.
        return (
            threshold + (total - 1) / jnp.maximum(count, 1),
            jnp.max(jnp.abs(total - 1)),
            passes + 1,
        )

    result, _, _ = lax.while_loop(
        unfinished, newton, (start, jnp.asarray(jnp.inf, packed.dtype), jnp.asarray(0))
    )
    return result


def shrink(packed: Packed, layout: ColumnLayout, threshold: PerColumn) -> Packed:
    """Return what exceeds the thresholds, padding kept."""
    floor = jnp.where(layout.is_padding, PADDING, 0.0).astype(packed.dtype)
    return jnp.maximum(packed - layout.spread(threshold), floor[:, None])


def sparsemax_packed(packed: Packed, layout: ColumnLayout) -> Packed:
    """Sparsemax of every column block, in a layout's order."""
    return shrink(packed, layout, thresholds(packed, layout, layout.maxima(packed) - 1))


def softmax_packed(packed: Packed, layout: ColumnLayout) -> Packed:
    """Softmax of every column block, in a layout's order; padding becomes zero."""
    powers = jnp.exp(packed - layout.spread(lax.stop_gradient(layout.maxima(packed))))
    return powers / layout.spread(layout.sums(powers))


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def sparsemax(values: JaxRows, domain: Domain) -> JaxRows:
    """Sparsemax of every column block of rows with any real values.

    >>> from dprap.domain import Domain
    >>> sparsemax(jnp.array([[0.9], [0.7], [-0.3], [2.0]]), Domain.of({"a": 3, "b": 1})).round(
    ...     3
    ... ).ravel().tolist()
    [0.6000000238418579, 0.4000000059604645, 0.0, 1.0]
    """
    layout = layout_of(domain)
    return layout.unpack(sparsemax_packed(layout.pack(values), layout))


def _sparsemax_forward(values: JaxRows, domain: Domain) -> tuple[JaxRows, JaxRows]:
    result = sparsemax(values, domain)
    return result, result


def _sparsemax_backward(domain: Domain, result: JaxRows, cotangent: JaxRows) -> tuple[JaxRows]:
    # The Jacobian of a block is diag(s) - s s^T / |s|, with s the indicator of its support.
    layout = layout_of(domain)
    support = (result > 0).astype(result.dtype)
    total = layout.sums(layout.pack(support * cotangent, padding=0.0))
    mean = total / layout.sums(layout.pack(support, padding=0.0))
    return (support * (cotangent - layout.unpack(layout.spread(mean))),)


sparsemax.defvjp(_sparsemax_forward, _sparsemax_backward)


def softmax(values: JaxRows, domain: Domain) -> JaxRows:
    """Softmax of every column block."""
    layout = layout_of(domain)
    return layout.unpack(softmax_packed(layout.pack(values), layout))
