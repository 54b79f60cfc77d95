"""The SQL that encodes: what can be said about it without a server.

The counts themselves are tested in tests/engines.
"""

import re

import pytest
from tests.sources.tables import KINDS, ODD_NAMES

from dprap.errors import DataError, SchemaError
from dprap.queries import Marginal
from dprap.schema import Schema
from dprap.sources import postgres
from dprap.sources.catalog import identifier, literal, plain
from dprap.sources.sql import Kind, check_sql, code_sql, lookup, refuse
from dprap.sources.sql_counts import count_sql


def column(settings: dict) -> tuple[Schema, object]:
    schema = Schema.of({"columns": {"x": settings}})
    return schema, schema.columns["x"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_names_are_always_quoted(name: str) -> None:
    schema = Schema.from_domain({name: 3, "other": 2})
    marginal = Marginal((name, "other"))
    kinds: dict[str, Kind] = {name: "integer", "other": "integer"}
    query = count_sql('"t"', schema, kinds, [marginal], most_equal=9)
    quoted = identifier(name)
    assert quoted.startswith('"')
    assert '"' not in quoted[1:-1].replace('""', "")
    assert name not in query.replace(quoted, "").replace('"other"', "") or name in (
        "select",
        "GROUP",
    )


def test_a_quote_in_a_name_is_doubled() -> None:
    assert identifier('a" FROM b; --') == '"a"" FROM b; --"'


def test_texts_are_quoted() -> None:
    assert literal("it's") == "'it''s'"
    short = {"it's; DROP TABLE t; --": 0, "nul\x00": 1, "\ud800": 2}
    for codes in (short, short | {f"it's {code}": code for code in range(3, 100)}):
        found = lookup("v", codes)
        outside_quotes = re.sub(r"'(?:[^']|'')*'", "", found)
        assert plain(outside_quotes) in (
            '(CASE WHEN (((v) COLLATE "C") = ) THEN 0 END)',
            "((()::jsonb ->> v))::int4",
        )
        assert "\x00" not in found
        assert "\ud800" not in found


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({"type": "integer", "min": 0, "max": 9}, "text"),
        ({"type": "integer", "min": 0, "max": 9}, "date"),
        ({"type": "number", "min": 0, "max": 9, "bins": 2}, "boolean"),
        ({"type": "categorical", "values": ["a"]}, "integer"),
        ({"type": "categorical", "values": [1]}, "text"),
        ({"type": "boolean"}, "integer"),
        ({"type": "date", "min": "2024-01-01", "max": "2024-02-01"}, "timestamptz"),
        (
            {"type": "datetime", "min": "2024-01-01T00:00:00", "max": "2024-02-01T00:00:00"},
            "timestamptz",
        ),
        (
            {
                "type": "datetime",
                "min": "2024-01-01T00:00:00",
                "max": "2024-02-01T00:00:00",
                "timezone": "UTC",
            },
            "timestamp",
        ),
    ],
)
def test_types_that_do_not_fit(settings: dict, kind: Kind) -> None:
    _, declared = column(settings)
    with pytest.raises(SchemaError, match="'x'"):
        code_sql("x", declared, kind)


def test_refusals_are_for_the_first_column_in_order() -> None:
    schema = Schema.from_domain({"a": 2, "b": 2})
    refuse([0, 0], schema)
    with pytest.raises(DataError, match=r"'a'.*missing"):
        refuse([-3, -1], schema)
    with pytest.raises(DataError, match=r"'b'.*outside"):
        refuse([0, -1], schema)
    with pytest.raises(DataError, match=r"'b'.*whole"):
        refuse([0, -2], schema)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"min": 3, "max": 9}, "((\"x\")::int8 - ('3')::int8)"),
        ({"min": 0, "max": 9, "width": 5}, "(((\"x\")::int8 - ('0')::int8) / 5)"),
        ({"edges": [0, 5, 10, 30]}, "LEAST((((\"x\")::int8 - ('0')::int8) / 5), 2)"),
    ],
)
def test_bins_are_found_by_no_more_than_their_bounds_ask_for(settings: dict, expected: str) -> None:
    """Only values outside the bounds have to be moved to a bin, and only the last bin may be
    longer.
    """
    _, declared = column({"type": "integer", **settings})
    assert plain(code_sql("x", declared, "integer")).endswith(f"ELSE {expected} END")
    _, clipped = column({"type": "integer", **settings, "out_of_domain": "clip"})
    assert "GREATEST" in plain(code_sql("x", clipped, "integer"))


