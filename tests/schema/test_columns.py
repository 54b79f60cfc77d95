"""Bins, labels, policies and code positions of single columns."""

from __future__ import annotations

import numpy as np
import pytest

from dprap.schema import Boolean, Categorical, Date, Datetime, Integer, Number


def test_code_positions_are_values_then_other_then_null() -> None:
    column = Categorical(type="categorical", values=("a", "b"), other="rest", nullable=True)
    assert (column.regular, column.other_code, column.null_code, column.size) == (2, 2, 3, 4)
    assert [column.label(code) for code in range(4)] == ["a", "b", "rest", "missing"]


@pytest.mark.parametrize(
    ("column", "edges"),
    [
        (Integer(type="integer", min=0, max=10, width=4), [0, 4, 8, 11]),
        (Integer(type="integer", min=0, max=9, bins=3), [0, 3, 7, 10]),
        (Integer(type="integer", edges=(0, 18, 65, 120)), [0, 18, 65, 121]),
        (Integer(type="integer", min=1, max=999, bins=3, spacing="log"), [1, 10, 100, 1000]),
        (Integer(type="integer", min=5, max=5), [5, 6]),
    ],
)
def test_integer_edges(column: Integer, edges: list[int]) -> None:
    assert column.bin_edges.tolist() == edges


def test_number_edges_are_plain_decimals() -> None:
    column = Number(type="number", min=0, max=0.5, width=0.1)
    assert column.bin_edges[:-1].tolist() == [0, 0.1, 0.2, 0.3, 0.4]
    assert column.bin_edges[-1] == np.nextafter(0.5, 1)
    log = Number(type="number", min=0.01, max=100, bins=4, spacing="log")
    assert log.bin_edges[:-1].tolist() == [0.01, 0.1, 1, 10]
    assert [log.label(0), log.label(3)] == ["[0.01, 0.1)", "[10, 100]"]


def test_calendar_bins() -> None:
    weeks = Date(type="date", min="2024-01-03", max="2024-01-16", unit="week")
    assert [weeks.label(i) for i in range(weeks.regular)] == [
        "2024-01-03..2024-01-07",
        "2024-01-08..2024-01-14",
        "2024-01-15..2024-01-16",
    ]
    quarters = Date(type="date", min="2023-12-31", max="2024-07-01", unit="quarter")
    assert [quarters.label(i) for i in (0, 1, 3)] == [
        "2023-12-31",
        "2024-01-01..2024-03-31",
        "2024-07-01",
    ]


def test_days_follow_the_clock_of_the_zone() -> None:
    column = Datetime(
        type="datetime",
        min="2024-03-30T00:00:00",
        max="2024-04-02T00:00:00",
        unit="day",
        timezone="Europe/Berlin",
    )
    hours = np.diff(column.bin_edges) / 3.6e9
    assert hours.round(3).tolist() == [24, 23, 24]  # the clock goes forward on 31 March
    assert column.label(1) == "2024-03-31T00:00:00+01:00..2024-03-31T23:59:59+02:00"


@pytest.mark.parametrize(
    ("column", "is_total"),
    [
        (Integer(type="integer", min=0, max=1), False),
        (Integer(type="integer", min=0, max=1, out_of_domain="clip"), False),
        (Integer(type="integer", min=0, max=1, out_of_domain="clip", nullable=True), True),
        (Boolean(type="boolean", nullable=True, out_of_domain="null"), True),
        (Categorical(type="categorical", values=("a",), other="b"), True),
        (Categorical(type="categorical", values=("a",), other="b", out_of_domain="error"), False),
    ],
)
def test_which_policies_are_total(column: Integer, is_total: bool) -> None:
    assert column.is_total is is_total
