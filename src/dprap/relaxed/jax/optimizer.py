r"""The default optimiser of projections: momentum whose step follows the largest gradient.

Adam divides the momentum of each coordinate by the size of that coordinate's own gradients, so
every coordinate that a query reads moves about as far, whether it explains one answer or twenty. A
few selected queries leave most of the rows undetermined, and such moves spoil the answers that
nobody selected. Here one size serves all coordinates, that of the largest gradient: coordinates
move in proportion to what they explain, so the fit stays near its start wherever the answers do not
ask for more.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

_MOMENTUM = 0.9
_MEMORY = 0.999
_SMALLEST = 1e-12


class SharedScaleState(NamedTuple):
    """Steps taken, and the moving averages of the gradient and of its squared largest entry."""

    step: jax.Array
    mean: optax.Updates
    square: jax.Array


def shared_scale_momentum(learning_rate: float) -> optax.GradientTransformation:
    """Adam with one second moment for all coordinates: no coordinate moves much more than
    `learning_rate` in a step.

    >>> optimizer = shared_scale_momentum(0.1)
    >>> gradient = jnp.array([4.0, -2.0])
    >>> optimizer.update(gradient, optimizer.init(gradient))[0].round(3).tolist()
    [-0.10000000149011612, 0.05000000074505806]
    """

    def init(parameters: optax.Params) -> SharedScaleState:
        zeros = jax.tree.map(jnp.zeros_like, parameters)
        return SharedScaleState(jnp.zeros([], jnp.int32), zeros, jnp.zeros([]))

    def update(
        updates: optax.Updates, state: SharedScaleState, _params: optax.Params | None = None
    ) -> tuple[optax.Updates, SharedScaleState]:
        step = state.step + 1
        mean = jax.tree.map(
            lambda old, new: _MOMENTUM * old + (1 - _MOMENTUM) * new, state.mean, updates
        )
        largest = jnp.max(jnp.stack([jnp.max(jnp.abs(part)) for part in jax.tree.leaves(updates)]))
        square = _MEMORY * state.square + (1 - _MEMORY) * largest**2
        size = jnp.sqrt(square / (1 - _MEMORY**step)) + _SMALLEST
        factor = -learning_rate / (size * (1 - _MOMENTUM**step))
        return jax.tree.map(lambda part: factor * part, mean), SharedScaleState(step, mean, square)

    return optax.GradientTransformation(init, update)
