"""Synthetic records from relaxed rows: near the fitted answers, and none that cannot occur."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from dprap.accounting.measurement import Measurement, QueryMeasurement
from dprap.array_types import Bool, CodeColumn
from dprap.encoding import Codes, code_dtype
from dprap.errors import ImpossibleTableError
from dprap.products import product
from dprap.queries import Halfspace
from dprap.relaxed import RelaxedDataset
from dprap.relaxed.exchange import OwnerOf, Records, draw_jointly
from dprap.relaxed.fit import StepCallback, unwatched
from dprap.relaxed.mixing import DEFAULT as MIXING
from dprap.relaxed.mixing import MixingSettings
from dprap.relaxed.rounding import independent_columns, share_out
from dprap.release.sharp_pairs import Placing, SharpPair
from dprap.schema import CodeConstraint, Schema
from dprap.schema.code_constraints import DeterminedCodes, RelatedCodes
from dprap.schema.relations import Relations
from dprap.workload import Workload

# A record that breaks a constraint is drawn again this often. Where hardly any draw is possible,
# possible records are repeated instead.
_REDRAWS = 40

# Records that break an order or a sum look for another to exchange codes with this often.
_EXCHANGES = 200

# What exchanges leave of the error of a random sample, in units of the square root of its size. On
# tables of 4 to 16 columns at ε = 10, where noise is smaller, mixed tables were behind.
_LEFT_BY_EXCHANGES = 0.1

MOST_ROWS_HELD = 10_000_000
"""A longer table is never in memory whole: 14 columns of codes take 0.14 GB, and as much while they
are drawn.
"""

WRITTEN_ROWS = 1 << 18
"""Rows that are decoded and written at a time: a row group of Parquet.

