"""A count source in Apache Spark: the same encoding and the same kernel inside the workers; only counts leave them.

The workers need dprap installed. Errors travel as data, not as exceptions, because Spark logs and quotes exceptions.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dprap.array_types import CodeColumn
from dprap.domain import Domain
from dprap.encoding import check_columns, encode_batch
from dprap.errors import DataError, DprapError, SchemaError, SettingsError
from dprap.queries.marginal import Marginal
from dprap.schema import Schema
from dprap.sources.digest import Digest, digest_of
from dprap.sources.passes import MEMORY_LIMIT, split_passes
from dprap.sources.protocol import CellCounts
from dprap.sources.tally import Tally

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PARTIAL = pa.schema([("marginal", pa.int32()), ("cell", pa.int64()), ("count", pa.int64()), ("error", pa.string())])
_PARTIAL_DDL = "marginal int, cell bigint, count bigint, error string"
_ROWS, _DIGEST_LOW, _DIGEST_HIGH, _ERROR = -1, -2, -3, -4
# What a partition reports besides counts, in place of a marginal's number. The digest goes in two halves: sums of
# 32-bit halves cannot overflow, whatever the number of partitions.

_ROWS_PER_BATCH = 50_000  # partial counts per Arrow batch sent back


@dataclass(frozen=True)
class SparkSource:
    """Records of a Spark data frame, its columns c0, c1, … in the schema's order.

    Spark reads it again for every pass, so every pass checks that it is still the same.
    """

    schema: Schema
    frame: DataFrame
    is_text: bool
    digest: Digest
    memory_limit: int = MEMORY_LIMIT

    @classmethod
    def open(cls, data: Any, schema: Schema, *, memory_limit: int = MEMORY_LIMIT) -> SparkSource:
        """Check every record of a data frame, or of the CSV or Parquet files at a path, against the schema."""
        schema.require_reviewed()
        is_text = False
        if isinstance(data, str | Path):
            data, is_text = _read(str(data), schema)
        check_columns(data.columns, schema)
        # Spark reads a dot in a name as a field of a struct: quote each name once, and be rid of it
        quoted = ["`" + name.replace("`", "``") + "`" for name in schema.columns]
        with _errors():
            frame = data.select([data[name].alias(f"c{position}") for position, name in enumerate(quoted)])
        _, digest = _run(frame, schema, [], is_text=is_text)
        if digest.rows == 0:
            raise DataError("the Spark table has no records. There is nothing to release.")
        return cls(schema, frame, is_text, digest, memory_limit)

    @property
    def domain(self) -> Domain:
        """The public domain of the codes."""
        return self.schema.domain

    @property
    def rows(self) -> int:
        """The exact number of records."""
        return self.digest.rows

    def fingerprint(self) -> str:
        """A digest of the records in any order and partitioning."""
        return self.digest.fingerprint(self.domain)

    def count(self, marginals: Sequence[Marginal]) -> list[CellCounts]:
        """Exact counts of the marginals, in one pass, or in several where the counters of a worker are too large."""
        counted: list[CellCounts] = []
        for group in split_passes(self.domain, marginals, rows=self.rows, memory_limit=self.memory_limit):
            counts, digest = _run(self.frame, self.schema, group, is_text=self.is_text)
            if digest != self.digest:
                raise DataError(
                    "the Spark table changed while it was in use. Nothing was charged for it: "
                    "start again on data at rest, without sampling or the clock in its query."
                )
            counted.extend(counts)
        return counted


def _read(path: str, schema: Schema) -> tuple[DataFrame, bool]:
    """The CSV or Parquet files at a path as a data frame, and whether all values are text."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise SettingsError("Spark needs an extra package. Run: pip install 'dprap[spark]'.") from None
    endings = Path(path.rstrip("/")).name.lower().split(".")[1:]
    text = next((ending for ending in endings if ending in ("csv", "tsv")), None)
    if SparkSession.getActiveSession() is None:  # ours to start: its workers are to have the packages that we have
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with _errors():
        reader = SparkSession.builder.appName("dprap").getOrCreate().read
        if text is None:
            return reader.parquet(path), False
        separator = "\t" if text == "tsv" else schema.csv.delimiter
        # quotes as in RFC 4180; a line that does not fit the header is an error, never a record with nulls
        options: dict[str, str | bool] = {
            "header": True,
            "sep": separator,
            "escape": '"',
            "multiLine": True,
            "mode": "FAILFAST",
        }
        return reader.options(**options).csv(path), True


