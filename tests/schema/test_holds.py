"""Whether a storage type holds the declared whole numbers, without Arrow's compute functions, as
their cast decides it.
"""

import pyarrow as pa
import pytest

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
    pa.decimal128(18, 0),
    pa.decimal128(19, 0),
    pa.decimal128(21, 2),
]
BOUNDS = sorted({sign * 2**power + step for power in (0, 7, 8, 15, 16, 24, 31, 32, 53, 63) for step in (-1, 0, 1) for sign in (-1, 1)})  # fmt: skip


def cast_takes(kind: pa.DataType, *values: int) -> bool:
    try:
        pa.array(values, pa.int64()).cast(kind)
    except (pa.ArrowInvalid, OverflowError):
        return False
    return True


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_bounds_are_held_as_arrow_casts_them(kind):
    for value in BOUNDS:
        low, high = min(value, 0), max(value, 0)
        assert holds(kind, low, high) == cast_takes(kind, low, high), value
