"""Cells that constraints leave empty: zero in every target that holds them, and next to empty in
fitted rows.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import dprap
from dprap.domain import Domain
from dprap.mechanisms.adaptive.empty_cells import EmptyCells
from dprap.mechanisms.adaptive.rules import Rules
from dprap.queries import Marginal
from dprap.relaxed import answers
from dprap.relaxed.gradient import Target
from dprap.schema import Schema

COLUMNS = {
    "a": {"type": "integer", "min": 0, "max": 2},
    "b": {"type": "integer", "min": 0, "max": 1},
    "c": {"type": "integer", "min": 0, "max": 3},
}
FORBID = [{"type": "forbid", "where": {"c": [3], "a": [0, 1]}}]


def target(columns: tuple[str, ...], domain: Domain) -> Target:
    cells = domain.size_of(columns)
    return Target(
        Marginal(columns), np.full(cells, 1 / cells, np.float32), np.full(cells, 100, np.float32)
    )


def test_impossible_cells_are_zero_in_targets_that_hold_the_columns() -> None:
    schema = Schema.of({"columns": COLUMNS, "constraints": FORBID})
    empty = EmptyCells(
        schema.code_constraints, schema.domain, part_of_noise=Rules().noise_of_empty_cells
    )
    held, apart = empty.added_to(
        [target(("a", "b", "c"), schema.domain), target(("a", "b"), schema.domain)]
    )
    shares, weights = held.shares.reshape(3, 2, 4), held.weights.reshape(3, 2, 4)
    assert (shares[:2, :, 3] == 0).all()
    assert (weights[:2, :, 3] == 1600).all()
    assert (shares == 0).sum() == 4
    assert (apart.weights == 100).all()
    # where no marginal holds the columns, the constraint is a target of its own
    *_, own = empty.added_to([target(("a", "b"), schema.domain)])
    assert own.marginal.columns == ("a", "c")
    assert np.argwhere(own.weights.reshape(3, 4)).tolist() == [[0, 3], [1, 3]]
    grouped = Target(
        Marginal(("a", "c"), ((0, 1), None)), np.zeros(8, np.float32), np.ones(8, np.float32)
    )
    assert empty.added_to([grouped])[0] is grouped


def test_fitted_rows_leave_impossible_cells_nearly_empty() -> None:
    rng = np.random.default_rng(0)
    size = rng.integers(0, 12, 3000)
    table = pa.table(
        {
            "size": size,
            "room": np.minimum(size + rng.integers(0, 6, 3000), 15),
            "k": rng.integers(0, 4, 3000),
        }
    )
    columns = {
        "size": {"type": "integer", "min": 0, "max": 15},
        "room": {"type": "integer", "min": 0, "max": 15},
        "k": {"type": "integer", "min": 0, "max": 3},
    }
    order = [{"type": "order", "smaller": "size", "larger": "room"}]
    mass, error = {}, {}
    for name, constraints in (("free", []), ("known", order)):
        schema = Schema.of({"columns": columns, "constraints": constraints})
        release = dprap.synthesize(
            table, schema, epsilon=0.5, kway=2, insecure_noise_seed=4, intervals="no"
        )
        (shares,) = answers(release.relaxed, [Marginal(("size", "room"))])
        fitted = np.asarray(shares).reshape(16, 16)
        true = np.zeros((16, 16))
        np.add.at(true, (size, table["room"].to_numpy()), 1 / 3000)
        mass[name] = fitted[np.tril_indices(16, -1)].sum()
        error[name] = np.abs(fitted - true).sum() / 2
    assert mass["known"] < 0.6 * mass["free"]
    assert error["known"] <= error["free"]
