"""Public synthetic tables as large as offices have, written to Parquet chunk by chunk, with their
schemas.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dprap.schema import Schema

_CHUNK = 1 << 18
_CLASSES = 8
_MOST_VALUES = 20


def write_classes(path: Path, *, records: int, columns: int, seed: int = 0) -> Schema:
    """Columns of 2 to 20 values that depend on one hidden class of eight; every second one is of
    texts.

    Returns:
        The schema of the table.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, _MOST_VALUES + 1, columns).tolist()
    factors = [int(rng.integers(1, size + 1)) for size in sizes]
    texts = [[f"value {number:02}" for number in range(size)] for size in sizes]
    names = [f"c{number:02}" for number in range(columns)]
    types = [
        pa.dictionary(pa.int8(), pa.string()) if number % 2 else pa.uint8()
        for number in range(columns)
    ]
    with pq.ParquetWriter(
        path, pa.schema(list(zip(names, types, strict=True))), compression="zstd"
    ) as writer:
        for start in range(0, records, _CHUNK):
            count = min(_CHUNK, records - start)
            hidden = rng.integers(0, _CLASSES, count, dtype=np.uint16)
            arrays = []
            for number, (size, factor) in enumerate(zip(sizes, factors, strict=True)):
                noise = rng.integers(0, max(2, size // 2), count, dtype=np.uint8)
                codes = ((hidden * factor + noise) % size).astype(np.int8)
                arrays.append(
                    pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(texts[number]))
                    if number % 2
                    else pa.array(codes.astype(np.uint8))
                )
            writer.write_table(pa.Table.from_arrays(arrays, schema=writer.schema))
    declared = {
        name: (
            {"type": "categorical", "values": texts[number]}
            if number % 2
            else {"type": "integer", "storage": "uint8", "min": 0, "max": size - 1}
        )
        for number, (name, size) in enumerate(zip(names, sizes, strict=True))
    }
    return Schema.model_validate({"columns": declared})
