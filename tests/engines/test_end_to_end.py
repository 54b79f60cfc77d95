"""A whole run on each engine: a synthetic table comes out, and the ledger holds what was spent."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.engines.test_postgres import store

from dprap.accounting import Neighbors, Relation
from dprap.api import synthesize
from dprap.datasets import example, example_schema
from dprap.privacy import Ledger, read_ledger
from dprap.runs.execute import execute
from dprap.runs.options import RunOptions
from dprap.runs.plan import make_plan
from dprap.sources.postgres import PostgresSource


@pytest.mark.filterwarnings("ignore")
def test_spark(spark: Any, tmp_path: Path) -> None:
    pq.write_table(example(2000, seed=1), tmp_path / "t.parquet")
    frame = spark.read.parquet(str(tmp_path / "t.parquet"))
    release = synthesize(
        frame,
        example_schema(),
        epsilon=1.0,
        kway=1,
        method="independent",
        ledger=tmp_path / "l.ledger",
    )
    assert release.table(format="arrow").num_rows == 2000
    assert read_ledger(tmp_path / "l.ledger").spent_rho > 0


def test_postgres(postgres_url: str, tmp_path: Path) -> None:
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as admin:
        store(admin, example(2000, seed=1), "end_to_end")
    neighbors = Neighbors(Relation.REPLACE)
    with (
        closing(PostgresSource.open(postgres_url, "public.end_to_end", example_schema())) as source,
        Ledger(tmp_path / "l.ledger", neighbors=neighbors) as ledger,
    ):
        plan = make_plan(
            example_schema(),
            RunOptions(epsilon=1.0, neighbors=neighbors, kway=1, method="independent"),
            records=source.rows,
        )
        release = execute(plan, source, ledger=ledger)
    assert release.table(format="arrow").num_rows == 2000
    assert read_ledger(tmp_path / "l.ledger").spent_rho > 0
