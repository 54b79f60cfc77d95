"""Files out of core: the same counts as in memory, whatever the layout; changes of the files are
noticed.
"""

import os
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sources.bad_files import BAD_FILES
from tests.sources.tables import all_marginals, assert_same_counts, random_table, same

from dprap.datasets import example, example_schema
from dprap.encoding import encode
from dprap.errors import DataError, DprapError, SchemaError
from dprap.queries import Marginal
from dprap.schema import Schema
from dprap.sources import MemorySource, RowSource, table_files
from dprap.sources.locate import find_files
from dprap.sources.recoding import Recoding
from dprap.sources.table_files import FileSource

SCHEMA = Schema.of(
    {
        "columns": {
            "region": {"type": "categorical", "values": ["north", "south"], "nullable": True},
            "age": {"type": "integer", "min": 0, "max": 99},
        }
    }
)


def small(rows: int = 100, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    regions = [["north", "south", None][i] for i in rng.integers(0, 3, rows)]
    return pa.table({"region": pa.array(regions, pa.string()), "age": rng.integers(0, 100, rows)})


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_parquet_counts_like_memory(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    table, schema = random_table(seed)
    path = tmp_path_factory.mktemp("table") / "table.parquet"
    pq.write_table(table, path, row_group_size=17)
    assert_same_counts(FileSource.open(path, schema), table, schema)


def test_csv_counts_like_memory(tmp_path: Path) -> None:
    table = example(5000, seed=3)
    path = tmp_path / "table.csv"
    pyarrow.csv.write_csv(table, path)
    source = FileSource.open(path, example_schema())
    memory = MemorySource(encode(table, example_schema()))
    marginals = all_marginals(example_schema(), k=2)
    assert all(
        same(a, b) for a, b in zip(source.count(marginals), memory.count(marginals), strict=True)
    )


def test_folder_glob_and_parts_have_one_fingerprint(tmp_path: Path) -> None:
    table = small(300)
    pq.write_table(table, tmp_path / "whole.parquet")
    parts = tmp_path / "parts"
    (parts / "deep").mkdir(parents=True)
    pq.write_table(table.slice(200), parts / "a.parquet")
    pyarrow.csv.write_csv(table.slice(0, 150), parts / "deep" / "b.csv")
    pq.write_table(table.slice(150, 50), parts / "deep" / "c.parquet")
    (parts / "_SUCCESS").touch()
    (parts / ".a.parquet.crc").write_bytes(b"x")
    sources = [
        FileSource.open(p, SCHEMA)
        for p in (tmp_path / "whole.parquet", parts, f"{parts}/**/*.[pc]*")
    ]
    for source in sources:
        assert_same_counts(source, table, SCHEMA)
    assert len({source.fingerprint() for source in sources}) == 1
    assert FileSource.open(parts / "a.parquet", SCHEMA).fingerprint() != sources[0].fingerprint()


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_hive_partitions_are_columns(tmp_path: Path, kind: str) -> None:
    schema = Schema.of(
        {"columns": {"region": {"type": "categorical", "values": ["no/rth", "s=x y"], "nullable": True},
                     "age": {"type": "integer", "min": 0, "max": 99}}}
    )  # fmt: skip
    table = small(200)
    renamed = {"north": "no/rth", "south": "s=x y"}
    table = table.set_column(
        0, "region", pa.array([renamed.get(v) for v in table["region"].to_pylist()], pa.string())
    )
    for value in ("no/rth", "s=x y", None):
        column = table["region"]
        part = table.filter(
            pc.is_null(column) if value is None else pc.equal(column, value)
        ).drop_columns("region")
        folder = (
            tmp_path
            / f"region={'__HIVE_DEFAULT_PARTITION__' if value is None else quote(value, safe='')}"
        )
        folder.mkdir()
        write = pq.write_table if kind == "parquet" else pyarrow.csv.write_csv
        write(part, folder / f"part.{kind}")
    assert_same_counts(FileSource.open(tmp_path, schema), table, schema)
    assert_same_counts(FileSource.open(f"{tmp_path}/*/*.{kind}", schema), table, schema)


def test_errors_show_no_partition_value(tmp_path: Path) -> None:
    folder = tmp_path / "region=secret"
    folder.mkdir()
    (folder / "part.parquet").write_bytes(b"PAR1 broken")
    with pytest.raises(DataError, match="region=…") as caught:
        FileSource.open(tmp_path, SCHEMA)
    assert "secret" not in str(caught.value)
    pq.write_table(pa.table({"age": [1]}), folder / "part.parquet")
    with pytest.raises(DataError, match="not in its list") as caught:
        FileSource.open(tmp_path, SCHEMA)
    assert "secret" not in str(caught.value)


def test_is_a_row_source_in_batches(tmp_path: Path) -> None:
    table = small(1000)
    pq.write_table(table, tmp_path / "t.parquet")
    source = FileSource.open(tmp_path / "t.parquet", SCHEMA)
    assert isinstance(source, RowSource)
    columns = [np.concatenate(column) for column in zip(*source.blocks(), strict=True)]
    codes = encode(table, SCHEMA)
    assert all(np.array_equal(a, b) for a, b in zip(columns, codes.columns, strict=True))


def test_many_marginals_take_several_passes(tmp_path: Path) -> None:
    table = example(2000, seed=1)
    pq.write_table(table, tmp_path / "t.parquet")
    calls: list[tuple[str, float]] = []
    source = FileSource.open(
        tmp_path / "t.parquet",
        example_schema(),
        memory_limit=20_000,
        progress=lambda *call: calls.append(call),
    )
    marginals = all_marginals(example_schema(), k=2)
    calls.clear()
    found = source.count(marginals)
    expected = MemorySource(encode(table, example_schema())).count(marginals)
    assert all(same(a, b) for a, b in zip(found, expected, strict=True))
    shares = [share for _, share in calls]
    assert len(shares) > 3
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_large_sparse_marginal(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    schema = Schema.from_domain({"a": 1000, "b": 1001})
    table = pa.table({"a": rng.integers(0, 1000, 3000), "b": rng.integers(0, 1001, 3000)})
    pq.write_table(table, tmp_path / "t.parquet")
    assert_same_counts(FileSource.open(tmp_path / "t.parquet", schema), table, schema)


def test_changed_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(small(100), path)
    source = FileSource.open(path, SCHEMA)
    pq.write_table(small(101), path)
    with pytest.raises(DataError, match="changed"):
        source.count([Marginal(("age",))])
    path.unlink()
    with pytest.raises(DataError):
        source.count([Marginal(("age",))])


def test_a_change_that_keeps_size_and_time_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("region,age\nnorth,10\nsouth,20\n")
    source = FileSource.open(path, SCHEMA)
    before = path.stat()
    path.write_text("region,age\nnorth,10\nsouth,21\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(DataError, match="changed"):
        source.count([Marginal(("age",))])
    with pytest.raises(DataError, match="changed"):
        list(source.blocks())


def test_no_files(tmp_path: Path) -> None:
    for location in (tmp_path / "none.csv", tmp_path, f"{tmp_path}/*.parquet"):
        with pytest.raises(DataError):
            FileSource.open(location, SCHEMA)
    assert [file.path.name for file in _touch(tmp_path, "a.csv", "_b.csv")] == ["a.csv"]


def _touch(folder: Path, *names: str) -> list:
    for name in names:
        (folder / name).touch()
    return find_files(folder)


def test_second_file_with_other_columns(tmp_path: Path) -> None:
    pq.write_table(small(10), tmp_path / "a.parquet")
    pq.write_table(small(10).rename_columns(["region", "years"]), tmp_path / "b.parquet")
    with pytest.raises(SchemaError, match="age"):
        FileSource.open(tmp_path, SCHEMA)


def test_draft_schema_is_refused(tmp_path: Path) -> None:
    pq.write_table(small(10), tmp_path / "a.parquet")
    with pytest.raises(SchemaError, match="draft"):
        FileSource.open(tmp_path, SCHEMA.model_copy(update={"is_draft": True}))


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_give_one_clear_line(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(BAD_FILES[name])
    with pytest.raises(DprapError) as caught:
        FileSource.open(tmp_path / name, SCHEMA)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400 + len(str(tmp_path))
    assert "calc" not in message


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_damaged_files_never_crash(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Cut or overwrite bytes anywhere: it is read, or refused with an error of ours."""
    folder = tmp_path_factory.mktemp("damaged")
    kind = data.draw(st.sampled_from(["parquet", "csv"]))
    path = folder / f"t.{kind}"
    table = small(200, seed=5)
    pq.write_table(table, path) if kind == "parquet" else pyarrow.csv.write_csv(table, path)
    content = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content = content[:at]
    else:
        junk = data.draw(st.binary(min_size=1, max_size=20))
        content[at : at + len(junk)] = junk
    path.write_bytes(content)
    with suppress(DprapError):
        FileSource.open(path, SCHEMA).count([Marginal(("region", "age"))])


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_what_is_expected_is_counted_while_records_are_checked(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, schema = example(700, seed=3), example_schema()
    path = tmp_path / f"t.{suffix}"
    pyarrow.csv.write_csv(table, path) if suffix == "csv" else pq.write_table(table, path)
    marginals = all_marginals(schema, k=2)
    told: list[int | None] = []

    def expect(records: int | None) -> list[Marginal]:
        told.append(records)
        return marginals[3:]

    source = FileSource.open(path, schema, expect=expect)
    assert told == [700]
    passes = []
    read = table_files.read_files
    monkeypatch.setattr(table_files, "read_files", lambda *given: passes.append(0) or read(*given))
    found = source.count(marginals[3:])
    assert not passes
    rest = source.count(marginals)
    assert len(passes) == 1
    expected = MemorySource(encode(table, schema)).count(marginals)
    assert all(same(a, b) for a, b in zip([*rest[:3], *found], expected, strict=True))


AGE = {"type": "integer", "min": 0, "max": 99, "out_of_domain": "clip"}


def test_what_was_counted_before_a_recoding_is_counted_again(tmp_path: Path) -> None:
    table, schema = example(300, seed=3), Schema.of({"columns": {"age": AGE}})
    pq.write_table(table.select(["age"]), tmp_path / "t.parquet")
    ages = Marginal(("age",))
    source = FileSource.open(tmp_path / "t.parquet", schema, expect=lambda _: [ages])
    fine = source.count([ages])[0].dense()
    coarse = Schema.of({"columns": {"age": AGE | {"width": 50}}})
    maps = {"age": np.arange(100) // 50}
    found = source.recoded(Recoding(schema.domain, coarse, maps)).count([ages])[0].dense()
    assert found.tolist() == [fine[:50].sum(), fine[50:].sum()]
