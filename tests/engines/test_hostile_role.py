"""A role that may create objects on the steward's search path runs no code and changes no count."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from dprap.errors import DataError, SchemaError
from dprap.queries import Marginal
from dprap.schema import Schema
from dprap.sources.catalog import plain
from dprap.sources.postgres import PostgresSource
from dprap.sources.sql import check_sql
from dprap.sources.sql_counts import count_sql

SCHEMA = Schema.of(
    {
        "columns": {
            "age": {"type": "integer", "min": 0, "max": 9},
            "pay": {"type": "number", "edges": [0, 1, 2.5, 4]},
            "city": {"type": "categorical", "values": ["Oslo", "Rome"]},
            "mood": {"type": "categorical", "values": ["glad", "sad"]},
            "code": {"type": "categorical", "values": [f"C{i}" for i in range(50)]},
        }
    }
)
KINDS: dict[str, Any] = {
    "age": "integer",
    "pay": "decimal",
    "city": "text",
    "mood": "enum",
    "code": "text",
}

# name, arguments and result of functions that fit a call better than PostgreSQL's own, or stand
# before it on the path
FUNCTIONS = [
    ("hashtextextended", "text, int4", "int8"),
    ("concat_ws", "text, int4, int4, int4, int4, int4", "text"),
    ("to_regclass", "text", "regclass"),
    ("format", "text, name, name", "text"),
    ("int8send", "int8", "bytea"),
    ("hashint8", "int8", "int4"),
    ("width_bucket", "float8, float8[]", "int4"),
    ("array_position", "text[], text", "int4"),
    ("abs", "numeric", "numeric"),
    ("sign", "numeric", "numeric"),
    ("trunc", "numeric", "numeric"),
    ("enum_out", "anyenum", "text"),
    ("textin", "text", "text"),
]
AGGREGATES = [("min", "int4"), ("sum", "int8")]
OPERATORS = [
    ("*", "int8", "int4", "int8"),
    ("+", "int8", "int4", "int8"),
    ("/", "int8", "int4", "int8"),
    ("/", "int8", "int8", "int8"),
    ("%", "int8", "int8", "int8"),
    ("&", "int8", "int8", "int8"),
    ("|", "int8", "int8", "int8"),
    ("<<", "int8", "int4", "int8"),
    (">>", "int8", "int4", "int8"),
    ("&", "int4", "int4", "int4"),
    ("<=", "int8", "int4", "bool"),
    ("-", "int8", "int8", "int8"),
    ("=", "text", "text", "bool"),
    ("=", "float8", "float8", "bool"),
    ("<>", "numeric", "numeric", "bool"),
    ("<>", "numeric", "int4", "bool"),
    ("<", "int8", "int8", "bool"),
    (">", "int8", "int8", "bool"),
    ("=", "oid", "oid", "bool"),
    ("->>", "jsonb", "text", "text"),
]


@pytest.fixture
def trapped(postgres_url: str) -> Iterator[tuple[str, Any]]:
    """The steward's address in a database where mallory's schema comes first, and an
    administrator's connection.
    """
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute("DROP DATABASE IF EXISTS trapped")
        server.execute("CREATE DATABASE trapped")
        for role in ("mallory", "steward"):
            if not server.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone():
                server.execute(f"CREATE ROLE {role} LOGIN".encode())
    address = postgres_url.removesuffix("/postgres") + "/trapped"
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute("""
            CREATE SCHEMA evil AUTHORIZATION mallory; GRANT USAGE ON SCHEMA evil TO PUBLIC;
            CREATE SCHEMA clinic; GRANT USAGE ON SCHEMA clinic TO PUBLIC;
            ALTER DATABASE trapped SET search_path = evil, pg_catalog, clinic, public;
            """)
    with psycopg.connect(address.replace("dprap@", "mallory@"), autocommit=True) as mallory:
        mallory.execute(_traps())
    with psycopg.connect(address, autocommit=True) as admin:
        admin.execute("""
            SET search_path = pg_catalog;
            CREATE TABLE clinic.stays (age int4, pay numeric, city text, mood evil.mood, code text);
            INSERT INTO clinic.stays
              SELECT i % 10, (i % 4) + 0.5 * (i % 2), CASE WHEN i % 3 = 0 THEN 'Oslo' ELSE 'Rome' END,
                (CASE WHEN i % 5 = 0 THEN 'sad' ELSE 'glad' END)::evil.mood, 'C' || (i % 50)
              FROM generate_series(0, 999) AS i WHERE i % 4 < 3;
            GRANT SELECT ON clinic.stays TO steward;
            """)
        yield address.replace("dprap@", "steward@"), admin
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute("DROP DATABASE trapped WITH (FORCE)")


def _traps() -> bytes:
    parts = ["SET search_path = pg_catalog; CREATE TYPE evil.mood AS ENUM ('glad', 'sad');"]
    body = "LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'mallory ran as %', current_user; END $$;"
    for name, arguments, result in FUNCTIONS:
        parts.append(f"CREATE FUNCTION evil.{name}({arguments}) RETURNS {result} {body}")
    for number, (name, left, right, result) in enumerate(OPERATORS):
        parts.append(f"CREATE FUNCTION evil.trap{number}({left}, {right}) RETURNS {result} {body}")
        parts.append(
            f"CREATE OPERATOR evil.{name} (FUNCTION = evil.trap{number}, LEFTARG = {left}, RIGHTARG"
            f" = {right});"
        )
    for name, kind in AGGREGATES:
        parts.append(f"CREATE FUNCTION evil.step_{name}({kind}, {kind}) RETURNS {kind} {body}")
        parts.append(
            f"CREATE AGGREGATE evil.{name}({kind}) (SFUNC = evil.step_{name}, STYPE = {kind},"
            " INITCOND = '0');"
        )
    parts.append(f"CREATE FUNCTION evil.told(evil.mood) RETURNS text {body}")
    parts.append("CREATE CAST (evil.mood AS text) WITH FUNCTION evil.told(evil.mood) AS IMPLICIT;")
    # what has the name of a type, a system table or the steward's table
    parts.append("CREATE DOMAIN evil.text AS pg_catalog.text CHECK (length(VALUE) < 2);")
    parts.append("CREATE DOMAIN evil.float8 AS pg_catalog.float8 CHECK (VALUE < 0);")
    parts.append(
        'CREATE TABLE evil.pg_class (oid oid, relname name, relnamespace oid, relkind "char");'
    )
    parts.append(
        "CREATE TABLE evil.stays (age int4, pay numeric, city text, mood evil.mood, code text);"
    )
    parts.append(
        "INSERT INTO evil.stays SELECT 7, 1, 'Rome', 'sad', 'C7' FROM generate_series(1, 10);"
    )
    parts.append("GRANT SELECT ON ALL TABLES IN SCHEMA evil TO PUBLIC;")
    return "\n".join(parts).encode()


def test_nothing_of_a_hostile_role_runs(trapped: tuple[str, Any]) -> None:
    address, _ = trapped
    marginals = [Marginal((name,)) for name in SCHEMA.columns] + [
        Marginal(("mood", "age")),
        Marginal(()),
    ]
    with closing(PostgresSource.open(address, "clinic.stays", SCHEMA)) as source:
        assert source.rows == 750
        counts = [found.dense().tolist() for found in source.count(marginals)]
        path = source.connection.execute("SELECT pg_catalog.current_schemas(true)").fetchone()
    assert path == (["pg_catalog"],)
    assert counts[0] == [100, 50] * 5
    assert counts[3] == [600, 150]
    assert counts[2] == [250, 500]
    assert all(sum(each) == 750 for each in counts)


def test_the_traps_are_real(trapped: tuple[str, Any]) -> None:
    """The same queries without the names of schemas, on the path that the database sets, run the
    hostile code.
    """
    import psycopg

    address, _ = trapped
    one = Marginal(("age", "mood"))
    queries = [
        check_sql("clinic.stays", SCHEMA, KINDS),
        count_sql("clinic.stays", SCHEMA, KINDS, [one, Marginal(("mood",))], most_equal=9),
        "SELECT mood::text FROM clinic.stays",
    ]
    with psycopg.connect(address, autocommit=True) as connection:
        for query in queries:
            with pytest.raises(psycopg.Error, match=r"mallory ran as steward|check constraint"):
                connection.execute(plain(query).encode())
        with pytest.raises(psycopg.errors.RaiseException, match="mallory ran as steward"):
            connection.execute("SELECT hashtextextended('a', 0)")


def test_a_table_of_the_same_name_is_not_taken(trapped: tuple[str, Any]) -> None:
    address, _ = trapped
    with pytest.raises(DataError, match="Name its schema"):
        PostgresSource.open(address, "stays", SCHEMA)


def test_a_composite_type_with_the_name_of_a_base_type_is_refused(trapped: tuple[str, Any]) -> None:
    address, admin = trapped
    admin.execute(
        "CREATE TYPE clinic.int4 AS (a pg_catalog.int4); CREATE TABLE clinic.odd (a clinic.int4);"
        " GRANT SELECT ON clinic.odd TO steward"
    )
    with pytest.raises(SchemaError, match="'a'"):
        PostgresSource.open(address, "clinic.odd", Schema.from_domain({"a": 2}))
