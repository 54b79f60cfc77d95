"""Which source is chosen, and that a failure on the data spends nothing."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from dprap.accounting import Budget, Neighbors, Relation
from dprap.datasets import example, example_schema
from dprap.errors import DataError, DprapError, SettingsError
from dprap.privacy import Curator, Ledger, read_ledger
from dprap.queries import Marginal
from dprap.schema import Schema
from dprap.sources import MemorySource
from dprap.sources.digest import Digest, digest_of
from dprap.sources.open import open_source
from dprap.sources.table_files import FileSource
from dprap.sources.touched_values import touched_in

SCHEMA = Schema.from_domain({"a": 5, "b": 300})


def table(rows: int = 1000, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table({"a": rng.integers(0, 5, rows), "b": rng.integers(0, 300, rows)})


def test_small_files_and_tables_go_to_memory(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "t.parquet")
    pyarrow.csv.write_csv(table(), tmp_path / "t.csv")
    for data in (table(), table().to_pandas(), tmp_path / "t.parquet", str(tmp_path / "t.csv")):
        assert isinstance(open_source(data, SCHEMA), MemorySource)


def test_large_files_folders_and_globs_stay_on_disk(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "t.parquet")
    pyarrow.csv.write_csv(table(), tmp_path / "t.csv")
    # 1000 records of 3 bytes, twice; a CSV record may have as few as two bytes
    assert isinstance(open_source(tmp_path / "t.parquet", SCHEMA, memory_limit=5999), FileSource)
    assert isinstance(open_source(tmp_path / "t.parquet", SCHEMA, memory_limit=6000), MemorySource)
    assert isinstance(open_source(tmp_path / "t.csv", SCHEMA, memory_limit=6000), FileSource)
    assert isinstance(open_source(tmp_path / "t.parquet", SCHEMA, engine="files"), FileSource)
    assert open_source(tmp_path, SCHEMA).rows == 2000
    assert open_source(f"{tmp_path}/*.csv", SCHEMA).rows == 1000


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ("postgresql://host/db", {}),
        ("t.parquet", {"database_table": "x"}),
        (table(3), {"engine": "files"}),
        (table(3), {"database_table": "x"}),
    ],
)
def test_settings_that_do_not_go_together(data: object, options: dict) -> None:
    with pytest.raises(SettingsError):
        open_source(data, SCHEMA, **options)


@pytest.mark.parametrize("name", ["none.csv", "none.parquet", "none", "no*ne.parquet"])
def test_missing_paths(name: str, tmp_path: Path) -> None:
    with pytest.raises(DprapError):
        open_source(tmp_path / name, SCHEMA)


def test_a_changed_file_charges_nothing_and_the_run_can_go_on(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(table(), path)
    neighbors, budget = Neighbors(Relation.REPLACE), Budget.of(epsilon=1.0, delta=1e-9)

    def curator(ledger: Ledger) -> Curator:
        source = open_source(path, SCHEMA, engine="files")
        return Curator(source, budget=budget, neighbors=neighbors, ledger=ledger, run="one")

    with Ledger(tmp_path / "l.ledger", neighbors=neighbors) as ledger:
        started = curator(ledger)
        started.measure([Marginal(("a",))], budget.rho / 4)
        spent = read_ledger(tmp_path / "l.ledger").spent_rho
        pq.write_table(table(seed=1), path)
        with pytest.raises(DataError, match="changed"):
            started.measure([Marginal(("b",))], budget.rho / 4)
        assert read_ledger(tmp_path / "l.ledger").spent_rho == spent == budget.rho / 4
    pq.write_table(table().slice(0, 1000), path)  # the data come back, as another file
    with Ledger(tmp_path / "l.ledger", neighbors=neighbors) as ledger:
        resumed = curator(ledger)
        resumed.measure([Marginal(("a",))], budget.rho / 4)
        resumed.measure([Marginal(("b",))], budget.rho / 4)
        assert resumed.spent == budget.rho / 2


def test_the_same_records_have_one_digest() -> None:
    from dprap.encoding import encode

    columns = encode(example(70_000, seed=1), example_schema()).columns
    order = np.random.default_rng(0).permutation(70_000)
    whole = digest_of(columns)
    assert whole == digest_of([column[order] for column in columns])
    parts = [
        digest_of([column[start : start + 9999] for column in columns])
        for start in range(0, 70_000, 9999)
    ]
    assert sum(parts, Digest()) == whole
    changed = [column.copy() for column in columns]
    changed[3][5] = (changed[3][5] + 1) % 7
    assert digest_of(changed) != whole
    swapped = [columns[1], columns[0], *columns[2:]]
    assert digest_of(swapped) != whole


def test_the_check_leaves_paths_alone_that_only_the_cluster_sees(tmp_path: Path) -> None:
    """A path of Spark's own was refused before the run: there is no such file here."""
    schema = Schema.of(
        {
            "columns": {
                "a": {
                    "type": "integer",
                    "min": 0,
                    "max": 3,
                    "nullable": True,
                    "out_of_domain": "null",
                }
            }
        }
    )
    assert touched_in("hdfs:///clinic/stays", schema, engine="spark") is None
    with pytest.raises(DataError, match="no such file"):
        touched_in("hdfs:///clinic/stays", schema)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1, 2, 9]}), path)
    found = touched_in(str(path), schema, engine="spark")
    assert found is not None
    assert len(found.findings(0.01, quoting=False)) == 1
