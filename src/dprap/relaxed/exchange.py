"""Joint rounding: records whose joint counts, not only column counts, are near what rows say.

Drawing each column by itself leaves the counts of two and more columns with sampling noise. Here
two records exchange their codes in one column where that brings the counts of the given marginals
closer to their expectation:

    minimise Σ over marginals and cells of (count − records · fitted share)².

An exchange never changes a column's counts. Records of one owner (relaxed row) have the same
distribution, so an exchange between them leaves the distribution of every record as it is. Where
owners have few records, exchanges between owners are accepted with the ratio of likelihoods
(Metropolis' rule), which keeps codes with the rows that make them likely. Where pairs of columns
are all that is known, records are mixed first (`mixing`). Then they have no owner, and any two of
them may exchange codes.

Everything here is post-processing of public rows by public randomness.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from dprap.array_types import Bool, CodeColumn, Float32, Int64
from dprap.domain import Domain
from dprap.relaxed.cell_residuals import CellResiduals, Looks, PairCodes
from dprap.relaxed.fit import StepCallback, unwatched
from dprap.relaxed.mixing import MixingSettings, PairModel
from dprap.relaxed.rounding import Owners, share_out, systematic_columns
from dprap.relaxed.rows import RelaxedDataset

Records = list[CodeColumn]
Broken = Callable[[Sequence[CodeColumn]], Bool[np.ndarray, " records"]]
"""Tells which records break a constraint."""
OwnerOf = Int64[np.ndarray, " records"]
Amend = Callable[[Records, OwnerOf, np.random.Generator], tuple[Records, OwnerOf]]
"""Takes records and their owners and returns as many records that break no constraint."""


@dataclass(frozen=True)
class ExchangeSettings:
    """How much work joint rounding does, with the reasons.

    Args:
        sample: Share of the records that one pass over a column looks at.
        parts: Exchanges that gain by themselves are made in so many parts, and each part is
            looked at again before it is made: exchanges that meet in a cell would overshoot.
        passes: Passes over all columns, for up to `usual_looks`.
        calm: In this last share of the passes ever fewer of the gaining exchanges are made. In
            tables of few cells even parts overshoot, and what overshoots last is not mended any
            more.
        least_passes: Passes over all columns for very large workloads. The first passes gain
            most.
        usual_looks: A pass looks at each marginal once for each of its columns. Where that is
            more often than this (36 pairs of columns), there are fewer passes, so that
            the cost does not grow with the workload.
        most_looks: Beyond this (2,048 marginals of three columns) only some marginals are matched,
            the last ones that are given, so that a table of very many columns is drawn in time.
        block_records: Pairs are drawn within blocks of about this many records. Owners with far
            fewer are taken together, so that nearly every record finds a partner; owners with
            more are cut, so that a sample of the blocks is a sample of the records.
        exchange_records: Exchanges are made between the last records alone, this many of them.
            They mend what the others left, so that counts of the whole table are near their
            expectation at a cost that does not grow with the table.
        chunk_records: Records before these are drawn in chunks of this size, so that memory is
            bounded.
        cells_per_record: Marginals are matched while they have at most this many cells for each
            record of a chunk. Beyond that cells hold far less than one record each, and matching
            them costs time and memory without a gain that anybody can see.

    """

    sample: float = 1 / 8
    parts: int = 8
    passes: int = 192
    calm: float = 1 / 4
    least_passes: int = 12
    usual_looks: int = 72
    most_looks: int = 6144
    block_records: int = 32
    exchange_records: int = 1 << 17
    chunk_records: int = 1 << 19
    cells_per_record: int = 512


DEFAULT = ExchangeSettings()

# Fewer exchanges hardly meet, and to look at them again would take most of the time.
_LEAST_PART = 2
# Marginals that are looked through before somebody is told: a second.
_BETWEEN_LOOKS = 1 << 16


def draw_jointly(
    relaxed: RelaxedDataset,
    marginals: Sequence[tuple[str, ...]],
    rows: int,
    seed: int,
    *,
    amend: Amend | None = None,
    broken: Broken | None = None,
    mix: MixingSettings | None = None,
    settings: ExchangeSettings = DEFAULT,
    watch: StepCallback = unwatched,
) -> Iterator[Records]:
    """Draw records chunk by chunk so that counts of the marginals are near their expectation.

    Args:
        relaxed: The rows to draw from.
        marginals: The sets of columns whose counts matter; where they are too many, the last most.
        rows: Number of records in all.
        seed: Seed of public randomness.
        amend: Replaces records that break a constraint; applied before exchanges.
        broken: Tells which records break a constraint; exchanges that would are not made.
        mix: How records are mixed that shall say no more than pairs of columns do; they are where
            that takes little time and all of them make exchanges.
        settings: How much work to do.
        watch: Is told how many chunks and passes are done, of how many.

    Yields:
        Chunks of records in random order, one array of codes for each column.

    """
    rng = np.random.default_rng(seed)
    sizes = _chunk_sizes(rows, settings)
    # In double precision, so that a table hardly depends on the order in which a machine adds up.
    precise = replace(relaxed, probabilities=relaxed.probabilities.astype(np.float64))
    matched = _matched(relaxed.domain, marginals, sizes[-1], settings, lambda: watch(0, 1))
    excess, passes = CellResiduals(precise, matched), _passes(matched, settings)
    model = None
    # Mixing is off by a share of the records, which exchanges take away where they reach them all.
    if mix is not None and len(sizes) == 1 and mix.worth(relaxed, rows):
        model = PairModel.of(
            relaxed, rows, rng, settings=mix, watch=lambda *_: watch(0, len(sizes) + passes)
        )
    for number, count in enumerate(sizes, start=1):
        owners = share_out(relaxed, count, rng)
        records = list(systematic_columns(relaxed, owners, rng))
        watch(number - 1, len(sizes) + passes)
        owner_of = owners.of_records()
        if model is not None:
            records = model.mix(records, rng)
        if amend is not None:
            records, owner_of = amend(records, owner_of, rng)
        if model is not None:
            owners = _without_owners(count, settings.block_records)
        elif amend is not None:
            records, owners = _by_owner(records, owner_of, relaxed.rows)
        excess.add(records, count)
        watch(number - 1, len(sizes) + passes)
        if number == len(sizes):
            exchange = _Exchange(relaxed, records, owners, excess, broken, model, settings, rng)
            for made in range(passes):
                exchange.run(made, passes)
                watch(len(sizes) + made, len(sizes) + passes)
        else:
            watch(number, len(sizes) + passes)
        order = rng.permutation(count)
        yield [column[order] for column in records]


def _by_owner(records: Records, owner_of: OwnerOf, rows: int) -> tuple[Records, Owners]:
    """The records in the order of their owners."""
    order = np.argsort(owner_of, kind="stable")
    return [column[order] for column in records], Owners(np.bincount(owner_of, minlength=rows))


def _without_owners(count: int, block_records: int) -> Owners:
    """Blocks of records that are alike, as if each had an owner."""
    blocks = max(1, count // block_records)
    ends = np.arange(blocks + 1) * count // blocks
    return Owners(np.diff(ends))


def _chunk_sizes(rows: int, settings: ExchangeSettings) -> list[int]:
    """Sizes of the chunks: equal ones but for one record, and the last, which makes exchanges."""
    last = min(rows, settings.exchange_records)
    chunks = math.ceil((rows - last) / settings.chunk_records)
    ends = [number * (rows - last) // chunks for number in range(1, chunks + 1)]
    return [end - start for start, end in pairwise([0, *ends])] + [last]


def _matched(
    domain: Domain,
    marginals: Sequence[tuple[str, ...]],
    count: int,
    settings: ExchangeSettings,
    told: Callable[[], None],
) -> list[tuple[str, ...]]:
    """The marginals that exchanges look at: none that is part of another, and none too large."""
    room = max(settings.cells_per_record * count, 1 << 16)
    kept: list[frozenset[str]] = []
    with_column: dict[str, set[int]] = {name: set() for name in domain}
    sets = {frozenset(each) for each in marginals}
    told()
    in_order = sorted(sets, key=lambda each: (-len(each), sorted(each)))
    for place, columns in enumerate(in_order):
        if place % _BETWEEN_LOOKS == 0:
            told()
        size = domain.size_of(tuple(columns))
        if (
            len(columns) > 1
            and size <= room
            and not set.intersection(*(with_column[name] for name in columns))
        ):
            for name in columns:
                with_column[name].add(len(kept))
            kept.append(columns)
            room -= size
    told()
    if sum(map(len, kept)) > settings.most_looks:
        last = {frozenset(columns): place for place, columns in enumerate(marginals)}
        kept.sort(key=lambda columns: -last[columns])
        looks = accumulate(map(len, kept))
        kept = [
            columns
            for columns, so_far in zip(kept, looks, strict=True)
            if so_far <= settings.most_looks
        ]
    return [tuple(sorted(columns, key=domain.position)) for columns in kept]


def _passes(matched: Sequence[tuple[str, ...]], settings: ExchangeSettings) -> int:
    """How many passes over all columns are made: none where nothing is matched."""
    looks = sum(map(len, matched))
    fewer = settings.passes * settings.usual_looks // max(1, looks)
    return min(settings.passes, max(settings.least_passes, fewer)) if looks else 0


def _block_starts(owners: Owners, block_records: int) -> tuple[Int64[np.ndarray, " blocks"], bool]:
    """First record of each block, and whether blocks have records of several owners."""
    count = int(owners.sizes.sum())
    merged = max(1, len(owners.sizes) * block_records // (2 * count))
    starts = owners.starts[::merged]
    cuts = np.maximum(1, np.diff(starts, append=count) // block_records)
    part = np.arange(int(cuts.sum())) - np.repeat(np.cumsum(cuts) - cuts, cuts)
    width = np.repeat(np.diff(starts, append=count) / cuts, cuts)
    return np.repeat(starts, cuts) + (part * width).astype(np.int64), merged > 1


class _Exchange:
    """Exchanges of codes between records that are held in the order of their owners."""

    def __init__(
        self,
        relaxed: RelaxedDataset,
        records: Records,
        owners: Owners,
        excess: CellResiduals,
        broken: Broken | None,
        model: PairModel | None,
        settings: ExchangeSettings,
        rng: np.random.Generator,
    ) -> None:
        self._relaxed, self._records, self._broken = relaxed, records, broken
        self._model = model
        self._settings, self._rng = settings, rng
        starts, merged = _block_starts(owners, settings.block_records)
        self._starts, self._sizes = starts, np.diff(starts, append=len(records[0]))
        self._owner_of = owners.of_records() if merged else None
        self._excess = excess.of_cells
        # for each column the others that its marginals have too, and these marginals
        self._looks: dict[int, tuple[list[int], list[Looks]]] = {}
        for position, looks in excess.looks().items():
            needed = sorted({position, *(int(each) for look in looks for each in look.others.flat)})
            self._looks[position] = needed, [look.among(needed) for look in looks]

    def run(self, number: int, passes: int) -> None:
        """Make the pass of this number, from 0 on, of so many."""
        accept = min(1.0, (passes - number) / (self._settings.calm * passes))
        for position in self._rng.permutation(sorted(self._looks)):
            self._pass(int(position), accept)

    def _pass(self, position: int, accept: float) -> None:
        """Exchange codes of one column between sampled pairs of records, a part after the other."""
        column = self._records[position]
        one, other = self._pairs()
        differ = column[one] != column[other]
        one, other = one[differ], other[differ]
        chance = accept * self._likelihood_ratio(position, one, other)
        taken = self._rng.random(len(one)) < chance
        one, other = one[taken], other[taken]
        needed, looks = self._looks[position]
        codes = np.empty((len(needed), 2, len(one)), np.int64)
        for place, each in enumerate(needed):
            codes[place, 0], codes[place, 1] = self._records[each][one], self._records[each][other]
        gaining = np.flatnonzero(self._gains(looks, codes))
        if gaining.size:
            gaining = gaining[self._allowed(position, one[gaining], other[gaining])]
        if not gaining.size:
            return
        parts = min(self._settings.parts, math.ceil(gaining.size / _LEAST_PART))
        for number, part in enumerate(np.array_split(gaining, parts)):
            # what the first part gains is known already
            made = part[self._gains(looks, codes[:, :, part])] if number else part
            self._make(looks, codes[:, :, made])
            of_one, of_other = one[made], other[made]
            column[of_one], column[of_other] = column[of_other], column[of_one]

    def _gains(self, looks: Sequence[Looks], codes: PairCodes) -> Bool[np.ndarray, " pairs"]:
        """Which exchanges bring counts closer to their expectation, each by itself."""
        pairs = codes.shape[2]
        gain = np.zeros(pairs, np.float32)
        for part in (part for look in looks for part in look.parts(pairs)):
            gain += part.gain(self._excess, codes)
        return gain > 0

    def _make(self, looks: Sequence[Looks], codes: PairCodes) -> None:
        """Count exchanges that are made."""
        for part in (part for look in looks for part in look.parts(codes.shape[2])):
            part.make(self._excess, codes)

    def _pairs(self) -> tuple[Int64[np.ndarray, " pairs"], Int64[np.ndarray, " pairs"]]:
        """Random disjoint pairs of records, each within a block, from a sample of the blocks."""
        share = max(self._settings.sample, min(1.0, 512 / len(self._records[0])))
        blocks = np.flatnonzero(self._rng.random(len(self._sizes)) < share)
        is_all = len(blocks) == len(self._sizes)
        of_place, places = self._all_blocks if is_all else self._in_blocks(blocks)
        places = places[np.argsort(of_place + self._rng.random(len(places)))]
        together = of_place[:-1:2] == of_place[1::2]
        return places[:-1:2][together], places[1::2][together]

    @cached_property
    def _all_blocks(self) -> tuple[Int64[np.ndarray, " places"], Int64[np.ndarray, " places"]]:
        """`_in_blocks` for all blocks, which small tables look at in every pass."""
        return self._in_blocks(np.arange(len(self._sizes)))

    def _in_blocks(
        self, blocks: Int64[np.ndarray, " blocks"]
    ) -> tuple[Int64[np.ndarray, " places"], Int64[np.ndarray, " places"]]:
        """For each record of some blocks the number of its block among them, and its place."""
        sizes = self._sizes[blocks]
        of_place = np.repeat(np.arange(len(blocks)), sizes)
        shift = self._starts[blocks] - (np.cumsum(sizes) - sizes)
        return of_place, np.repeat(shift, sizes) + np.arange(len(of_place))

    def _likelihood_ratio(
        self, position: int, one: Int64[np.ndarray, " pairs"], other: Int64[np.ndarray, " pairs"]
    ) -> Float32[np.ndarray, " pairs"] | float:
        """How likely the records are after an exchange, against before; 1 within an owner."""
        if self._owner_of is None:
            return 1.0
        block = np.asarray(self._relaxed.block(self._relaxed.domain.names[position]))
        column = self._records[position]
        codes_one, codes_other = column[one], column[other]
        owner_one, owner_other = self._owner_of[one], self._owner_of[other]
        before = block[codes_one, owner_one] * block[codes_other, owner_other]
        after = block[codes_other, owner_one] * block[codes_one, owner_other]
        ratio = after / np.maximum(before, np.float32(1e-30))
        return np.asarray(np.minimum(ratio, np.float32(1.0)))

    def _allowed(
        self, position: int, one: Int64[np.ndarray, " pairs"], other: Int64[np.ndarray, " pairs"]
    ) -> Bool[np.ndarray, " pairs"]:
        """Which exchanges leave both records without a broken constraint, in cells that may have
        records.
        """
        after = _Exchanged(self._records, position, one, other)
        broken = np.zeros(2 * len(one), dtype=bool)
        if self._broken is not None:
            broken |= self._broken(after)
        if self._model is not None:
            broken |= self._model.ruled_out(after, position)
        return ~broken[: len(one)] & ~broken[len(one) :]


class _Exchanged(Sequence[CodeColumn]):
    """Some records, column by column, as they would be after pairs exchange codes of one column.

    A column is looked up when it is asked for: constraints name few of a thousand columns.
    """

    def __init__(
        self,
        records: Records,
        position: int,
        one: Int64[np.ndarray, " pairs"],
        other: Int64[np.ndarray, " pairs"],
    ) -> None:
        self._records, self._position = records, position
        self._as_they_are = np.concatenate([one, other])
        self._exchanged = np.concatenate([other, one])

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, position: Any) -> Any:
        """The column at a position."""
        rows = self._exchanged if position == self._position else self._as_they_are
        return self._records[position][rows]
