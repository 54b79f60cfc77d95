"""Words of PostgreSQL, each named with its schema.

Every function, operator, type and collation that dprap uses is named with the schema `pg_catalog`,
and every table with its own. A name without a schema is looked up along the session's search path,
where another role may have put its own object of that name: its code would run with the rights of
the person who counts, and could change the counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable


def call(function: str, *arguments: str) -> str:
    """A call of one of PostgreSQL's own functions."""
    return f"pg_catalog.{function}({', '.join(arguments)})"


def operation(left: str, operator: str, right: str) -> str:
    """One of PostgreSQL's own operators between two expressions, in parentheses."""
    return f"({left} OPERATOR(pg_catalog.{operator}) {right})"


def cast(value: str, type_name: str) -> str:
    """A cast to one of PostgreSQL's own types."""
    return f"({value})::pg_catalog.{type_name}"


def plain(query: str) -> str:
    """The same query without the names of schemas: for people and tests, never for a server.

    >>> plain(operation(cast("cell", "int8"), "/", "7"))
    '((cell)::int8 / 7)'
    """
    return re.sub(r"OPERATOR\(pg_catalog\.(\S+?)\)", r"\1", query).replace("pg_catalog.", "")


def identifier(name: str) -> str:
    """A quoted name.

    >>> identifier('say "a" twice')
    '"say ""a"" twice"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A quoted text, under standard_conforming_strings."""
    return "'" + text.replace("'", "''") + "'"


def array(values: Iterable[str], type_name: str) -> str:
    """An array of expressions."""
    return f"ARRAY[{', '.join(values)}]::pg_catalog.{type_name}[]"
