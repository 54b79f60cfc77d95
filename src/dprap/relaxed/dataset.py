"""The relaxed data set: rows that are product distributions over the columns."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from dprap.array_types import Relaxed
from dprap.domain import Domain
from dprap.errors import SettingsError
from dprap.relaxed.simplex import sparsemax


@dataclass(frozen=True)
class RelaxedDataset:
    """Rows whose columns are independent random variables, each with its own distribution over the column's codes.

    `probabilities` holds, feature-major, the probability of every one-hot coordinate in every row (float32);
    `weights` says how much each row counts and sums to one.
    """

    domain: Domain
    probabilities: Relaxed
    weights: jax.Array

    def __post_init__(self) -> None:
        if self.probabilities.shape != (self.domain.onehot_size, len(self.weights)):
            raise SettingsError(
                f"relaxed rows of shape {self.probabilities.shape} do not fit {self.domain.onehot_size} "
                f"one-hot coordinates and {len(self.weights)} row weights."
            )

    @property
    def rows(self) -> int:
        """Number of relaxed rows: the paper's n'."""
        return len(self.weights)

    def block(self, name: str) -> Relaxed:
        """Probabilities of one column's codes, codes by rows."""
        start = self.domain.offset(name)
        return self.probabilities[start : start + self.domain.size(name)]


def uniform_weights(rows: int) -> jax.Array:
    """Equal weights that sum to one."""
    return jnp.full(rows, 1 / rows, dtype=jnp.float32)


def initialise(domain: Domain, rows: int, key: jax.Array, *, spread: float = 1.0) -> RelaxedDataset:
    """Random relaxed rows: uniform on [-spread, spread], in the paper [-1, 1], then sparsemax of every column block."""
    if rows < 1:
        raise SettingsError(f"a relaxed data set needs at least one row, not {rows}.")
    values = jax.random.uniform(key, (domain.onehot_size, rows), minval=-spread, maxval=spread)
    return RelaxedDataset(domain, jax.jit(sparsemax, static_argnums=1)(values, domain), uniform_weights(rows))


def shard_rows(relaxed: RelaxedDataset, devices: list[jax.Device] | None = None) -> RelaxedDataset:
    """Spread the rows over devices (all of this process by default); everything computed from them follows.

    Uses the largest number of devices that divides the number of rows.
    """
    available = jax.devices() if devices is None else devices
    count = next(count for count in range(len(available), 0, -1) if relaxed.rows % count == 0)
    mesh = Mesh(np.array(available[:count]), ("rows",))
    return RelaxedDataset(
        relaxed.domain,
        jax.device_put(relaxed.probabilities, NamedSharding(mesh, PartitionSpec(None, "rows"))),  # type: ignore[no-untyped-call]
        jax.device_put(relaxed.weights, NamedSharding(mesh, PartitionSpec("rows"))),  # type: ignore[no-untyped-call]
    )
