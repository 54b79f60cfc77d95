"""Random relaxed rows to start from, and rows spread over the devices of this process."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from dprap.compiled import Compiled
from dprap.domain import Domain
from dprap.errors import SettingsError
from dprap.relaxed.jax.layout import JaxRows
from dprap.relaxed.jax.sparsemax import sparsemax
from dprap.relaxed.rows import RelaxedDataset, uniform_weights


def initialise(domain: Domain, rows: int, seed: int, *, spread: float = 1.0) -> RelaxedDataset:
    """Random relaxed rows: uniform on [-spread, spread], then sparsemax of every column block.

    Args:
        domain: The columns.
        rows: How many relaxed rows, the paper's n'.
        seed: Of public randomness.
        spread: How far from uniform the rows start; it is 1 in the paper.

    Raises:
        SettingsError: if there is not at least one row.

    """
    if rows < 1:
        raise SettingsError(f"a relaxed data set needs at least one row, not {rows}.")
    values = jax.random.uniform(
        jax.random.key(seed), (domain.onehot_size, rows), minval=-spread, maxval=spread
    )
    return RelaxedDataset(domain, np.asarray(_sparsemax(values, domain)), uniform_weights(rows))


_sparsemax = Compiled(sparsemax, static_argnums=1)


def devices_named(name: str | None) -> Sequence[jax.Device]:
    """The devices that a name stands for.

    Args:
        name: A platform of JAX such as `cpu` or `gpu` for all of its devices, `gpu:1` for one of
            them; None for all devices of the platform that JAX prefers.

    Raises:
        SettingsError: This process has no such device.

    >>> [device.platform for device in devices_named("cpu:0")]
    ['cpu']
    """
    if name is None:
        return jax.devices()
    platform, colon, number = name.partition(":")
    try:
        found = jax.devices(platform)
        return (
            [{str(place): device for place, device in enumerate(found)}[number]] if colon else found
        )
    except (RuntimeError, KeyError):
        shown = ", ".join(f"{device.platform}:{device.id}" for device in jax.devices())
        raise SettingsError(
            f"there is no device {name!r}; JAX shows {shown}. For a GPU install JAX with its CUDA"
            ' or ROCm plug-in, for example pip install "jax[cuda12]".'
        ) from None


def on_devices(
    relaxed: RelaxedDataset, devices: Sequence[jax.Device] | None = None
) -> tuple[JaxRows, jax.Array]:
    """Probabilities and weights as JAX arrays, their rows spread over devices.

    Everything computed from them is spread in the same way. The number of devices is the largest
    that divides the number of rows; by default all devices of this process may be used.
    """
    available = jax.devices() if devices is None else devices
    count = next(count for count in range(len(available), 0, -1) if relaxed.rows % count == 0)
    mesh = Mesh(np.array(available[:count]), ("rows",))
    return (
        jax.device_put(relaxed.probabilities, NamedSharding(mesh, PartitionSpec(None, "rows"))),  # type: ignore[no-untyped-call]
        jax.device_put(relaxed.weights, NamedSharding(mesh, PartitionSpec("rows"))),  # type: ignore[no-untyped-call]
    )
