"""Whether a storage type holds the declared whole numbers, without Arrow's compute functions, as
Arrow itself decides it.
"""

from decimal import Decimal

import pyarrow as pa
import pytest

from dprap.encoding import decode, draft_schema, encode
from dprap.schema import Schema
from dprap.schema.arrays import holds

KINDS = [
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.uint8(),
    pa.uint16(),
    pa.uint32(),
    pa.uint64(),
    pa.float32(),
]
KINDS += [
    pa.float64(),
    pa.string(),
    pa.decimal128(1, 0),
    pa.decimal128(18, 0),
    pa.decimal128(19, 0),
    pa.decimal128(9, 4),
    pa.decimal128(5, 5),
    pa.decimal128(21, 2),
]
BOUNDS = sorted({sign * 2**power + step for power in (0, 7, 8, 15, 16, 24, 31, 32, 53, 63) for step in (-1, 0, 1) for sign in (-1, 1)})  # fmt: skip


def cast_takes(kind: pa.DataType, *values: int) -> bool:
    try:
        if pa.types.is_decimal(kind):
            # A cast wants 19 digits, whatever the values are; an array of decimals looks at them.
            pa.array(values, pa.int64())
            pa.array([Decimal(value) for value in values], kind)
        else:
            pa.array(values, pa.int64()).cast(kind)
    except (pa.ArrowInvalid, OverflowError):
        return False
    return True


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_bounds_are_held_as_arrow_holds_them(kind):
    for value in BOUNDS:
        low, high = min(value, 0), max(value, 0)
        assert holds(kind, low, high) == cast_takes(kind, low, high), value


@pytest.mark.parametrize("storage", ["decimal128(18, 0)", "decimal128(3, 0)", "decimal128(9, 4)"])
def test_whole_numbers_stored_as_decimals_are_read_drawn_and_written_as_whole_numbers(storage):
    column = {"type": "integer", "min": -9, "max": 999, "nullable": True}
    schema = Schema.of({"columns": {"a": column | {"storage": storage}}})
    values = [-9, 0, 7, 999, None]
    kind = schema.columns["a"].arrow_type
    decimals = pa.array([None if each is None else Decimal(each) for each in values], kind)
    codes = encode(pa.table({"a": decimals}), schema)
    plain = encode(pa.table({"a": values}), Schema.of({"columns": {"a": column}}))
    assert codes.columns[0].tolist() == plain.columns[0].tolist()
    drawn = decode(codes, schema, seed=0)["a"]
    assert drawn.type == kind
    assert drawn.to_pylist() == decimals.to_pylist()


def test_a_draft_takes_decimals_without_fraction_for_whole_numbers():
    for kind, storage in (
        (pa.decimal128(18, 0), "decimal128(18, 0)"),
        (pa.decimal128(38, 0), None),
    ):
        table = pa.table({"a": pa.array([Decimal(each % 40) for each in range(400)], kind)})
        column = draft_schema(table).columns["a"]
        assert (column.type, column.storage) == ("integer", storage)
