"""A count source in PostgreSQL: records are encoded and counted by the server, and only counts
leave it.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dprap.address import settings_of
from dprap.counting.cells import CellCounts, merge_sparse
from dprap.counting.sums import all_summed_out
from dprap.counting.unions import plan_unions
from dprap.domain import Domain
from dprap.encoding import check_columns
from dprap.errors import DataError, SchemaError, WorkloadError
from dprap.queries.marginal import Marginal
from dprap.schema import Schema
from dprap.sources.catalog import array, call, cast, literal, operation
from dprap.sources.recoding import Recoding
from dprap.sources.sql import Kind, check_sql, refuse
from dprap.sources.sql_counts import BITS, Packed, bits_of, count_sql

if TYPE_CHECKING:
    import psycopg

_KINDS: dict[str, Kind] = {
    "bool": "boolean",
    "int2": "integer",
    "int4": "integer",
    "int8": "integer",
    "float4": "float",
    "float8": "float",
    "numeric": "decimal",
    "text": "text",
    "varchar": "text",
    "bpchar": "text",
    "name": "text",
    "citext": "text",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamptz",
}

# The first words of the transaction, which hold to its end and no longer: behind a pool of
# connections a session's settings may be lost or another's be found, a transaction's are not. The
# search path comes first: nothing that another role made may be found by its name
# (dprap.sources.catalog names what it uses all the same; pg_temp would come first if it were not
# named). Row security off: an error rather than a table that silently lacks the rows this user may
# not see. The transaction idles while a mechanism works, and its snapshot must outlive that.
# Compiling expressions saved nothing that could be measured at a million records. The planner takes
# a bin for as many groups as its column has values, and would sort where a hash table is small;
# what is to be sorted says so. The memory is for one sort or one hash table.
_TRANSACTION = """\
SET LOCAL search_path = pg_catalog, pg_temp;
SET LOCAL client_encoding = 'UTF8';
SET LOCAL standard_conforming_strings = on;
SET LOCAL TIME ZONE 'UTC';
SET LOCAL row_security = off;
SET LOCAL idle_in_transaction_session_timeout = 0;
SET LOCAL jit = off;
SET LOCAL enable_sort = off;
SET LOCAL work_mem = '128MB'
"""

_FIND = f"""\
SELECT {cast("c.oid", "int8")},
  {call("format", "'%%I.%%I'", "n.nspname", "c.relname")}
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON {operation("n.oid", "=", "c.relnamespace")}
WHERE {operation("c.oid", "=", cast(call("to_regclass", cast("%s", "text")), "oid"))}
  AND {operation("c.relkind", "=", f"ANY ({array(map(literal, 'rpvmf'), 'char')})")}
