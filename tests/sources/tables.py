"""Random tables with their schemas: every type and policy, nulls, far values and odd names.

Used by the tests of all engines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from dprap.counting import CellCounts
from dprap.encoding import encode
from dprap.queries import Marginal
from dprap.schema import Schema
from dprap.sources import CountSource, MemorySource

ODD_NAMES = (
    "plain",
    "with space",
    'double "quote"',
    "single 'quote'",
    "back`tick",
    "größe°",
    "年齢",
    "select",
    "GROUP",
    "Mixed.Case",
    "semi;colon--",
    "percent%s {x}",
    "back\\slash",
)

Rng = np.random.Generator


@dataclass(frozen=True)
class Kind:
    """A column's settings and one random value of it; `far` asks for one that only a policy can
    place.
    """

    settings: dict[str, Any]
    arrow: pa.DataType
    value: Callable[[Rng, bool], Any]


def _pick(rng: Rng, values: list[Any]) -> Any:
    return values[int(rng.integers(len(values)))]


def _whole(rng: Rng, far: bool) -> int:
    return _pick(rng, [-(2**62), -1, 51, 2**62]) if far else int(rng.integers(0, 51))


def _number(rng: Rng, far: bool) -> float:
    return (
        _pick(rng, [-1e300, -0.001, 10.001, float("inf"), float("-inf")])
        if far
        else round(rng.random() * 10, 3)
    )


def _decimal(rng: Rng, far: bool) -> Decimal:
    return (
        _pick(rng, [Decimal("-0.01"), Decimal("99999.99")])
        if far
        else Decimal(int(rng.integers(0, 1001))) / 100
    )


def _day(rng: Rng, far: bool) -> date:
    return (
        _pick(rng, [date(1, 1, 1), date(2025, 3, 3), date(9999, 12, 31)])
        if far
        else (date(2023, 1, 5) + timedelta(days=int(rng.integers(0, 700))))
    )


def _instant(rng: Rng, far: bool) -> datetime:
    if far:
        return _pick(rng, [datetime(1900, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC)])
    return datetime(2024, 1, 1, tzinfo=UTC) + timedelta(
        microseconds=int(rng.integers(0, 300 * 86400 * 10**6))
    )


TEXTS = ["north", "so uth", "it's", 'a "b"', "ümläut", "=1+1", "back\\slash", "100%", "东"]
_TEXT = {"type": "categorical", "values": TEXTS}
_BOUNDS = {"type": "integer", "min": 0, "max": 50}
_DAYS = {"type": "date", "min": "2023-01-05", "max": "2024-12-31"}
_ZONED = {
    "type": "datetime", "min": "2024-01-01T00:00:00Z", "max": "2024-11-30T12:00:00Z", "timezone": "Europe/Berlin",
}  # fmt: skip


def _text(rng: Rng, far: bool) -> str:
    return _pick(rng, ["", "NORTH", "unheard of", "north "]) if far else _pick(rng, TEXTS)


KINDS: tuple[Kind, ...] = (
    Kind(_TEXT, pa.string(), lambda rng, _: _text(rng, far=False)),
    Kind({**_TEXT, "other": "rest"}, pa.string(), _text),
    Kind({**_TEXT, "nullable": True, "out_of_domain": "null"}, pa.string(), _text),
    Kind({"type": "categorical", "groups": {"a": TEXTS[:4], "b": TEXTS[4:]}, "nullable": True}, pa.string(),
         lambda rng, _: _text(rng, far=False)),
    Kind({"type": "categorical", "values": [3, -7, 10**12], "other": 0}, pa.int64(),
         lambda rng, far: 99 if far else _pick(rng, [3, -7, 10**12, 0])),
    Kind({"type": "boolean", "nullable": True}, pa.bool_(), lambda rng, _: bool(rng.integers(2))),
    Kind({**_BOUNDS, "nullable": True}, pa.int32(), lambda rng, _: _whole(rng, far=False)),
    Kind({**_BOUNDS, "width": 7, "out_of_domain": "clip"}, pa.int64(), _whole),
    Kind({"type": "integer", "edges": [0, 1, 5, 20, 50], "nullable": True, "out_of_domain": "null"}, pa.int64(), _whole),
    Kind({**_BOUNDS, "nullable": True, "out_of_domain": "null"}, pa.float64(),
         lambda rng, far: _pick(rng, [0.5, float("nan"), float("inf"), 1e300, -1.0]) if far else float(rng.integers(51))),
    Kind({"type": "number", "min": 0, "max": 10, "width": 0.1, "nullable": True, "out_of_domain": "clip"}, pa.float64(),
         lambda rng, far: float("nan") if far and rng.random() < 0.3 else _number(rng, far)),
    Kind({"type": "number", "edges": [0, 0.3, 2.5, 10], "nullable": True, "out_of_domain": "null"}, pa.float64(), _number),
    Kind({"type": "number", "min": 0, "max": 10, "bins": 7, "out_of_domain": "clip"}, pa.decimal128(10, 2), _decimal),
    Kind({**_DAYS, "unit": "month", "out_of_domain": "clip"}, pa.date32(), _day),
    Kind({**_DAYS, "nullable": True}, pa.date32(), lambda rng, _: _day(rng, far=False)),
    Kind({**_DAYS, "unit": "week", "width": 2, "nullable": True, "out_of_domain": "null"}, pa.timestamp("us"),
         lambda rng, far: datetime.combine(_day(rng, far), datetime.min.time()) + timedelta(hours=int(rng.integers(24)))),
    Kind({**_ZONED, "unit": "month", "out_of_domain": "clip"}, pa.timestamp("us", "UTC"), _instant),
    Kind({**_ZONED, "unit": "day", "nullable": True, "out_of_domain": "null"}, pa.timestamp("us", "UTC"), _instant),
    Kind({"type": "datetime", "min": "2024-01-01T00:00:00", "max": "2024-11-30T12:00:00", "unit": "hour", "width": 6,
          "nullable": True, "out_of_domain": "clip"}, pa.timestamp("us"),
         lambda rng, far: _instant(rng, far).replace(tzinfo=None)),
)  # fmt: skip


def random_table(
    seed: int, *, columns: int = 5, rows: int | None = None
) -> tuple[pa.Table, Schema]:
    """A table that its schema accepts, with values outside the domain wherever a policy places
    them.
    """
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 120)) if rows is None else rows
    names = [ODD_NAMES[i] for i in rng.permutation(len(ODD_NAMES))[:columns]]
    settings, arrays = {}, {}
    for name in names:
        kind = KINDS[int(rng.integers(len(KINDS)))]
        settings[name] = kind.settings
        nullable = kind.settings.get("nullable", False)
        values = [
            None if nullable and rng.random() < 0.2 else kind.value(rng, rng.random() < 0.2)
            for _ in range(rows)
        ]
        arrays[name] = pa.array(values, kind.arrow)
    return pa.table(arrays), Schema.of({"columns": settings})


def all_marginals(schema: Schema, k: int = 3) -> list[Marginal]:
    """All marginals up to k columns, the total included."""
    return [Marginal(c) for size in range(k + 1) for c in combinations(schema.domain.names, size)]


def assert_same_counts(source: CountSource, table: pa.Table, schema: Schema) -> None:
    """The source counts exactly what the in-memory source counts."""
    memory = MemorySource(encode(table, schema))
    assert source.domain == memory.domain
    assert source.rows == memory.rows
    marginals = all_marginals(schema)
    for marginal, found, expected in zip(
        marginals, source.count(marginals), memory.count(marginals), strict=True
    ):
        assert found.size == expected.size
        assert same(found, expected), f"{marginal} differs"


def same(found: CellCounts, expected: CellCounts) -> bool:
    """Whether two counts of a marginal agree in every cell: most are zero, and are not written
    out.
    """
    kinds = {found.counts.dtype, expected.counts.dtype}
    return kinds == {np.dtype(np.int64)} and all(
        map(np.array_equal, nonzero(found), nonzero(expected))
    )


def nonzero(counts: CellCounts) -> tuple[np.ndarray, np.ndarray]:
    """The cells that have records, in order, and their counts."""
    cells = np.arange(counts.size) if counts.cells is None else counts.cells
    kept = np.flatnonzero(counts.counts)
    kept = kept[np.argsort(cells[kept], kind="stable")]
    return cells[kept], counts.counts[kept]