def test_total_columns_never_refuse() -> None:
    """Where a policy covers everything, no negative code stands in the expression."""
    kinds = {
        "string": "text",
        "int64": "integer",
        "double": "float",
        "date32[day]": "date",
        "bool": "boolean",
    }
    for each in KINDS:
        schema, declared = column(each.settings)
        kind = kinds.get(str(each.arrow))
        if kind is not None and schema.is_total:
            assert not re.search(r"THEN -[123]\b|, -[123]\)", code_sql("x", declared, kind))


def test_check_covers_every_column() -> None:
    schema = Schema.from_domain({"a": 2, "b": 2})
    query = check_sql('"t"', schema, {"a": "integer", "b": "integer"})
    assert "min(c0), min(c1)" in plain(query)


_GRAMMAR = {
    "SELECT", "FROM", "WITH", "AS", "UNION", "ALL", "GROUP", "BY", "CASE", "WHEN", "THEN", "ELSE", "END", "IS", "NULL",
    "OR", "AND", "NOT", "LEAST", "GREATEST", "COALESCE", "ARRAY", "OPERATOR", "COLLATE", "MATERIALIZED", "WHERE",
    "ORDER", "VALUES", "CROSS", "JOIN", "LATERAL",
}  # fmt: skip


def test_nothing_is_looked_up_along_a_search_path() -> None:
    """Functions, operators, types and collations stand with their schema; what else is there is
    grammar or our own.
    """
    kinds: dict[str, list[Kind]] = {
        "string": ["text", "enum"], "int64": ["integer", "decimal", "float"], "double": ["float", "decimal", "integer"],
        "date32[day]": ["date", "timestamp"], "bool": ["boolean"],
    }  # fmt: skip
    checked = 0
    for each in KINDS:
        schema, _ = column(each.settings)
        for kind in kinds.get(str(each.arrow), []):
            try:
                queries = [check_sql('"s"."t"', schema, {"x": kind})]
            except SchemaError:
                continue
            one, none = Marginal(("x",)), Marginal(())
            queries.append(count_sql('"s"."t"', schema, {"x": kind}, [one, none], most_equal=9))
            for query in queries:
                checked += 1
                rest = re.sub(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"", "''", query)
                rest = re.sub(
                    r"OPERATOR\(pg_catalog\.[-+*/%<>=&|]+\)|::pg_catalog\.\w+(\[\])?|pg_catalog\.\w+\(",
                    " ( ",
                    rest,
                )
                rest = (
                    rest.replace("COLLATE pg_catalog.''", "").replace("(*)", "").replace("( *)", "")
                )
                rest = re.sub(r"\b\d[\d.]*e-?\d+\b", "", rest)  # numbers
                words = set(re.findall(r"[A-Za-z_]\w*", rest)) - _GRAMMAR
                own = {
                    word
                    for word in words
                    if re.fullmatch(
                        r"(c|shift|taken)\d+|cells?|records|codes|marginals?|mask(ed)?|moved|ordered|equal"
                        r"|sampled|pays|counted|listed",
                        word,
                    )
                }
                assert words == own, query
                assert not re.search(r"::|[*/%<>=+&|]", rest), query
    assert checked > 20


class _Connection:
    """Takes what is said to it, in place of a server."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.isolation_level, self.read_only = None, False

    def execute(self, query: str) -> None:
        self.said.append(query)


def test_every_connection_begins_with_a_pinned_read_only_transaction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    psycopg = pytest.importorskip("psycopg")
    connection = _Connection()
    monkeypatch.setattr(psycopg, "connect", lambda *_, **__: connection)
    postgres._connect("postgresql://ann@db/clinic")
    assert connection.isolation_level is psycopg.IsolationLevel.REPEATABLE_READ
    assert connection.read_only is True
    (said,) = connection.said
    settings = [line.strip() for line in said.split(";")]
    assert settings[0] == "SET LOCAL search_path = pg_catalog, pg_temp"
    assert {"SET LOCAL row_security = off", "SET LOCAL standard_conforming_strings = on"} <= {
        *settings
    }
    assert all(line.startswith("SET LOCAL ") for line in settings)


def test_base_types_alone_go_by_their_name() -> None:
    assert postgres._kind("x", "int4", "b") == "integer"
    assert postgres._kind("x", "mood", "e") == "enum"
    for sort in "cdmpr":  # composite types, domains, multiranges, pseudo-types and ranges
        with pytest.raises(SchemaError, match="cannot read the database type int4"):
            postgres._kind("x", "int4", sort)
