"""PostgreSQL counts exactly what the in-memory source counts, in one snapshot, and lets no value
out.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sources.tables import KINDS, all_marginals, assert_same_counts, random_table, same

from dprap.datasets import example, example_schema
from dprap.encoding import encode
from dprap.errors import DataError, DprapError, SchemaError, WorkloadError
from dprap.queries import Marginal
from dprap.schema import Schema
from dprap.sources import MemorySource, RowSource, postgres, sql_counts
from dprap.sources.catalog import identifier
from dprap.sources.open import open_source
from dprap.sources.postgres import PostgresSource
from dprap.sources.sql_counts import BITS, Packed, bits_of

Write = Callable[[pa.Table, str], None]


@pytest.fixture
def admin(postgres_url: str) -> Iterator[Any]:
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def write(admin: Any) -> Write:
    return lambda table, name: store(admin, table, name)


def sql_type(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision}, {kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamptz" if kind.tz else "timestamp"
    if pa.types.is_dictionary(kind):
        return "text"
    return {
        "bool": "boolean", "int32": "integer", "int64": "bigint", "double": "double precision", "float": "real",
        "string": "text", "date32[day]": "date",
    }[str(kind)]  # fmt: skip


def store(connection: Any, table: pa.Table, name: str) -> None:
    columns = ", ".join(
        f"{identifier(field.name)} {sql_type(field.type)}" for field in table.schema
    )
    connection.execute(f"DROP TABLE IF EXISTS {name}".encode())
    connection.execute(f"CREATE TABLE {name} ({columns})".encode())
    with connection.cursor().copy(f"COPY {name} FROM STDIN".encode()) as copy:
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
            copy.write_row(row)


def opened(url: str, name: str, schema: Schema) -> Any:
    from contextlib import closing

    return closing(PostgresSource.open(url, name, schema))


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**32))
def test_counts_like_memory(seed: int, postgres_url: str, write: Write) -> None:
    table, schema = random_table(seed)
    write(table, "random")
    with opened(postgres_url, "public.random", schema) as source:
        assert_same_counts(source, table, schema)


@pytest.mark.parametrize("position", range(len(KINDS)))
def test_every_kind_of_column(position: int, postgres_url: str, write: Write) -> None:
    kind = KINDS[position]
    rng = np.random.default_rng(position)
    values = [kind.value(rng, i % 3 == 0) for i in range(400)]
    if kind.settings.get("nullable"):
        values[::5] = [None] * 80
    table = pa.table({"x y": pa.array(values, kind.arrow)})
    schema = Schema.of({"columns": {"x y": kind.settings}})
    write(table, "one")
    with opened(postgres_url, "public.one", schema) as source:
        assert_same_counts(source, table, schema)


def test_example(postgres_url: str, write: Write) -> None:
    table, schema = example(3000, seed=2), example_schema()
    write(table, "example")
    source = open_source(postgres_url, schema, database_table="public.example")
    memory = MemorySource(encode(table, schema))
    marginals = all_marginals(schema, k=2)
    assert all(
        same(a, b) for a, b in zip(source.count(marginals), memory.count(marginals), strict=True)
    )
    assert not isinstance(source, RowSource)  # records never leave
    source.close()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[Marginal]]:
    """What each query asks the server for."""
    marginals: list[list[Marginal]] = []
    count_sql = sql_counts.count_sql
    monkeypatch.setattr(
        postgres,
        "count_sql",
        lambda *given, **named: [marginals.append(given[-1]), count_sql(*given, **named)][1],
    )
    return marginals


def test_several_queries_and_parts_of_marginals(
    postgres_url: str, write: Write, monkeypatch: pytest.MonkeyPatch, asked: list[list[Marginal]]
) -> None:
    """Several queries, each with several marginals, results in several rows, and no more cells
    leave than allowed or asked for.
    """
    monkeypatch.setattr(postgres, "_LEAVING_CELLS", 500)
    monkeypatch.setattr(postgres, "BITS", 40)
    monkeypatch.setattr(sql_counts, "_BITS_IN_A_ROW", 6)
    table, schema = example(2000, seed=4), example_schema()
    write(table, "summed")
    marginals = [
        *all_marginals(schema, k=3)[::3],
        Marginal(()),
        Marginal(("smoker", "age")),
        Marginal(("age", "smoker")),
    ]
    marginals += [Marginal(marginal.columns[::-1]) for marginal in marginals[:20]]
    with opened(postgres_url, "public.summed", schema) as source:
        counted = source.count(marginals)
    memory = MemorySource(encode(table, schema))
    assert all(same(a, b) for a, b in zip(counted, memory.count(marginals), strict=True))
    assert len(asked) > 3
    assert all(
        bits_of(schema.domain, Packed.of(schema.domain, each).columns) <= 40 for each in asked
    )
    assert any(len(each) > 3 for each in asked)
    sent = {marginal for each in asked for marginal in each}
    assert all(marginal.size(schema.domain) <= 500 for marginal in sent - set(marginals))


@pytest.mark.parametrize("hashed_bits", [32, 0])
@pytest.mark.parametrize("times", [1, 40])
def test_equal_and_different_records(
    times: int,
    hashed_bits: int,
    postgres_url: str,
    write: Write,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Records that repeat are counted by way of the equal ones, others are not; both exactly, with
    every bit of a number in use.
    """
    monkeypatch.setattr(sql_counts, "_HASHED_BITS", hashed_bits)
    rng = np.random.default_rng(3)
    sizes = {"a": 2**16, "b": 2**15 + 1, "c": 2, "d": 2**16, "e": 2**15}
    schema = Schema.from_domain(sizes)
    assert bits_of(schema.domain, list(sizes)) == BITS
    once = {name: rng.integers(size // 2, size, 500) for name, size in sizes.items()}
    table = pa.table({name: np.tile(values, times) for name, values in once.items()})
    write(table, "equal")
    marginals = [*all_marginals(schema, k=2), Marginal(("e", "d", "a")), Marginal(("d", "c", "a"))]
    with opened(postgres_url, "public.equal", schema) as source:
        counted = source.count(marginals)
        query = sql_counts.count_sql(
            source.relation, schema, source.kinds, marginals, most_equal=source.rows // 2
        )
        plan = source.connection.execute(f"EXPLAIN ANALYZE {query}".encode()).fetchall()
    memory = MemorySource(encode(table, schema))
    assert all(same(a, b) for a, b in zip(counted, memory.count(marginals), strict=True))
    scans = [line for (line,) in plan if "CTE Scan on equal" in line]
    assert len(scans) == 1
    assert ("never executed" in scans[0]) == (times == 1)


def test_marginals_of_more_bits_than_a_number_has(postgres_url: str, write: Write) -> None:
    schema = Schema.from_domain({f"c{number}": 5 for number in range(22)})
    write(pa.table({name: [0, 4] for name in schema.columns}), "long")
    with (
        opened(postgres_url, "public.long", schema) as source,
        pytest.raises(WorkloadError, match="66 bits"),
    ):
        source.count([Marginal(tuple(schema.columns))])


def test_many_categories(postgres_url: str, write: Write) -> None:
    codes = [f"C{i:05d}" for i in range(50_000)]
    schema = Schema.of(
        {"columns": {"code": {"type": "categorical", "values": codes, "other": "rest"}}}
    )
    table = pa.table({"code": [*codes[::7], "unknown", "rest"]})
    write(table, "many")
    with opened(postgres_url, "public.many", schema) as source:
        assert_same_counts(source, table, schema)


def test_one_snapshot_for_the_whole_run(postgres_url: str, admin: Any, write: Write) -> None:
    schema = Schema.from_domain({"a": 5})
    write(pa.table({"a": [0, 1, 1]}), "moving")
    with opened(postgres_url, "public.moving", schema) as source:
        admin.execute("INSERT INTO moving VALUES (4), (99)")
        assert source.count([Marginal(("a",))])[0].dense().tolist() == [1, 2, 0, 0, 0]
        first = source.fingerprint()
    admin.execute("DELETE FROM moving WHERE a > 4")
    with opened(postgres_url, "public.moving", schema) as source:
        assert source.rows == 4
        assert source.fingerprint() != first
        changed = source.fingerprint()
    admin.execute("CREATE TABLE turned AS SELECT a FROM moving ORDER BY a DESC")
    with opened(postgres_url, "public.turned", schema) as source:
        assert source.fingerprint() == changed
    admin.execute("DROP TABLE turned")


def test_cannot_write(postgres_url: str, write: Write) -> None:
    import psycopg

    write(pa.table({"a": [0]}), "fixed")
    with (
        opened(postgres_url, "public.fixed", Schema.from_domain({"a": 2})) as source,
        pytest.raises(psycopg.errors.ReadOnlySqlTransaction),
    ):
        source.connection.execute("INSERT INTO public.fixed VALUES (1)")


VIOLATIONS = [
    ("integer", [7, None], pa.int64(), {"min": 0, "max": 9}),
    ("integer", [7, 4242], pa.int64(), {"min": 0, "max": 9}),
    ("integer", [7.0, 4.242], pa.float64(), {"min": 0, "max": 9}),
    ("integer", [7.0, float("nan")], pa.float64(), {"min": 0, "max": 9}),
    ("number", [0.5, 4242.0], pa.float64(), {"min": 0, "max": 9, "bins": 3}),
    (
        "number",
        [0.5, float("inf")],
        pa.float64(),
        {"min": 0, "max": 9, "bins": 3, "nullable": True},
    ),
    ("categorical", ["a", "s4242"], pa.string(), {"values": ["a"]}),
    ("categorical", ["a", None], pa.string(), {"values": ["a"]}),
    ("boolean", [True, None], pa.bool_(), {}),
    ("boolean", ["true", "s4242"], pa.string(), {}),
]


@pytest.mark.parametrize(("kind", "values", "arrow", "extra"), VIOLATIONS)
def test_violations_say_what_memory_says(
    kind: str,
    values: list[Any],
    arrow: pa.DataType,
    extra: dict[str, Any],
    postgres_url: str,
    write: Write,
) -> None:
    schema = Schema.of({"columns": {"it's": {"type": kind, **extra}}})
    table = pa.table({"it's": pa.array(values, arrow)})
    write(table, "bad")
    with pytest.raises(DataError) as in_memory:
        encode(table, schema)
    with pytest.raises(DataError) as in_database:
        PostgresSource.open(postgres_url, "public.bad", schema)
    assert str(in_database.value) == str(in_memory.value)
    assert "4242" not in str(in_database.value)


def test_types_that_do_not_fit(postgres_url: str, admin: Any) -> None:
    admin.execute("DROP TABLE IF EXISTS odd; CREATE TABLE odd (a inet, b text, c timestamptz)")
    admin.execute("INSERT INTO odd VALUES ('10.0.0.1', '5', now())")
    for name, column in {
        "a": {"type": "categorical", "values": ["x"]},
        "b": {"type": "integer", "min": 0, "max": 9},
        "c": {"type": "date", "min": "2020-01-01", "max": "2030-01-01"},
    }.items():
        schema = Schema.of({"columns": {name: column}, "ignore_extra_columns": True})
        with pytest.raises(SchemaError, match=f"'{name}'"):
            PostgresSource.open(postgres_url, "public.odd", schema)


def test_domains_enums_views_and_infinity(postgres_url: str, admin: Any) -> None:
    admin.execute("""
        DROP SCHEMA IF EXISTS "Odd schema" CASCADE; CREATE SCHEMA "Odd schema";
        CREATE DOMAIN "Odd schema".age AS integer; CREATE TYPE "Odd schema".mood AS ENUM ('sad', 'glad');
        CREATE TABLE "Odd schema"."Odd ""table" (
          age "Odd schema".age, mood "Odd schema".mood, day date, at timestamptz, price numeric, gone integer
        );
        ALTER TABLE "Odd schema"."Odd ""table" DROP COLUMN gone;
        INSERT INTO "Odd schema"."Odd ""table" VALUES
          (3, 'sad', 'infinity', '-infinity', 'Infinity'), (4, 'glad', '-infinity', 'infinity', '1e-400'),
          (4, 'glad', '4000-01-01 BC', '2024-05-05Z', '-1e4000'), (4, 'glad', '2024-02-01', '2024-05-05Z', 'NaN');
        CREATE VIEW "Odd schema".seen AS SELECT * FROM "Odd schema"."Odd ""table";
        """)
    schema = Schema.of(
        {
            "columns": {
                "age": {"type": "integer", "min": 0, "max": 9},
                "mood": {"type": "categorical", "values": ["glad", "sad"]},
                "day": {"type": "date", "min": "2024-01-01", "max": "2024-03-31", "unit": "month", "out_of_domain": "clip"},
                "at": {
                    "type": "datetime", "min": "2024-01-01T00:00:00Z", "max": "2024-12-31T00:00:00Z", "unit": "quarter",
                    "timezone": "UTC", "nullable": True, "out_of_domain": "null",
                },
                "price": {"type": "number", "edges": [-1, 0, 1, 2], "nullable": True, "out_of_domain": "clip"},
            }
        }
    )  # fmt: skip
    for name in ('"Odd schema"."Odd ""table"', '"Odd schema".seen'):
        with opened(postgres_url, name, schema) as source:
            found = [
                counts.dense().tolist()
                for counts in source.count([Marginal((c,)) for c in schema.columns])
            ]
        assert found[0][3:5] == [1, 3]
        assert found[1:] == [[3, 1], [2, 1, 1], [0, 2, 0, 0, 2], [1, 1, 1, 1]]


@pytest.mark.parametrize(
    "name", ["nowhere", "a.b.c.d", "x; DROP TABLE fixed", "", '"', "public.nowhere"]
)
def test_unknown_tables(name: str, postgres_url: str) -> None:
    with pytest.raises(DprapError):
        PostgresSource.open(postgres_url, name, Schema.from_domain({"a": 2}))


def test_empty_table(postgres_url: str, write: Write) -> None:
    write(pa.table({"a": pa.array([], pa.int64())}), "empty")
    with pytest.raises(DataError, match="no records"):
        PostgresSource.open(postgres_url, "public.empty", Schema.from_domain({"a": 2}))


def test_lost_connection_and_cancelled_query(postgres_url: str, admin: Any, write: Write) -> None:
    write(pa.table({"a": [0, 1]}), "lost")
    schema = Schema.from_domain({"a": 2})
    with opened(postgres_url, "public.lost", schema) as source:
        before = source.fingerprint()
        admin.execute("SELECT pg_terminate_backend(%s)", [source.connection.info.backend_pid])
        with pytest.raises(DataError, match="lost"):
            source.count([Marginal(("a",))])
    with opened(postgres_url, "public.lost", schema) as source:
        assert source.fingerprint() == before  # so that the run can be resumed
        source.connection.execute("SET LOCAL statement_timeout = '1ms'")
        admin.execute("INSERT INTO lost SELECT 0 FROM generate_series(1, 1)")
        with pytest.raises(DataError, match=r"cancelled|lost"):
            source.connection.execute("SELECT 1")
            _count_slowly(source)


def _count_slowly(source: PostgresSource) -> None:
    from dataclasses import replace

    slow = "(SELECT a FROM public.lost, pg_sleep(1)) AS slow"
    replace(source, relation=slow).count([Marginal(("a",))])


def test_secrets_stay_out_of_messages() -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed; make test-engines installs it")
    with pytest.raises(DataError) as caught:
        PostgresSource.open(
            "postgresql://me:hunter2@127.0.0.1:1/x", "t", Schema.from_domain({"a": 2})
        )
    assert "hunter2" not in str(caught.value)


def test_row_security_is_an_error(postgres_url: str, admin: Any, write: Write) -> None:
    write(pa.table({"a": [0, 1]}), "guarded")
    admin.execute(
        "DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN; GRANT SELECT ON guarded TO reader"
    )
    admin.execute(
        "ALTER TABLE guarded ENABLE ROW LEVEL SECURITY; CREATE POLICY few ON guarded USING (a = 0)"
    )
    with pytest.raises(DataError, match="row security"):
        PostgresSource.open(
            postgres_url.replace("dprap@", "reader@"),
            "public.guarded",
            Schema.from_domain({"a": 2}),
        )
    admin.execute("DROP TABLE guarded")


def test_missing_package_is_said() -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from dprap.schema import Schema; from dprap.sources.open import open_source\n"
        "open_source('postgresql://x', Schema.from_domain({'a': 2}), database_table='t')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "dprap[postgres]" in done.stderr
