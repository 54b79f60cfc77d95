"""Files that are no tables of a schema with the columns region and age."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def _parquet() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"region": ["north", "south"] * 50, "age": list(range(100))}), buffer)
    return buffer.getvalue()


HEADER = b"region,age\n"
BAD_FILES = {
    "empty.csv": b"",
    "header-only.csv": HEADER,
    "latin1.csv": HEADER + "nörth,1\n".encode("latin-1"),
    "utf16.csv": "region,age\nnorth,1\n".encode("utf-16"),
    "ragged-short.csv": HEADER + b"north,1\nsouth\n",
    "ragged-long.csv": HEADER + b"north,1\nsouth,2,3\n",
    "open-quote.csv": HEADER + b'north,1\n"south,2\nnorth,3\n',
    "formula.csv": HEADER + b"=cmd|'/c calc'!A0,1\n",
    "formula-number.csv": HEADER + b"north,=1+1\n",
    "formula-at.csv": HEADER + b"@SUM(1),1\n+1,2\n-1,3\n",
    "nul.csv": HEADER + b"no\x00rth,1\n",
    "not-whole.csv": HEADER + b"north,1.5\n",
    "far.csv": HEADER + b"north,99999999999999999999999\n",
    "huge-field.csv": HEADER + b"n" * (40 << 20) + b",1\n",
    "huge-open-quote.csv": HEADER + b'north,1\n"south,2\n' + b"north,3\n" * (1 << 20),
    "huge-header.csv": b"x" * (3 << 20) + b",age\n1,2\n",
    "twice.csv": b"age,age\n1,2\n",
    "empty.parquet": b"",
    "magic.parquet": b"PAR1",
    "truncated.parquet": _parquet()[:-40],
    "headless.parquet": _parquet()[60:],
    "text.parquet": b"region,age\nnorth,1\n",
    "random.parquet": bytes(np.random.default_rng(0).integers(0, 256, 5000, dtype=np.uint8)),
    "kind.xlsx": b"PK\x03\x04",
    "broken.csv.gz": b"\x1f\x8b\x08\x00 not gzip",
}
