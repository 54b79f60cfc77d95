"""One query that counts many marginals in PostgreSQL, each on its own.

A record becomes one number, in which every column has bits of its own. A mask leaves those of a
marginal's columns, and equal masked numbers are counted next to each other, by sorting: this costs
a few operations for each record whatever the codes are, and a sort needs memory for one marginal
at a time. Sorting is also safe: the server hashes a number by the exclusive or of its halves, which
is the same for all records of a table whose columns are there twice.

Where records repeat, equal ones are counted first and each marginal goes over these alone. Whether
they do is found out by the query itself, from a sample, so that nothing about it leaves the server.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from dprap.array_types import Int64
from dprap.domain import Domain
from dprap.queries.marginal import Marginal
from dprap.schema import Schema
from dprap.sources.catalog import call, cast, literal, operation
from dprap.sources.sql import Kind, codes_sql

BITS = 64
"""Bits of a number in SQL, its sign among them."""

# One record of so many different ones is looked at to find out how many different ones there are.
_SAMPLED = 64

# A value has at most 1 GB: cells whose numbers differ above this bit stand in rows of their own.
_BITS_IN_A_ROW = 24

# The server hashes larger numbers by the exclusive or of their halves.
_HASHED_BITS = 32


def bits_of(domain: Domain, columns: Sequence[str]) -> int:
    """How many bits the codes of some columns take, next to each other.

    >>> bits_of(Domain.of({"a": 2, "b": 3, "c": 1}), ["a", "b", "c"])
    3
    """
    return sum((domain.size(name) - 1).bit_length() for name in columns)


@dataclass(frozen=True)
class Packed:
    """Codes of columns next to each other in the bits of one number, in the domain's order, the
    last column's lowest.
    """

    domain: Domain
    columns: tuple[str, ...]

    @classmethod
    def of(cls, domain: Domain, marginals: Sequence[Marginal]) -> Packed:
        """All columns of some marginals."""
        used = {name for marginal in marginals for name in marginal.columns}
        return cls(domain, tuple(sorted(used, key=domain.position)))

    def lowest_bit(self, name: str) -> int:
        """Where a column's code begins."""
        return bits_of(self.domain, self.columns[self.columns.index(name) + 1 :])

    def mask(self, name: str) -> int:
        """All bits of a column."""
        return ((1 << bits_of(self.domain, [name])) - 1) << self.lowest_bit(name)

    def number_sql(self) -> str:
        """The number of a record from its codes c0, c1 and so on.

        >>> from dprap.sources.catalog import plain
        >>> plain(Packed(Domain.of({"a": 2, "b": 3}), ("a", "b")).number_sql())
        '(((c0)::int8 << 2) | (c1)::int8)'
        """
        number = cast("0", "int8") if not self.columns else ""
        for position, name in enumerate(self.columns):
            code, bit = cast(f"c{position}", "int8"), self.lowest_bit(name)
            moved = operation(code, "<<", str(bit)) if bit else code
            number = operation(number, "|", moved) if number else moved
        return number

    def moves_to(self, narrow: Packed) -> list[tuple[int, int]]:
        """How a number of this kind becomes one of fewer columns: by how many bits it is shifted to
        the right, and which bits are taken then. Neighbours move together.

        >>> domain = Domain.of({"a": 2, "b": 4, "c": 8, "d": 16})
        >>> Packed(domain, domain.names).moves_to(Packed(domain, ("a", "b", "d")))
        [(3, 112), (0, 15)]
        """
        taken: dict[int, int] = {}
        for name in narrow.columns:
            shift = self.lowest_bit(name) - narrow.lowest_bit(name)
            taken[shift] = taken.get(shift, 0) | narrow.mask(name)
        return list(taken.items())

    def cells(self, marginal: Marginal, numbers: np.ndarray) -> Int64[np.ndarray, " cells"]:
        """The cell numbers of a marginal of these columns, in its own order of columns.

        >>> domain, numbers = Domain.of({"a": 2, "b": 3}), np.array([0b110, 0b001], np.uint64)
        >>> Packed(domain, ("a", "b")).cells(Marginal(("b", "a")), numbers).tolist()
        [5, 2]
        """
        cells = np.zeros(len(numbers), dtype=np.int64)
        for name in marginal.columns:
            codes = (numbers & np.uint64(self.mask(name))) >> np.uint64(self.lowest_bit(name))
            cells = cells * self.domain.size(name) + codes.astype(np.int64)
        return cells