def _run(
    frame: DataFrame, schema: Schema, marginals: Sequence[Marginal], *, is_text: bool
) -> tuple[list[CellCounts], Digest]:
    """Counts and digest of all records, summed by Spark over the partitions."""
    from pyspark.sql import functions as sql

    with _errors():
        partial = frame.mapInArrow(_counter(schema, list(marginals), is_text), _PARTIAL_DDL)
        summed = partial.groupBy("marginal", "cell").agg(
            sql.sum("count").alias("count"), sql.min("error").alias("error")
        )
        table = summed.toArrow()
    number, cell, count = (table[name].to_numpy() for name in ("marginal", "cell", "count"))
    if (number == _ERROR).any():
        kind, _, message = next(error for error in table["error"].to_pylist() if error).partition(": ")
        raise (SchemaError if kind == SchemaError.__name__ else DataError)(message)

    def total(of: int) -> int:
        return int(count[number == of].sum())

    digest = Digest(total(_ROWS), (total(_DIGEST_HIGH) * 2**32 + total(_DIGEST_LOW)) % 2**64)
    order = np.lexsort((cell, number))
    number, cell, count = number[order], cell[order], count[order].astype(np.int64)
    bounds = np.searchsorted(number, np.arange(len(marginals) + 1))
    return [
        CellCounts(marginal.size(schema.domain), count[start:stop], cell[start:stop])
        for marginal, start, stop in zip(marginals, bounds[:-1], bounds[1:], strict=True)
    ], digest


def _counter(
    schema: Schema, marginals: list[Marginal], is_text: bool
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a worker does with a partition: encode and count it, send back what is not zero."""
    settings = schema.as_mapping()  # plain data travels more safely than models with cached arrays

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        here = Schema.of(settings)
        tally = Tally(here.domain, marginals)
        digest = Digest()
        try:
            for batch in batches:
                columns = _encode(batch, here, is_text=is_text)
                digest += digest_of(columns)
                tally.add(columns)
        except DprapError as error:  # says nothing private; the driver raises it again
            yield _report([_ERROR], [0], [f"{type(error).__name__}: {error}"])
            return
        yield _report(
            [_ROWS, _DIGEST_LOW, _DIGEST_HIGH], [digest.rows, digest.total % 2**32, digest.total >> 32], [None] * 3
        )
        for number, counts in enumerate(tally.result()):
            yield from _nonzero(number, counts)

    return count


def _encode(batch: pa.RecordBatch, schema: Schema, *, is_text: bool) -> tuple[CodeColumn, ...]:
    columns = batch.columns
    if is_text:  # Spark reads an empty field as null, where the schema decides what an empty text means
        columns = [pc.fill_null(column, "") for column in columns]
    return encode_batch(pa.RecordBatch.from_arrays(columns, names=list(schema.columns)), schema, is_text=is_text)


def _nonzero(number: int, counts: CellCounts) -> Iterator[pa.RecordBatch]:
    cells = np.flatnonzero(counts.counts) if counts.cells is None else counts.cells
    values = counts.counts[cells] if counts.cells is None else counts.counts
    for start in range(0, len(cells), _ROWS_PER_BATCH):
        part = slice(start, start + _ROWS_PER_BATCH)
        size = len(cells[part])
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(np.full(size, number, dtype=np.int32)),
                pa.array(cells[part]),
                pa.array(values[part]),
                pa.nulls(size, pa.string()),
            ],
            schema=_PARTIAL,
        )


def _report(numbers: list[int], counts: list[int], errors: Sequence[str | None]) -> pa.RecordBatch:
    columns = {"marginal": numbers, "cell": [0] * len(numbers), "count": counts, "error": list(errors)}
    return pa.RecordBatch.from_pydict(columns, schema=_PARTIAL)


@contextmanager
def _errors() -> Iterator[None]:
    """Turn Spark's errors into ours; their messages may quote values and plans, so only their kind passes."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError, OSError) as error:
        if "No module named 'dprap'" in str(error):
            raise SettingsError(
                "the Spark workers do not have dprap. Install it there, and set PYSPARK_PYTHON to their Python."
            ) from None
        condition = error.getCondition() if isinstance(error, PySparkException) else None
        raise DataError(
            f"the Spark job failed ({condition or type(error).__name__}); Spark's log says more. "
            "Nothing was charged for this step: start again, or resume the run."
        ) from None