"""  # noqa: S608 - every part is written here

# A domain counts as the type below it.
_COLUMNS = f"""\
WITH RECURSIVE base AS (
  SELECT a.attnum, a.attname, a.atttypid AS type FROM pg_catalog.pg_attribute AS a
  WHERE {operation("a.attrelid", "=", cast(cast("%s", "int8"), "oid"))} AND {operation("a.attnum", ">", "0")}
    AND NOT a.attisdropped
  UNION ALL
  SELECT base.attnum, base.attname, t.typbasetype FROM base
  JOIN pg_catalog.pg_type AS t ON {operation("t.oid", "=", "base.type")}
  WHERE {operation("t.typtype", "=", "'d'")}
)
SELECT {cast("base.attname", "text")}, {cast("t.typname", "text")}, {cast("t.typtype", "text")} FROM base
JOIN pg_catalog.pg_type AS t ON {operation("t.oid", "=", "base.type")}
WHERE {operation("t.typtype", "<>", "'d'")} ORDER BY base.attnum
"""  # noqa: S608 - every part is written here

_LEAVING_CELLS = 1 << 20
# Marginals leave the server together up to this many cells, and up to a fourth of the number of
# records: counts leave it, not records in the guise of counts.

_LEAST_LEAVING_CELLS = 1 << 16

_WORTH_COUNTING_EQUALS = 2
# Equal records are counted first where each stands so many times on average. Finding equal ones
# takes as long as a marginal, and one that goes over counts takes half as long again for each.


@dataclass(frozen=True)
class PostgresSource:
    """A table or view, seen through one read-only transaction whose snapshot stands for the whole
    run.
    """

    schema: Schema
    relation: str
    kinds: dict[str, Kind]
    rows: int
    hashes: int
    connection: psycopg.Connection[Any]

    @classmethod
    def open(cls, url: str, table: str, schema: Schema) -> PostgresSource:
        """Take a snapshot and let the server check every record against the schema, before anything
        is spent.
        """
        schema.require_reviewed()
        connection = _connect(url)
        try:
            relation, types = _describe(connection, table)
            check_columns([name for name, _, _ in types], schema)
            kinds = {
                name: _kind(name, base, sort)
                for name, base, sort in types
                if name in schema.columns
            }
            rows, hashes = _check(connection, table, check_sql(relation, schema, kinds), schema)
        except BaseException:
            connection.close()
            raise
        return cls(schema, relation, kinds, rows, hashes, connection)

    @property
    def domain(self) -> Domain:
        """The public domain of the codes."""
        return self.schema.domain

    def fingerprint(self) -> str:
        """A digest of the records in any order, by the server's own hash."""
        facts = repr((self.domain.names, self.domain.sizes, self.rows, self.hashes))
        return hashlib.blake2b(facts.encode(), digest_size=16).hexdigest()

    def count(self, marginals: Sequence[Marginal]) -> list[CellCounts]:
        """Exact counts of the marginals, in the snapshot.

        The server encodes each record to one number and counts these by marginals of no more cells
        than may leave it: those asked for, or unions of their columns. The rest is summed out here.
        """
        leaving = min(_LEAVING_CELLS, max(_LEAST_LEAVING_CELLS, self.rows // 4))
        counted: dict[int, CellCounts] = {}
        for numbers in _queries(self.domain, marginals):
            asked = [marginals[number] for number in numbers]
            covers = plan_unions(self.domain, asked, max_cells=leaving)
            for cover, counts in self._count(list(covers)):
                served = [numbers[member] for member in covers[cover]]
                wanted = [marginals[number] for number in served]
                summed = all_summed_out(self.domain, counts, cover, wanted)
                counted.update(zip(served, (counts.compact() for counts in summed), strict=True))
        return [counted[number] for number in range(len(marginals))]

    def recoded(self, recoding: Recoding) -> PostgresSource:
        """The same snapshot, encoded by the server with the coarser schema."""
        return replace(self, schema=recoding.schema)

    def close(self) -> None:
        """End the transaction; the source cannot count any more."""
        self.connection.close()

    def _count(self, marginals: Sequence[Marginal]) -> Iterator[tuple[Marginal, CellCounts]]:
        """One query, whose results are taken one marginal after the other: a marginal is whole when
        its counts add up to the number of records.
        """
        query = count_sql(
            self.relation,
            self.schema,
            self.kinds,
            marginals,
            most_equal=self.rows // _WORTH_COUNTING_EQUALS,
        )
        parts: dict[int, list[tuple[np.ndarray, np.ndarray]]] = defaultdict(list)
        missing = [self.rows] * len(marginals)
        with _errors(), self.connection.cursor() as cursor:
            for number, is_moved, received, counts in cursor.stream(query.encode(), binary=True):
                marginal = marginals[number]
                packed = Packed.of(self.domain, [marginal] if is_moved else marginals)
                cells = packed.cells(marginal, _numbers(received))
                parts[number].append((cells, _numbers(counts).astype(np.int64)))
                missing[number] -= int(parts[number][-1][1].sum())
                if missing[number] == 0:
                    cells, totals = merge_sparse(parts.pop(number))
                    yield marginal, CellCounts(marginal.size(self.domain), totals, cells)


def _queries(domain: Domain, marginals: Sequence[Marginal]) -> Iterator[list[int]]:
    """Positions of marginals that are counted in one query: their columns' codes fit into one
    number.
    """
    for marginal in marginals:
        bits = bits_of(domain, marginal.columns)
        if bits > BITS:
            raise WorkloadError(
                f"marginal {marginal}: its codes take {bits} bits, and PostgreSQL counts by numbers"
                f" of {BITS}. Leave out columns."
            )
    whole_bits = Domain.of({name: 1 << bits_of(domain, [name]) for name in domain.names})
    yield from plan_unions(whole_bits, marginals, max_cells=(2 << BITS) - 1).values()


def _numbers(received: bytes) -> np.ndarray:
    return np.frombuffer(received, dtype=">u8").astype(np.uint64)


def _connect(url: str) -> psycopg.Connection[Any]:
    # raises for what the driver would read otherwise than meant, or lacks the driver for
    settings_of(url)
    import psycopg

    try:
        connection = psycopg.connect(url, application_name="dprap")
    except psycopg.Error as error:  # its message may quote the address with the password
        if "password" in str(error):
            raise DataError(
                "the database refuses the user or the password. Give the password by PGPASSWORD, a"
                " password file or a service; one in the address is not kept for resuming."
            ) from None
        raise DataError(
            "the database cannot be reached. Check the address, the user and the password."
        ) from None
    with _errors():
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        connection.execute(_TRANSACTION)
    return connection


def _describe(
    connection: psycopg.Connection[Any], table: str
) -> tuple[str, list[tuple[str, str, str]]]:
    """The quoted name of a table, and its columns with their base types and sorts of type; names
    are as in SQL.

    The search path does not lead to tables, so a name needs its schema: another role cannot put its
    table before it.
    """
    import psycopg

    unknown = DataError(
        f"table {table}: is not in the database. Name its schema too, as in public.stays, in double"
        " quotes where SQL needs them."
    )
    with _errors():
        try:
            found = connection.execute(_FIND, [table]).fetchone()
        except (
            psycopg.errors.SyntaxError,
            psycopg.errors.InvalidName,
            psycopg.errors.FeatureNotSupported,
        ):
            raise unknown from None
        if found is None:
            raise unknown
        return str(found[1]), connection.execute(_COLUMNS, [found[0]]).fetchall()


def _check(
    connection: psycopg.Connection[Any], table: str, query: str, schema: Schema
) -> tuple[int, int]:
    """The number of records and the sum of their hashes; raises unless the schema's policies place
    every record.
    """
    with _errors():
        rows, hashes, *least_codes = connection.execute(query.encode()).fetchall()[0]
    if rows == 0:
        raise DataError(f"table {table}: has no records. There is nothing to release.")
    refuse(least_codes, schema)
    return int(rows), int(hashes)


def _kind(name: str, base: str, sort: str) -> Kind:
    """What a column holds.

    Only base types go by their name: anybody may make a composite type called int4.
    """
    kind = "enum" if sort == "e" else _KINDS.get(base) if sort == "b" else None
    if kind is None:
        raise SchemaError(
            f"column {name!r}: dprap cannot read the database type {base}. Count a view that"
            " casts it."
        )
    return kind


@contextmanager
def _errors() -> Iterator[None]:
    """Turn the server's errors into ours; its messages may quote values, so only their kind
    passes.
    """
    import psycopg

    resume = "Nothing was charged for this step: start again, or resume the run."
    try:
        yield
    except psycopg.errors.QueryCanceled:
        raise DataError(
            f"the database cancelled a query (a timeout or its administrator). {resume}"
        ) from None
    except psycopg.errors.InsufficientPrivilege:
        raise DataError(
            "the database user may not read the whole table (privileges or row security). Grant"
            " SELECT on it."
        ) from None
    except (
        psycopg.errors.InFailedSqlTransaction,
        psycopg.OperationalError,
        psycopg.InterfaceError,
    ):
        raise DataError(
            f"the connection to the database, and with it its snapshot, was lost. {resume}"
        ) from None
    except psycopg.Error as error:
        raise DataError(
            f"the database refused a query (SQLSTATE {error.sqlstate}). {resume}"
        ) from None
