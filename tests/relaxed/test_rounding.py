from __future__ import annotations

import numpy as np
import pytest
from tests.relaxed.cases import DOMAIN, onehot_rows, relaxed_rows

from dprap.errors import SettingsError
from dprap.relaxed import cell_table, round_rows

RECORDS = [(0, 2, 3, 1), (1, 0, 0, 0), (1, 1, 2, 1)]


@pytest.mark.parametrize("method", ["independent", "systematic"])
def test_records_are_rounded_to_themselves(method: str) -> None:
    columns = round_rows(onehot_rows(DOMAIN, RECORDS), 0, oversample=4, method=method)  # type: ignore[arg-type]
    drawn = sorted(zip(*(column.tolist() for column in columns), strict=True))
    assert drawn == sorted(RECORDS * 4)
    assert [column.dtype for column in columns] == [np.uint8] * 4


@pytest.mark.parametrize("method", ["independent", "systematic"])
def test_rounding_keeps_expectations(method: str) -> None:
    relaxed = relaxed_rows(6)
    rows = 60_000
    columns = round_rows(relaxed, 1, rows=rows, method=method)  # type: ignore[arg-type]
    assert {len(column) for column in columns} == {rows}
    names = ("a", "b", "c")
    cells = np.ravel_multi_index(
        tuple(columns[DOMAIN.position(n)].astype(int) for n in names), DOMAIN.shape_of(names)
    )
    drawn = np.bincount(cells, minlength=24) / rows
    # 24 cells, each with a standard deviation of at most 0.5/sqrt(rows): false alarm below 24 *
    # 2e-6 at 4.75 sigma.
    assert np.abs(drawn - cell_table(relaxed, names).ravel()).max() < 4.75 * 0.5 / rows**0.5


def test_draws_differ_between_rows_columns_and_repeats() -> None:
    """Equal distributions everywhere: agreement between columns and between repeats is by chance
    only.
    """
    relaxed = onehot_rows(DOMAIN, RECORDS)
    halves = np.full_like(relaxed.probabilities, 0.5)
    columns = round_rows(
        type(relaxed)(DOMAIN, halves, relaxed.weights), 3, rows=3000, method="independent"
    )
    # Columns a and d have two codes each; 3000 coin pairs agree within 5 sigma (0.046) of a half:
    # false alarm 6e-7.
    assert abs(float(np.mean(columns[0] == columns[3])) - 0.5) < 0.046
    assert abs(float(np.mean(columns[0][:1500] == columns[0][1500:])) - 0.5) < 0.065


def test_systematic_draws_keep_column_counts() -> None:
    relaxed = relaxed_rows(6)
    columns = round_rows(relaxed, 2, rows=600)
    for name, column in zip(DOMAIN, columns, strict=True):
        expected = 600 * np.asarray(relaxed.block(name) @ relaxed.weights)
        # Each of 6 relaxed rows rounds its number of records and each of its counts to a
        # neighbouring whole number.
        assert np.abs(np.bincount(column, minlength=len(expected)) - expected).max() <= 12


@pytest.mark.parametrize(
    "wrong", [{}, {"rows": 5, "oversample": 2}, {"rows": 0}, {"rows": 5, "method": "best"}]
)
def test_wrong_requests_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        round_rows(relaxed_rows(), 0, **wrong)  # type: ignore[arg-type]