def count_sql(
    table: str,
    schema: Schema,
    kinds: Mapping[str, Kind],
    marginals: Sequence[Marginal],
    *,
    most_equal: int,
) -> str:
    """A query for marginals whose columns have up to 64 bits together.

    Every record is encoded once. A row of the result has the position of a marginal, the packed
    numbers of its cells that are not empty, and their counts; both are bytes, eight for each
    number.

    Args:
        table: The quoted name of the table.
        schema: How columns are encoded.
        kinds: What the columns of the table hold.
        marginals: What is counted.
        most_equal: Up to so many different records, equal ones are counted first.
    """
    every = Packed.of(schema.domain, marginals)
    codes = codes_sql(table, schema, kinds, every.columns)
    pays = "(SELECT pays FROM sampled)"
    is_sampled = operation(operation(call("hashint8", "cell"), "&", str(_SAMPLED - 1)), "=", "0")
    sample = _sorted("cell", f"records WHERE {is_sampled}")
    different = operation(call("count", "*"), "<=", str(most_equal // _SAMPLED))
    # kept for all marginals: PostgreSQL would compute anew what one place of the query reads
    steps = (
        f"records AS MATERIALIZED (SELECT {every.number_sql()} AS cell FROM ({codes}) AS codes)",  # noqa: S608
        f"sampled AS MATERIALIZED (SELECT {different} AS pays FROM ({sample}) AS cells)",  # noqa: S608
        f"equal AS MATERIALIZED ({_sorted('cell', f'records WHERE {pays}')})",
    )
    moves = [every.moves_to(Packed.of(schema.domain, [marginal])) for marginal in marginals]
    longest = max(1, *map(len, moves))
    moved = _any_of(
        operation(operation("cell", ">>", f"shift{move}"), "&", f"taken{move}")
        for move in range(longest)
    )
    named = ", ".join(f"shift{move}, taken{move}" for move in range(longest))
    values = ", ".join(
        _values(number, every, marginal, moves[number], longest)
        for number, marginal in enumerate(marginals)
    )
    widest = max(bits_of(schema.domain, marginal.columns) for marginal in marginals)
    of_equal = f"SELECT {moved} AS cell, records FROM equal"  # noqa: S608
    if widest > _HASHED_BITS:
        of_equal += " ORDER BY 1"
    records = cast(call("sum", "records"), "int8")
    ways = (
        (
            _sorted(operation("cell", "&", "mask"), "records"),
            "cell" if widest <= _BITS_IN_A_ROW else moved,
            f"NOT {pays}",
        ),
        (
            f"SELECT cell, {records} AS records FROM ({of_equal}) AS moved GROUP BY 1",  # noqa: S608
            "cell",
            pays,
        ),
    )
    results = []
    for is_moved, (counted, number, condition) in enumerate(ways):
        listed = ", ".join(
            f"{call('string_agg', call('int8send', name), cast(literal(''), 'bytea'))} AS {name}"
            for name in ("cell", "records")
        )
        part = operation(number, ">>", str(_BITS_IN_A_ROW))
        parts = f" GROUP BY {part}" if widest > _BITS_IN_A_ROW else ""
        # the condition is looked at once, above everything else
        results.append(
            f"SELECT marginal, {is_moved} AS moved, listed.cell, listed.records"  # noqa: S608
            f" FROM (VALUES {values}) AS marginals (marginal, mask, {named}) CROSS JOIN LATERAL"
            f" (SELECT {listed} FROM ({counted}) AS counted{parts}) AS listed WHERE {condition}"
        )
    return f"WITH {', '.join(steps)} {' UNION ALL '.join(results)}"


def _sorted(key: str, records: str) -> str:
    """Equal numbers counted by sorting."""
    ordered = f"SELECT {key} AS cell FROM {records} ORDER BY 1"  # noqa: S608
    counted = f"{call('count', '*')} AS records"
    return f"SELECT cell, {counted} FROM ({ordered}) AS ordered GROUP BY 1"  # noqa: S608


def _any_of(numbers: Iterable[str]) -> str:
    """All bits that one of some numbers has."""
    return reduce(lambda found, number: operation(found, "|", number), numbers)


def _values(
    number: int,
    every: Packed,
    marginal: Marginal,
    moves: Sequence[tuple[int, int]],
    longest: int,
) -> str:
    """What tells a marginal from the others: its position, its mask and its moves, with as many
    that take nothing as others have more.
    """
    mask = sum(every.mask(name) for name in marginal.columns)
    padded = [*moves, *[(0, 0)] * (longest - len(moves))]
    listed = (f"{shift}, {_bits(taken)}" for shift, taken in padded)
    return f"({', '.join([str(number), _bits(mask), *listed])})"


def _bits(number: int) -> str:
    """64 bits as a number with a sign."""
    signed = number - (1 << BITS) if number >> (BITS - 1) else number
    return cast(literal(str(signed)), "int8")
