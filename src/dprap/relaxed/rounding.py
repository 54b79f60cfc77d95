"""Records drawn from relaxed rows, which are product distributions over the columns.

Every record belongs to one relaxed row, its owner, and has codes drawn from the owner's
distributions. Three ways to draw are offered:

* `independent`: all draws are independent, as in the paper.
* `systematic`: every column's counts are as close to their expectation as whole numbers allow.
* `draw_jointly` in `dprap.relaxed.exchange`: systematic, and then joint counts are brought close
  to their expectation too, by exchanging codes between records of one owner.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dprap.array_types import CodeColumn, Float64, Int64
from dprap.encoding import code_dtype
from dprap.errors import SettingsError
from dprap.products import product
from dprap.relaxed.rows import RelaxedDataset

Method = Literal["independent", "systematic"]
Sizes = Int64[np.ndarray, " rows"]


@dataclass(frozen=True)
class Owners:
    """How many records each relaxed row owns. Records stand in the order of their owners."""

    sizes: Sizes

    @property
    def starts(self) -> Sizes:
        """Position of each owner's first record."""
        return np.asarray(np.cumsum(self.sizes) - self.sizes)

    def of_records(self) -> Int64[np.ndarray, " records"]:
        """The owner of every record."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)


def round_rows(
    relaxed: RelaxedDataset,
    seed: int | np.random.Generator,
    *,
    rows: int | None = None,
    oversample: int | None = None,
    method: Method = "systematic",
) -> tuple[CodeColumn, ...]:
    """Draw records from relaxed rows, in random order.

    Args:
        relaxed: The rows to draw from.
        seed: Seed of public randomness, or a generator.
        rows: How many records to draw.
        oversample: How many records to draw for each relaxed row, instead of `rows`.
        method: `independent` or `systematic`, see the module.

    Returns:
        The codes, one array for each column.

    Raises:
        SettingsError: The request makes no sense, for example both `rows` and `oversample`.

    """
    if (rows is None) == (oversample is None):
        raise SettingsError(
            "say either how many rows to draw or how often to draw each relaxed row, not both."
        )
    if method not in ("independent", "systematic"):
        raise SettingsError(f"rounding must be independent or systematic, not {method!r}.")
    count = rows if rows is not None else (oversample or 0) * relaxed.rows
    if count < 1:
        raise SettingsError(f"rounding needs at least one row; {count} were asked for.")
    rng = np.random.default_rng(seed)
    owners = share_out(relaxed, count, rng)
    if method == "systematic":
        columns = systematic_columns(relaxed, owners, rng)
    else:
        columns = independent_columns(relaxed, owners, rng)
    order = rng.permutation(count)
    return tuple(column[order] for column in columns)


def share_out(relaxed: RelaxedDataset, count: int, rng: np.random.Generator) -> Owners:
    """Give relaxed rows records in proportion to their weight, by systematic sampling."""
    cumulative = np.cumsum(np.asarray(relaxed.weights, dtype=np.float64))
    ends = np.floor(cumulative / cumulative[-1] * count + rng.random()).astype(np.int64)
    ends[-1] = count
    return Owners(np.diff(np.minimum(ends, count), prepend=0))


def systematic_columns(
    relaxed: RelaxedDataset, owners: Owners, rng: np.random.Generator
) -> Iterator[CodeColumn]:
    """Codes of each column, in the order of the owners and in random order within an owner."""
    count = int(owners.sizes.sum())
    weights = np.asarray(relaxed.weights, dtype=np.float64)
    for name in relaxed.domain.names:
        block = _distributions(relaxed, name)
        wanted = product(block, weights / weights.sum()) * count
        counts = whole_counts(block, owners.sizes, wanted, rng)
        codes = np.arange(len(block), dtype=code_dtype(len(block)))
        laid_out = np.repeat(np.tile(codes, relaxed.rows), counts.T.ravel())
        yield _shuffled_within(laid_out, owners, rng)


def whole_counts(
    block: Float64[np.ndarray, "codes rows"],
    sizes: Sizes,
    wanted: Float64[np.ndarray, " codes"],
    rng: np.random.Generator,
) -> Int64[np.ndarray, "codes rows"]:
    """Whole numbers of records by code and owner, near `block * sizes`.

    Each owner gets exactly its number of records, each of its counts is less than one away from
    its expectation before the correction, and each code's total is `wanted` rounded to a whole
    number. Rounding owner by owner leaves totals off by about the square root of the number of
    owners, so a few records are moved from codes with too many records to codes with too few, in
    the owners where both counts then come closer to their expectation.

    Args:
        block: Distribution of the codes in each relaxed row.
        sizes: Number of records of each owner.
        wanted: Number of records with each code; adds up to all records.
        rng: Public randomness.

    Returns:
        The numbers of records, codes by owners.

    """
    expected = block * sizes
    ends = np.floor(np.cumsum(expected, axis=0) + rng.random(len(sizes)))
    ends[-1] = sizes
    counts: Int64[np.ndarray, "codes rows"] = np.diff(
        np.minimum(ends, sizes), axis=0, prepend=0
    ).astype(np.int64)
    surplus = counts.sum(axis=1) - _whole_total(wanted)
    too_many = np.repeat(np.arange(len(surplus)), np.maximum(surplus, 0))
    too_few = np.repeat(np.arange(len(surplus)), np.maximum(-surplus, 0))
    rng.shuffle(too_few)
    excess = counts - expected
    for giver, taker in zip(too_many, too_few, strict=True):
        gain = np.minimum(excess[giver], -excess[taker])
        gain[(counts[giver] == 0) | (block[taker] <= 0)] = -np.inf
        owner = int(np.argmax(gain))
        if gain[owner] == -np.inf:
            continue  # no relaxed row knows both codes: the total stays one off
        counts[giver, owner] -= 1
        counts[taker, owner] += 1
        excess[giver, owner] -= 1
        excess[taker, owner] += 1
    return counts


def _whole_total(wanted: Float64[np.ndarray, " codes"]) -> Int64[np.ndarray, " codes"]:
    """Round to whole numbers with the same sum: the largest remainders are rounded up."""
    whole = np.floor(wanted)
    up = round(float(wanted.sum())) - int(whole.sum())
    whole[np.argsort(whole - wanted, kind="stable")[:up]] += 1
    total: Int64[np.ndarray, " codes"] = whole.astype(np.int64)
    return total


def _shuffled_within(column: CodeColumn, owners: Owners, rng: np.random.Generator) -> CodeColumn:
    """The column with the records of each owner in random order; owners of one size at once."""
    starts = owners.starts
    result: CodeColumn = column.copy()
    for size in np.unique(owners.sizes):
        if size < 2:
            continue
        places = starts[owners.sizes == size][:, None] + np.arange(size)
        result[places] = rng.permuted(column[places], axis=1)
    return result


def independent_columns(
    relaxed: RelaxedDataset, owners: Owners, rng: np.random.Generator
) -> Iterator[CodeColumn]:
    """Independent draws: one search in all cumulative distributions, laid end to end."""
    of_records = owners.of_records()
    for name in relaxed.domain.names:
        block = _distributions(relaxed, name)
        codes = len(block)
        laid_out = (np.cumsum(block, axis=0) + np.arange(relaxed.rows)).T.reshape(-1)
        points = of_records + rng.random(len(of_records))
        found = np.searchsorted(laid_out, points, side="right") - of_records * codes
        yield np.clip(found, 0, codes - 1).astype(code_dtype(codes))


def _distributions(relaxed: RelaxedDataset, name: str) -> Float64[np.ndarray, "codes rows"]:
    """The column's distribution in each relaxed row; columns of the result sum to one."""
    block = np.asarray(relaxed.block(name), dtype=np.float64)
    return np.asarray(block / block.sum(axis=0))
