"""What every verb of the curator rests on: the private table, the budget, the ledger, and what is
refused.

A verb is a method that gives `Steps.take` an exact statistic, a draw and a charge. The verbs stand
in `measure`, `select`, `certify` and `discover` beside this module, which draws no noise.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from dprap.accounting.budget import Budget
from dprap.accounting.neighbors import Neighbors
from dprap.accounting.zcdp import Rho
from dprap.array_types import Int64
from dprap.domain import Domain
from dprap.errors import BudgetError, DataError, LedgerError, WorkloadError
from dprap.privacy.entropy import Entropy, InsecureSeededEntropy, OsEntropy
from dprap.privacy.exact_counts import ExactAnswers
from dprap.privacy.ledger import Ledger
from dprap.privacy.ledger.journal import Journal, MemoryJournal
from dprap.privacy.scores import MAX_COUNT
from dprap.privacy.steps import Steps, digest_of
from dprap.privacy.stopwatch import Stopwatch
from dprap.queries import Custom, Family, Halfspace, Marginal, Query, Range, Threshold
from dprap.schema import Schema
from dprap.sources import CountSource
from dprap.sources.recoding import Recoding
from dprap.workload import MAX_CELLS

# A float share of the budget may overshoot what is left by rounding; it is then cut to what is
# left, never granted.
_ROUNDING_SLACK = Fraction(1, 10**9)

# Kinds of queries whose sensitivity is proven. A subclass could answer differently, so it is none
# of them.
PROVEN_FAMILIES = (Marginal, Threshold, Range, Halfspace, Custom)

# Kinds of tables in which a record lies in exactly one cell: marginals, with groups or without.
PARTITIONS = (Marginal,)


class PrivateTable:
    """A private table with the budget, the ledger and the entropy of one run."""

    def __init__(
        self,
        source: CountSource,
        *,
        budget: Budget,
        neighbors: Neighbors,
        ledger: Ledger | None,
        run: str | None = None,
        insecure_noise_seed: int | None = None,
        max_cells: int = MAX_CELLS,
    ) -> None:
        if insecure_noise_seed is not None and ledger is not None:
            raise LedgerError(
                "seeded noise protects nobody, so a ledger does not take it. Leave the seed or the"
                " ledger out."
            )
        if source.rows < 1:
            raise BudgetError(
                "the table is empty: there is nothing to protect and nothing to publish."
            )
        if source.rows > MAX_COUNT:
            raise DataError(
                f"the table has more than {MAX_COUNT:,} records, the limit of exact scores."
            )
        if neighbors.rows_are_public:
            budget.check_against_rows(source.rows)
        self._domain = source.domain
        self._neighbors = neighbors
        self._budget = budget
        self._run = run or uuid.uuid4().hex
        self._source = source
        self._exact = ExactAnswers(source)
        self._max_cells = max_cells
        self._entropy: Entropy = (
            OsEntropy()
            if insecure_noise_seed is None
            else InsecureSeededEntropy(insecure_noise_seed)
        )
        journal: Journal = MemoryJournal() if ledger is None else ledger
        self._stopwatch = Stopwatch()
        with self._stopwatch.running():
            data = source.fingerprint() if ledger is not None else ""
        facts = {
            "epsilon": float(budget.epsilon),
            "delta": float(budget.delta),
            "accounting": budget.accounting.value,
            "domain": digest_of([list(source.domain.names), list(source.domain.sizes)]),
        }
        self._steps = Steps(
            journal, self._run, journal.begin(self._run, budget.rho, data, facts), self._stopwatch
        )
        self._set_aside = Fraction(0)
        self._spent_before = Fraction(0)
        self._threshold_delta = Fraction(0)

    @property
    def domain(self) -> Domain:
        """The public domain of the table."""
        return self._domain

    @property
    def neighbors(self) -> Neighbors:
        """The neighbour relation that the promise is about."""
        return self._neighbors

    @property
    def budget(self) -> Budget:
        """The promise: (ε, δ) and their ρ."""
        return self._budget

    @property
    def run(self) -> str:
        """The name of this run in the ledger."""
        return self._run

    @property
    def private(self) -> bool:
        """Whether what this curator returns is differentially private: false for seeded noise."""
        return self._entropy.secure

    @property
    def private_seconds(self) -> float:
        """Time spent in the verbs.

        It depends on the exact data: for the steward, never for a release.
        """
        return self._stopwatch.seconds

    @property
    def rho(self) -> Fraction:
        """The budget a mechanism may plan with: all of this run's but what was set aside or spent
        before it.
        """
        return self.budget.rho - self._set_aside - self._spent_before

    def set_aside(self, rho: Rho) -> None:
        """Keep a part of the budget for a certificate after the mechanism; 0 gives it back.

        Args:
            rho: What is kept.

        Raises:
            BudgetError: If that is the whole budget or more.
        """
        if not 0 <= rho < self.budget.rho:
            raise BudgetError("what is set aside must be less than the whole budget.")
        self._set_aside = Fraction(rho)

    @property
    def spent(self) -> Fraction:
        """Charges of the steps taken so far (on a resumed run, of those replayed so far)."""
        return self._steps.spent

    @property
    def remaining(self) -> Fraction:
        """What is left of the budget."""
        return self.budget.rho - self._set_aside - self.spent

    @property
    def n(self) -> int:
        """The number of records, where it is public."""
        if not self.neighbors.rows_are_public:
            raise BudgetError(
                "the number of records is private under add-remove neighbours: measure Marginal(())"
                " instead."
            )
        return self._source.rows

    def recode(self, schema: Schema, maps: Mapping[str, Int64[np.ndarray, " codes"]]) -> None:
        """Go on with coarser codes: from here on all verbs count the codes of a coarser schema.

        Releases nothing.

        The maps are functions of earlier results of this curator and of public facts, so they are
        fixed when the data change; the new code of a record depends on its old code alone. A
        record therefore lies in one cell of every marginal as before, and each verb's sensitivity
        is what it says. Composition is adaptive: what is counted next may depend on what was paid
        for before. Every later step of the ledger carries a digest of the maps, so that a resumed
        run goes on with the same codes or not at all.

        Args:
            schema: The coarser schema, with the same columns.
            maps: For each column that changes, the new code of every old one.

        Raises:
            SchemaError: The maps do not lead from the codes of this table to those of the schema.
        """
        with self._stopwatch.running():
            self._source = self._source.recoded(Recoding(self._domain, schema, maps))
            self._domain = self._source.domain
            self._exact = ExactAnswers(self._source)
        self._spent_before = self.spent
        self._steps.under({name: maps[name].tolist() for name in sorted(maps)})

    def prepare(self, families: Sequence[Family]) -> None:
        """Count ahead, in one pass over the table, what later verbs will need.

        This releases nothing and costs nothing.

        Args:
            families: What will be measured or chosen from.

        Raises:
            WorkloadError: A family is not of the domain, or has too many cells.
            DataError: The table cannot be read any more.

        """
        self._check_sizes(families)
        with self._stopwatch.running():
            self._exact.prepare(families)

    def finish(self) -> None:
        """Close the run: its unspent budget is given back to the ledger's cap.

        Exact counts are forgotten: nothing asks for them any more.

        Raises:
            LedgerError: If the ledger cannot be written.

        """
        self._steps.finish()
        with self._stopwatch.running():
            self._exact = ExactAnswers(self._source)

    def _check_sizes(
        self, families: Sequence[Family], kinds: tuple[type, ...] = PROVEN_FAMILIES
    ) -> None:
        """Refuse what the domain cannot carry, before anything is allocated, counted or spent."""
        if not families:
            raise WorkloadError("there is nothing to measure: no marginal was named.")
        for family in families:
            if type(family) not in kinds:
                raise WorkloadError(
                    f"the sensitivity of a {type(family).__name__} is not known to this step. It"
                    f" takes: {', '.join(kind.__name__ for kind in kinds)}."
                )
            cells = self.domain.size_of(family.columns)
            if isinstance(family, Marginal):
                family.shape(self.domain)  # refuses groups that the domain does not have
            if isinstance(family, Range):
                # refuses intervals that the domain does not have
                cells = max(cells, family.size(self.domain))
            if isinstance(family, Halfspace):
                family.size(self.domain)  # refuses more queries than a release can hold
                family.points_of(self.domain)  # refuses points that are not of the domain's codes
            if not isinstance(family, Custom | Halfspace) and cells > self._max_cells:
                raise WorkloadError(
                    f"{type(family).__name__.lower()} {family} has {cells:,} cells of single codes"
                    f" or intervals; the limit is {self._max_cells:,}. Bin its columns more"
                    " coarsely or raise --max-cells."
                )

    def _check_indices(self, queries: Sequence[Query]) -> None:
        sizes = {family: family.size(self.domain) for family in {query.family for query in queries}}
        for query in queries:
            if not 0 <= query.index < sizes[query.family]:
                raise WorkloadError(f"{query.family} has no query number {query.index}.")

    def _affordable(self, rho: Rho) -> Fraction:
        """The charge as an exact number; refuses what is not positive or not covered.

        This speaks early and clearly. The filter that counts is `RunState.check_charge`, at the
        moment of charging.
        """
        if not (isinstance(rho, (int, float, Fraction)) and 0 < rho < float("inf")):
            raise BudgetError(f"a charge must be a positive number; it is {rho}.")
        charge = Fraction(rho)
        if charge > self.remaining:
            if charge > self.remaining + self.rho * _ROUNDING_SLACK or self.remaining <= 0:
                raise BudgetError(
                    f"this step asks for rho = {float(charge):.4g}, but {float(self.remaining):.4g}"
                    f" is left of {float(self.rho):.4g}. Nothing was charged."
                )
            charge = self.remaining
        return charge