Values take ten times the memory of codes.
"""


def matched_marginals(
    workload: Workload, measurements: Iterable[Measurement | QueryMeasurement]
) -> list[tuple[str, ...]]:
    """The sets of columns whose joint counts a synthetic table keeps near the fitted ones.

    They are those of the workload, but for halfspaces, and of every marginal that was measured.
    """
    measured = (item.marginal for item in measurements if isinstance(item, Measurement))
    asked = (family for family in workload.families if not isinstance(family, Halfspace))
    return [family.columns for family in (*asked, *measured)]


def mixing_of(
    workload: Workload,
    measurements: Iterable[Measurement | QueryMeasurement],
    *,
    records: float,
    rows: int,
) -> MixingSettings | None:
    """How records of a table are mixed that say no more than pairs of columns do
    (`relaxed/mixing.py`).

    They shall where whole marginals of two columns are the most that was asked about: what rows say
    of more columns is then nobody's knowledge, but for the few larger sets that are measured for a
    target. Mixing forgets these, and exchanges bring part of them back. What rows make up of all
    other sets is worse for a model than that. Mixed records are a random sample. Exchanges take
    most of its error away and leave about a tenth of √rows, so a table is mixed only where noise is
    larger than that.

    Args:
        workload: What was asked about.
        measurements: What was measured.
        records: The number of private records, or its estimate.
        rows: The number of synthetic records.

    Returns:
        How they are mixed, or None where they are not.

    """
    noise: list[float] = []
    for item in measurements:
        if isinstance(item, QueryMeasurement):
            return None
        if len(item.marginal.columns) == 2:
            noise.append(item.stddev_counts / records)
    if not noise or max(len(family.columns) for family in workload.families) > 2:
        return None
    if min(noise) * rows < _LEFT_BY_EXCHANGES * math.sqrt(rows):
        return None
    return MIXING


def draw_table(
    relaxed: RelaxedDataset,
    schema: Schema,
    marginals: Sequence[tuple[str, ...]],
    *,
    rows: int,
    seed: int,
    sharp: Sequence[SharpPair] = (),
    mix: MixingSettings | None = None,
    conditioned_on: Collection[str] = (),
    watch: StepCallback = unwatched,
) -> Codes:
    """A whole table of the records that `draw_records` draws."""
    columns = tuple(np.empty(rows, dtype=code_dtype(size)) for size in relaxed.domain.sizes)
    end = 0
    for chunk in draw_records(
        relaxed,
        schema,
        marginals,
        rows=rows,
        seed=seed,
        sharp=sharp,
        mix=mix,
        conditioned_on=conditioned_on,
        watch=watch,
    ):
        start, end = end, end + chunk.rows
        for column, part in zip(columns, chunk.columns, strict=True):
            column[start:end] = part
    return Codes(relaxed.domain, columns)


def sliced(codes: Codes) -> Iterator[Codes]:
    """A table in chunks of the size in which it is decoded and written."""
    for start in range(0, codes.rows, WRITTEN_ROWS):
        yield Codes(
            codes.domain, tuple(column[start : start + WRITTEN_ROWS] for column in codes.columns)
        )


def draw_records(
    relaxed: RelaxedDataset,
    schema: Schema,
    marginals: Sequence[tuple[str, ...]],
    *,
    rows: int,
    seed: int,
    sharp: Sequence[SharpPair] = (),
    mix: MixingSettings | None = None,
    conditioned_on: Collection[str] = (),
    watch: StepCallback = unwatched,
) -> Iterator[Codes]:
    """Draw records that break no constraint, chunk by chunk.

    A column that another determines is set by it, unless the records were conditioned on it. If
    the rows know relations of the determined column alone, the other is set last, to a code that
    determines it. A record that still breaks a constraint is drawn again, which conditions the
    distribution on what is possible.

    Args:
        relaxed: The rows to draw from.
        schema: The schema with the constraints.
        marginals: Sets of columns whose joint counts should be near the fitted ones.
        rows: Number of records in all.
        seed: Seed of public randomness.
        sharp: Pairs of columns of which many cells are most likely empty; records are kept out of
            these.
        mix: How records are mixed that shall say no more than pairs of columns do; they are where
            that takes little time.
        conditioned_on: Columns that a condition has fixed; they are never set by another.
        watch: Is told how much of the work is done.

    Yields:
        Chunks of records; together they are the table.

    Raises:
        ImpossibleTableError: The constraints rule out every record that could be drawn.
    """
    # a condition on one column of a pair leaves nothing to be moved there
    free = [pair for pair in sharp if not set(pair.columns) & set(conditioned_on)]
    if not schema.code_constraints and not free:
        chunks = draw_jointly(relaxed, marginals, rows, seed, mix=mix, watch=watch)
    else:
        drawing = _Possible(relaxed, schema, marginals, free, conditioned_on)
        drawn = draw_jointly(
            relaxed,
            marginals,
            rows,
            seed,
            amend=drawing.amend,
            broken=drawing.unwanted,
            mix=mix,
            watch=watch,
        )
        rng = np.random.default_rng((seed, 1))
        chunks = (drawing.with_sources(records, rng) for records in drawn)
    for records in chunks:
        yield Codes(relaxed.domain, tuple(records))


class _Possible:
    """Records that keep the schema's constraints, and out of cells that are most likely empty."""

    def __init__(
        self,
        relaxed: RelaxedDataset,
        schema: Schema,
        marginals: Sequence[tuple[str, ...]],
        sharp: Sequence[SharpPair],
        conditioned_on: Collection[str],
    ) -> None:
        self._relaxed = relaxed
        self._domain = schema.domain
        self._led_by_target = _led_by_target(schema.code_constraints, marginals, conditioned_on)
        self._constraints = [
            each for each in schema.code_constraints if each not in self._led_by_target
        ]
        self._relations = Relations(schema.columns, self._constraints)
        self._conditioned_on = conditioned_on
        self._placing = Placing(relaxed, sharp)

    def unwanted(self, records: Sequence[CodeColumn]) -> Bool[np.ndarray, " records"]:
        """Which records no exchange may make: they break a constraint or lie where there are most
        likely none.
        """
        return np.asarray(self.broken(records) | self._placing.misplaced(records))

    def broken(self, records: Sequence[CodeColumn]) -> Bool[np.ndarray, " records"]:
        """Which records break a constraint."""
        found = np.zeros(len(records[0]), dtype=bool)
        for constraint in self._constraints:
            if not isinstance(constraint, RelatedCodes):  # these are looked at together
                found |= constraint.broken(
                    *(records[self._domain.position(name)] for name in constraint.columns)
                )
        if self._relations.rules:
            held = {name: records[self._domain.position(name)] for name in self._relations.names}
            found |= self._relations.impossible(held)
        return found

    def amend(
        self, records: Records, owner_of: OwnerOf, rng: np.random.Generator
    ) -> tuple[Records, OwnerOf]:
        """Move misplaced records, set determined columns, exchange codes between records that break
        an order or a sum, and draw those again that still break a constraint.
        """
        self._placing.place(records, rng)
        records = self._determined(records)
        self._exchange_totals(records, rng)
        broken = np.flatnonzero(self.broken(records))
        for _ in range(_REDRAWS):
            if not broken.size:
                break
            owners = share_out(self._relaxed, max(2 * broken.size, 256), rng)
            order = rng.permutation(int(owners.sizes.sum()))
            fresh_owner = owners.of_records()[order]
            fresh = [column[order] for column in independent_columns(self._relaxed, owners, rng)]
            fresh = self._determined(fresh)
            possible = np.flatnonzero(~self.broken(fresh))[: broken.size]
            mended, broken = broken[: possible.size], broken[possible.size :]
            for column, drawn in zip(records, fresh, strict=True):
                column[mended] = drawn[possible]
            owner_of[mended] = fresh_owner[possible]
        return self._repeat_possible(records, owner_of, broken, rng)

    def _exchange_totals(self, records: Records, rng: np.random.Generator) -> None:
        """Exchange totals of sums, and larger ends of orders, between records that break one and
        others.

        To draw such records again gives every column the counts of what happens to be possible: of
        fare + tip = total mostly records without a tip. Exchanges keep the counts of all columns.
        """
        for rule in self._relations.rules:
            if rule.columns[-1] not in self._conditioned_on:
                if rule.is_equal:
                    self._totals_in_order(records, rule)
                self._exchange(records, self._domain.position(rule.columns[-1]), rng)

    def _totals_in_order(self, records: Records, rule: RelatedCodes) -> None:
        """Give the totals of records that break sums to these records in the order of the sums of
        their parts.
        """
        places = {name: self._domain.position(name) for name in self._relations.names}
        wrong = np.flatnonzero(
            self._relations.impossible({name: records[at] for name, at in places.items()})
        )
        *parts, total = rule.columns
        sums = self._relations.middle_sums({name: records[places[name]][wrong] for name in parts})
        column = records[places[total]]
        column[wrong[np.argsort(sums, kind="stable")]] = np.sort(column[wrong])

    def _exchange(self, records: Records, position: int, rng: np.random.Generator) -> None:
        """Let records that break a constraint exchange their codes of one column with random others
        where both are possible then.
        """
        column = records[position]
        wrong = np.flatnonzero(self.broken(records))
        for _ in range(_EXCHANGES):
            if not wrong.size:
                break
            other, first = np.unique(rng.integers(0, len(column), wrong.size), return_index=True)
            possible = ~np.isin(other, wrong)
            one, other = wrong[first][possible], other[possible]
            after = [each[np.concatenate([one, other])] for each in records]
            after[position] = column[np.concatenate([other, one])]
            mended = ~self.broken(after).reshape(2, -1).any(axis=0)
            one, other = one[mended], other[mended]
            column[one], column[other] = column[other], column[one]
            wrong = np.setdiff1d(wrong, one)

    def _determined(self, records: Records) -> Records:
        """The records, those columns that follow from another set by it."""
        for constraint in self._constraints:
            if not isinstance(constraint, DeterminedCodes):
                continue
            if constraint.columns[1] in self._conditioned_on:
                continue
            source, target = (self._domain.position(name) for name in constraint.columns)
            wanted = constraint.targets[records[source]]
            column = records[target]
            records[target] = np.where(wanted >= 0, wanted, column).astype(column.dtype)
        return records

    def with_sources(self, records: Records, rng: np.random.Generator) -> Records:
        """The records, with sources set that are drawn given what they determine.

        Sources of one target code are shared out in proportion to their fitted shares, so that both
        columns keep their counts as far as these agree. A target code that no source has is set by
        the source instead.
        """
        weights = np.asarray(self._relaxed.weights, dtype=np.float64)
        for constraint in self._led_by_target:
            source, target = (self._domain.position(name) for name in constraint.columns)
            shares = product(
                np.asarray(self._relaxed.block(constraint.columns[0]), dtype=np.float64), weights
            )
            wanted, codes = constraint.targets, records[target]
            for code in np.unique(codes):
                places = np.flatnonzero(codes == code)
                # A source that leaves its target open goes with each of them, in proportion.
                open_share = places.size / len(codes)
                odds = np.cumsum(
                    shares * np.where(wanted == code, 1.0, np.where(wanted < 0, open_share, 0.0))
                )
                if odds[-1] <= 0:
                    records[target][places] = wanted[records[source][places]]
                    continue
                ends = np.floor(odds / odds[-1] * places.size + rng.random())
                ends[-1] = places.size
                counts = np.diff(np.minimum(ends, places.size), prepend=0).astype(np.int64)
                records[source][rng.permutation(places)] = np.repeat(np.arange(len(shares)), counts)
        return records

    def _repeat_possible(
        self, records: Records, owner_of: OwnerOf, broken: np.ndarray, rng: np.random.Generator
    ) -> tuple[Records, OwnerOf]:
        """Put copies of possible records in place of those that are still broken."""
        if broken.size == len(owner_of):
            raise ImpossibleTableError(
                "the schema's constraints rule out every synthetic record that could be drawn."
                " Check them."
            )
        kept = np.setdiff1d(np.arange(len(owner_of)), broken)
        chosen = kept[rng.integers(0, kept.size, broken.size)]
        for column in records:
            column[broken] = column[chosen]
        owner_of[broken] = owner_of[chosen]
        return records, owner_of


def _led_by_target(
    constraints: Sequence[CodeConstraint],
    marginals: Sequence[tuple[str, ...]],
    conditioned_on: Collection[str],
) -> list[DeterminedCodes]:
    """Dependencies whose source has no relation to any other column, though its target has.

    A target that was set by such a source would lose its relations to all other columns.
    """
    related = {name for columns in marginals if len(columns) > 1 for name in columns}
    uses = Counter(name for constraint in constraints for name in constraint.columns)

    def is_led(constraint: DeterminedCodes) -> bool:
        source, target = constraint.columns
        free = source not in related and source not in conditioned_on and target in related
        return free and uses[source] == uses[target] == 1

    return [each for each in constraints if isinstance(each, DeterminedCodes) and is_led(each)]
