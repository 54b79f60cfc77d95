"""A count source in Apache Spark: the same encoding and the same kernel inside the workers; only
counts leave them.

The workers need dprap installed. Errors travel as data, not as exceptions, because Spark logs and
quotes exceptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dprap.counting import CellCounts, Tally
from dprap.counting.passes import MEMORY_LIMIT, Pass, plan_passes
from dprap.errors import DataError, DprapError, SchemaError
from dprap.queries.marginal import Marginal
from dprap.schema import Schema
from dprap.sources.checked import CheckedSource
from dprap.sources.digest import Digest, digest_of
from dprap.sources.protocol import Expect, expect_nothing
from dprap.sources.recoding import Recoding
from dprap.sources.spark_tables import Encode, SparkTable, spark_errors, spark_table

_PARTIAL = pa.schema(
    [("marginal", pa.int32()), ("cell", pa.int64()), ("count", pa.int64()), ("error", pa.string())]
)
_PARTIAL_DDL = "marginal int, cell bigint, count bigint, error string"
_ROWS, _DIGEST_LOW, _DIGEST_HIGH, _ERROR = -1, -2, -3, -4
# What a partition reports besides counts, in place of a marginal's number. The digest goes in two
# halves: sums of 32-bit halves cannot overflow, whatever the number of partitions.

_MANY = 1 << 20

_ROWS_PER_BATCH = 50_000  # partial counts per Arrow batch sent back


@dataclass(frozen=True, kw_only=True)
class SparkSource(CheckedSource):
    """Records that Spark hands to its workers.

    Spark reads them again for every pass, so every pass checks that they are still the same.
    """

    table: SparkTable

    @classmethod
    def open(
        cls,
        data: Any,
        schema: Schema,
        *,
        memory_limit: int = MEMORY_LIMIT,
        expect: Expect = expect_nothing,
    ) -> SparkSource:
        """Check every record of a data frame, or of the CSV or Parquet files at a path, against the
        schema.
        """
        schema.require_reviewed()
        table = spark_table(data, schema)
        rows = table.expected_records
        # of a table of unknown size unions are planned as for a large one
        plans = plan_passes(
            schema.domain, expect(rows), rows=rows or _MANY, memory_limit=memory_limit
        )
        counted, digest = _run(table, schema, next(plans, {}))
        if digest.rows == 0:
            raise DataError("the Spark table has no records. There is nothing to release.")
        return cls(
            schema=schema, digest=digest, memory_limit=memory_limit, counted=counted, table=table
        )

    def count_pass(
        self,
        plan: Pass,
        position: int,  # noqa: ARG002 - nobody watches
        passes: int,  # noqa: ARG002
    ) -> Mapping[Marginal, CellCounts]:
        """Exact counts from one job of Spark, summed over the partitions."""
        counts, digest = _run(self.table, self.schema, plan, self.recoding)
        if digest != self.digest:
            raise DataError(
                "the Spark table changed while it was in use. Nothing was charged for it: "
                "start again on data at rest, without sampling or the clock in its query."
            )
        return counts


def _run(
    table: SparkTable, schema: Schema, plan: Pass, recoding: Recoding | None = None
) -> tuple[dict[Marginal, CellCounts], Digest]:
    """Counts and digest of all records, summed by Spark over the partitions."""
    from pyspark.sql import functions as sql

    with spark_errors():
        partial = table.frame.mapInArrow(
            _counter(schema, plan, table.encode, recoding), _PARTIAL_DDL
        )
        summed = partial.groupBy("marginal", "cell").agg(
            sql.sum("count").alias("count"), sql.min("error").alias("error")
        )
        received = summed.toArrow()
    number, cell, count = (received[name].to_numpy() for name in ("marginal", "cell", "count"))
    if (number == _ERROR).any():
        kind, _, message = next(
            error for error in received["error"].to_pylist() if error
        ).partition(": ")
        raise (SchemaError if kind == SchemaError.__name__ else DataError)(message)

    def total(of: int) -> int:
        return int(count[number == of].sum())

    digest = Digest(total(_ROWS), (total(_DIGEST_HIGH) * 2**32 + total(_DIGEST_LOW)) % 2**64)
    order = np.lexsort((cell, number))
    number, cell, count = number[order], cell[order], count[order].astype(np.int64)
    marginals = [marginal for served in plan.values() for marginal in served]
    bounds = np.searchsorted(number, np.arange(len(marginals) + 1))
    domain = (schema if recoding is None else recoding.schema).domain
    return {
        marginal: CellCounts(marginal.size(domain), count[start:stop], cell[start:stop])
        for marginal, start, stop in zip(marginals, bounds[:-1], bounds[1:], strict=True)
    }, digest


def _counter(
    schema: Schema, plan: Pass, encode: Encode, recoding: Recoding | None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a worker does with a partition: encode and count it, send back what is not zero."""
    settings = schema.as_mapping()  # plain data travels more safely than models with cached arrays
    coarser = None if recoding is None else (recoding.schema.as_mapping(), dict(recoding.maps))

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        here = Schema.of(settings)
        recode = (
            None if coarser is None else Recoding(here.domain, Schema.of(coarser[0]), coarser[1])
        )
        tally = Tally(here.domain if recode is None else recode.schema.domain, plan)
        digest = Digest()
        try:
            for columns in encode(batches, here):
                digest += digest_of(columns)
                tally.add(columns if recode is None else recode(columns))
        except DprapError as error:  # says nothing private; the driver raises it again
            yield _report([_ERROR], [0], [f"{type(error).__name__}: {error}"])
            return
        yield _report(
            [_ROWS, _DIGEST_LOW, _DIGEST_HIGH],
            [digest.rows, digest.total % 2**32, digest.total >> 32],
            [None] * 3,
        )
        for number, (_, counts) in enumerate(tally.results()):
            yield from _nonzero(number, counts)

    return count


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
    columns = {
        "marginal": numbers,
        "cell": [0] * len(numbers),
        "count": counts,
        "error": list(errors),
    }
    return pa.RecordBatch.from_pydict(columns, schema=_PARTIAL)
