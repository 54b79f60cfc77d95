"""The curator: the only door to private data.

A mechanism is handed a `Curator` and nothing else. Each verb computes exact integers on the private side, charges the
budget durably, adds noise, stores the noisy result durably and only then returns it, so whatever a mechanism does is
ρ-zCDP by composition and post-processing, with ρ the sum of its charges, never above the budget. The argument for each
constant stands at the verb.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from jaxtyping import Int64

from dprap.accounting.budget import Budget
from dprap.accounting.measurement import Certificate, DrawnTable, FoundValues, Measurement, QueryMeasurement
from dprap.accounting.neighbors import Neighbors
from dprap.accounting.stddev import stddev_for
from dprap.accounting.zcdp import Rho
from dprap.array_types import Answers, Counts
from dprap.domain import Domain
from dprap.errors import BudgetError, DataError, LedgerError, SettingsError, WorkloadError
from dprap.privacy.discovery import (
    Values,
    ValueSource,
    described_values,
    packed_values,
    threshold_for,
    thresholded,
    unpacked_values,
)
from dprap.privacy.discrete_gaussian import add_discrete_gaussian
from dprap.privacy.entropy import Entropy, InsecureSeededEntropy, OsEntropy
from dprap.privacy.exact_counts import ExactAnswers
from dprap.privacy.ledger import Arrays, Ledger
from dprap.privacy.ledger.journal import Journal, MemoryJournal
from dprap.privacy.scores import ESTIMATE_GRID, MAX_COUNT, Score, grid_estimates
from dprap.privacy.selection import inverse_temperature, pick_in_turn, pick_top
from dprap.privacy.steps import Steps, digest_of, label
from dprap.privacy.stopwatch import Stopwatch
from dprap.privacy.turns import Apart, Turns
from dprap.queries import Custom, Family, Halfspace, Marginal, Query, Range, Threshold
from dprap.schema import Schema
from dprap.sources import CountSource
from dprap.sources.recoding import Recoding
from dprap.workload import MAX_CELLS

_ROUNDING_SLACK = Fraction(1, 10**9)
# A float share of the budget may overshoot what is left by rounding; it is then cut to what is left, never granted.

_FAMILIES = (Marginal, Threshold, Range, Halfspace, Custom)
# Kinds of queries whose sensitivity is proven. A subclass could answer differently, so it is none of them.

_PARTITIONS = (Marginal,)
# Kinds of tables in which a record lies in exactly one cell: marginals, with groups or without.


class Curator:
    """Holds a private table and a budget; answers through noise it charges for."""

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
                "seeded noise protects nobody, so a ledger does not take it. Leave the seed or the ledger out."
            )
        if source.rows < 1:
            raise BudgetError("the table is empty: there is nothing to protect and nothing to publish.")
        if source.rows > MAX_COUNT:
            raise DataError(f"the table has more than {MAX_COUNT:,} records, the limit of exact scores.")
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
            OsEntropy() if insecure_noise_seed is None else InsecureSeededEntropy(insecure_noise_seed)
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
        self._steps = Steps(journal, self._run, journal.begin(self._run, budget.rho, data, facts), self._stopwatch)
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
        """Time spent in the verbs. It depends on the exact data: for the steward, never for a release."""
        return self._stopwatch.seconds

    @property
    def rho(self) -> Fraction:
        """The budget a mechanism may plan with: all of this run's but what was set aside or spent before it."""
        return self.budget.rho - self._set_aside - self._spent_before

    def set_aside(self, rho: Rho) -> None:
        """Keep a part of the budget from the mechanism, for a certificate after it; 0 gives it back."""
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
                "the number of records is private under add-remove neighbours: measure Marginal(()) instead."
            )
        return self._source.rows

    def recode(self, schema: Schema, maps: Mapping[str, Int64[np.ndarray, " codes"]]) -> None:
        """Go on with coarser codes: from here on all verbs count the codes of a coarser schema. Releases nothing.

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
        self._source = self._source.recoded(Recoding(self._domain, schema, maps))
        self._domain = self._source.domain
        self._exact = ExactAnswers(self._source)
        self._spent_before = self.spent
        self._steps.under({name: maps[name].tolist() for name in sorted(maps)})

    def stddev_of_marginal(self, rho: Rho) -> float:
        """The noise, in counts, that a marginal measured with this ρ would have. Public."""
        return stddev_for(self.neighbors.marginal_l2_squared, rho)

    def prepare(self, families: Sequence[Family]) -> None:
        """Count ahead, in one pass over the table, what later verbs will need. Releases nothing, costs nothing."""
        self._check_sizes(families)
        with self._stopwatch.running():
            self._exact.prepare(families)

    def measure(
        self, marginals: Sequence[Marginal], rho: Rho, shares: Sequence[float | Fraction] | None = None
    ) -> list[Measurement]:
        """Noisy counts of whole marginals; `rho` is the total, split by `shares` or equally.

        One record lies in one cell of a marginal, with groups or without, because each code lies in one group. So its
        count vector has the L2 sensitivity √2 (replace) or 1 (add-remove), times the rows a person may have. Discrete Gaussian noise with σ = Δ₂/√(2ρᵢ) on marginal i is ρᵢ-zCDP, all of
        them together Σρᵢ = rho.
        """
        self._check_sizes(marginals, _PARTITIONS)
        rho = self._affordable(rho)
        split = _split(rho, len(marginals), shares)
        stddevs = [stddev_for(self.neighbors.marginal_l2_squared, part) for part in split]

        def exact() -> list[Counts]:
            self._exact.prepare(marginals)
            return [self._exact.marginal(marginal) for marginal in marginals]

        def draw(counts: list[Counts]) -> Arrays:
            return {
                str(position): add_discrete_gaussian(exact_counts, stddev, self._entropy)
                for position, (exact_counts, stddev) in enumerate(zip(counts, stddevs, strict=True))
            }

        described = [[label(marginal), str(part)] for marginal, part in zip(marginals, split, strict=True)]
        arrays = self._steps.take("measure", described, rho, exact, draw, stddev_counts=stddevs)
        return [
            Measurement(marginal, arrays[str(position)], stddev, float(part))
            for position, (marginal, stddev, part) in enumerate(zip(marginals, stddevs, split, strict=True))
        ]

    def discover_values(self, names: Sequence[str], rho: Rho, *, delta: float) -> list[FoundValues]:
        """The values of columns whose noisy counts reach a threshold; `rho` and `delta` are totals, split equally.

        σ = Δ₂/√(2ρᵢ) and the threshold with r · P(N ≥ τ − r) ≤ δᵢ make each column δᵢ-approximately ρᵢ-zCDP: the
        argument is in `dprap.privacy.discovery`. The budget must have set `delta` apart as its `threshold_delta`, and
        all calls of a curator together may not ask for more.

        Args:
            names: The columns.
            rho: The charge.
            delta: What the thresholds may take of δ.

        Raises:
            SettingsError: The table is of a kind whose values cannot be listed.
            BudgetError: `rho` or `delta` is more than is left.

        """
        source = self._source
        if not isinstance(source, ValueSource):
            raise SettingsError("values are discovered in tables in memory and in files alone.")
        rho = self._affordable(rho)
        each_delta = float(delta) / len(names) * (1 - 1e-12)
        if not 0 < self._threshold_delta + Fraction(delta) <= Fraction(self.budget.threshold_delta):
            raise BudgetError("thresholds ask for more of delta than the budget has set apart for them.")
        self._threshold_delta += Fraction(delta)
        part = rho / len(names)
        stddev = stddev_for(self.neighbors.marginal_l2_squared, part)
        threshold = threshold_for(stddev, each_delta, self.neighbors)

        def exact() -> list[tuple[Values, Counts]]:
            return [source.present(name) for name in names]

        def draw(present: list[tuple[Values, Counts]]) -> Arrays:
            arrays: Arrays = {}
            for position, (values, counts) in enumerate(present):
                published = thresholded(
                    values, counts, stddev_counts=stddev, threshold=threshold, entropy=self._entropy
                )
                arrays |= packed_values(position, *published)
            return arrays

        terms = {"threshold_counts": threshold, "threshold_delta": float(delta)}
        arrays = self._steps.take(
            "discover_values", described_values(names), rho, exact, draw, terms=terms, stddev_counts=stddev
        )
        return [
            FoundValues(name, tuple(unpacked_values(position, arrays)[0]), stddev, threshold, float(part), each_delta)
            for position, name in enumerate(names)
        ]

    def measure_queries(self, queries: Sequence[Query], rho: Rho) -> list[QueryMeasurement]:
        """Noisy counts of single queries; `rho` is the total, split equally.

        A query maps a record to [0, 1], so its count has sensitivity 1 (times the rows a person may have) under both
        relations: σ = 1/√(2ρᵢ), the Gaussian mechanism of the paper. Custom queries are summed on an integer grid, where
        sensitivity and σ are scaled alike.
        """
        self._check_sizes([query.family for query in queries])
        self._check_indices(queries)
        rho = self._affordable(rho)
        split = _split(rho, len(queries), None)
        stddev = stddev_for(self.neighbors.query**2, split[0])

        def exact() -> list[tuple[Counts, int]]:
            self._exact.prepare([query.family for query in queries])
            answers = {query.family: self._exact.family(query.family) for query in queries}
            return [(answers[query.family][0][[query.index]], answers[query.family][1]) for query in queries]

        def draw(answers: list[tuple[Counts, int]]) -> Arrays:
            counts = np.concatenate([count for count, _ in answers])
            units = np.array([unit for _, unit in answers])
            noisy = np.empty(len(answers))
            for unit in np.unique(units).tolist():
                alike = units == unit
                noisy[alike] = add_discrete_gaussian(counts[alike], stddev * unit, self._entropy) / unit
            return {"counts": noisy}

        described = [[label(query.family), int(query.index)] for query in queries]
        arrays = self._steps.take("measure_queries", described, rho, exact, draw, stddev_counts=stddev)
        return [
            QueryMeasurement(query, float(count), stddev, float(part))
            for query, count, part in zip(queries, arrays["counts"], split, strict=True)
        ]

    def measure_all(self, families: Sequence[Family], rho: Rho) -> Iterator[tuple[Family, Answers, float]]:
        """Noisy counts of every query of the families, paid query by query: the T = 1 branch of the paper.

        Each of the m queries gets rho/m, so σ = √(m/(2 rho)). Yields (family, counts, stddev_counts) one by one; each
        family is charged when it is drawn, so one that is never asked for costs nothing.
        """
        self._check_sizes(families)
        rho = self._affordable(rho)
        sizes = [family.size(self.domain) for family in families]
        per_query = rho / sum(sizes)
        stddev = stddev_for(self.neighbors.query**2, per_query)
        with self._stopwatch.running():
            self._exact.prepare(families)
        for family, size in zip(families, sizes, strict=True):

            def exact(family: Family = family) -> tuple[Counts, int]:
                return self._exact.family(family)

            def draw(answers: tuple[Counts, int]) -> Arrays:
                counts, unit = answers
                return {"counts": add_discrete_gaussian(counts, stddev * unit, self._entropy) / unit}

            arrays = self._steps.take(
                "measure_all", [label(family)], per_query * size, exact, draw, stddev_counts=stddev
            )
            yield family, arrays["counts"], stddev

    def select_queries(
        self,
        families: Sequence[Family],
        estimates_counts: Iterable[Answers],
        *,
        k: int,
        rho: Rho,
        exclude: Iterable[Query] = (),
    ) -> list[Query]:
        """The k worst-answered queries: top-k report noisy max on |count − estimate|; `rho` is the total of the k picks.

        Each score is a count's distance to a public number, rounded to integers: sensitivity 1 (times the rows a person may
        have). Every pick is worth the charge rho/k (`Budget.pick_rho`). Queries in `exclude` are no candidates.
        """
        self._check_sizes(families)
        rho = self._affordable(rho)
        sizes = [family.size(self.domain) for family in families]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        position_of = {family: position for position, family in enumerate(families)}
        exclude = list(exclude)
        self._check_indices(exclude)
        if any(query.family not in position_of for query in exclude):
            raise SettingsError("a query to exclude is not among the candidates.")
        excluded = sorted({int(starts[position_of[query.family]]) + int(query.index) for query in exclude})
        if not 1 <= k <= int(starts[-1]) - len(excluded):
            raise SettingsError(
                f"{k} queries asked for, but only {int(starts[-1]) - len(excluded):,} are left to select from."
            )
        pick_rho = self.budget.pick_rho(rho / k)
        eta = inverse_temperature(self.neighbors.query, pick_rho)

        def exact() -> Counts:
            self._exact.prepare(families)
            scores = np.empty(int(starts[-1]), dtype=np.int64)
            for family, start, estimate in zip(families, starts[:-1], estimates_counts, strict=True):
                answers, unit = self._exact.family(family)
                whole = grid_estimates(estimate, answers.size, unit)
                # Floor division keeps the sensitivity: inputs at most `unit` apart give results at most 1 apart.
                scores[start : start + answers.size] = np.abs(answers - whole) // unit
            return scores

        def draw(scores: Counts) -> Arrays:
            return {"picked": np.array(pick_top(scores, k=k, eta=eta, entropy=self._entropy, excluded=excluded))}

        # The estimates are not part of the description: they follow from earlier results and public seeds, and making
        # them again only to compare them would double the cost of a replay.
        terms = {"picks": k, "rho_of_a_pick": str(pick_rho), "excluded": excluded}
        described = [label(family) for family in families]
        arrays = self._steps.take("select_queries", described, rho, exact, draw, terms=terms)
        found = np.searchsorted(starts, arrays["picked"], side="right") - 1
        return [
            Query(families[position], int(index - starts[position]))
            for position, index in zip(found, arrays["picked"], strict=True)
        ]

    def select(
        self,
        marginals: Sequence[Marginal],
        estimates_counts: Iterable[Answers],
        *,
        k: int,
        rho: Rho,
        score: Score | None = None,
        apart: Apart | None = None,
    ) -> list[int]:
        """Positions of the k worst-answered marginals, by `score`; `rho` is the total of the k picks.

        With `apart`, each pick chooses among what its public rules leave open after the picks before.

        The sensitivity of the score is proven in `dprap.privacy.scores`; every pick is an exponential mechanism worth
        the charge rho/k (`dprap.privacy.selection`, `Budget.pick_rho`).
        """
        self._check_sizes(marginals, _PARTITIONS)
        rho = self._affordable(rho)
        if not 1 <= k <= len(marginals):
            raise SettingsError(f"{k} marginals asked for, but there are {len(marginals)} candidates.")
        on_grid = (score or Score()).on_grid(len(marginals))
        pick_rho = self.budget.pick_rho(rho / k)
        eta = inverse_temperature(on_grid.sensitivity(self.neighbors), pick_rho)

        def exact() -> Counts:
            self._exact.prepare(marginals)
            return on_grid.of_all(map(self._exact.marginal, marginals), estimates_counts)

        def draw(scores: Counts) -> Arrays:
            if turns is None:
                return {"picked": np.array(pick_top(scores, k=k, eta=eta, entropy=self._entropy))}
            picked = pick_in_turn(scores, k=k, eta=eta, entropy=self._entropy, open_after=turns.open_after)
            return {"picked": np.array(picked)}

        turns = None if apart is None else Turns(marginals, apart)
        rules = {} if apart is None else {"apart": apart.described()}
        terms = {"picks": k, "rho_of_a_pick": str(pick_rho), "score": on_grid.described(), **rules}
        described = [label(marginal) for marginal in marginals]
        arrays = self._steps.take("select", described, rho, exact, draw, terms=terms)
        return [int(position) for position in arrays["picked"]]

    def certify(
        self,
        families: Sequence[Family],
        estimates_counts: Iterable[Answers],
        *,
        rho: Rho,
        confidence: float = 0.95,
        table: DrawnTable | None = None,
    ) -> Certificate:
        """A noisy maximum error of finished answers over all queries, with a one-sided confidence bound.

        Let c_q(D) be the counts, f_q the fitted answers and t_q those of a synthetic table, if
        there is one. Certified is

            E(D) = max_q max(|c_q(D) − f_q|, |c_q(D) − t_q|), in counts.

        Sensitivity r, the rows a person may have: f and t are functions of earlier results of this
        curator and of public seeds, so they are fixed when D changes. |c − f| moves at most as far
        as c, and a maximum at most as far as the farthest of its arguments, be there one for each
        query or two. So |E(D) − E(D′)| ≤ max_q |c_q(D) − c_q(D′)| ≤ r, because a record contributes
        between 0 and 1 to a count. This holds under replace, where one contribution takes the place
        of another, and under add-remove, where one comes or goes: there f and t are counts among
        the noisy number of records, which was paid for, and nothing is divided by the private one.

        On the grids: with u units for a record (1, or `GRID` for custom queries, whose
        contributions lie in 0..u), c is an integer that moves by at most r·u, and G·c by at most
        r·u·G. Estimates are rounded to integers on that scale before c enters. x ↦ x // u is
        monotone and (x + k·u) // u = x // u + k, so arguments at most r·u·G apart give results at
        most r·G apart, for each family, and then so is the largest of all families. Discrete
        Gaussian noise with σ = r·G/√(2 rho) is rho-zCDP. ∎

        Args:
            families: The queries.
            estimates_counts: Fitted answers in counts, one array a family.
            rho: What the certificate costs.
            confidence: Probability with which the bound holds for all queries, of fit and table together.
            table: A synthetic table that was drawn before; its answers are certified too.

        Returns:
            The certificate. On a replay it names the table that was certified when the noise was drawn.

        Raises:
            SettingsError: The confidence or an estimate is out of range.
            BudgetError: `rho` is more than is left.

        """
        self._check_sizes(families)
        if not 0 < confidence < 1:
            raise SettingsError(f"confidence must lie strictly between 0 and 1; it is {confidence}.")
        rho = self._affordable(rho)
        stddev = stddev_for(self.neighbors.query**2, rho)

        def exact() -> int:
            self._exact.prepare(families)
            published = [estimates_counts] if table is None else [estimates_counts, table.answers_counts]
            largest = 0
            for family, *estimates in zip(families, *published, strict=True):
                answers, unit = self._exact.family(family)
                for estimate in estimates:
                    whole = grid_estimates(estimate, answers.size, unit * ESTIMATE_GRID)
                    largest = max(largest, int(np.abs(answers * ESTIMATE_GRID - whole).max()) // unit)
            return largest

        def draw(largest: int) -> Arrays:
            noisy = add_discrete_gaussian(np.array([largest]), stddev * ESTIMATE_GRID, self._entropy)
            return {"max_error": noisy, **named}

        named = {} if table is None else _named(table)  # made here: nothing public may fail after the charge
        described = [label(family) for family in families]
        arrays = self._steps.take("certify", described, rho, exact, draw, stddev_counts=stddev)
        noisy = float(arrays["max_error"][0]) / ESTIMATE_GRID
        # On top of the normal quantile: half a grid step for the rounding of estimates, one for that of the maximum, one
        # for the steps of the discrete distribution.
        upper = noisy + NormalDist().inv_cdf(confidence) * stddev + 3 / ESTIMATE_GRID
        queries = sum(family.size(self.domain) for family in families)
        stored = "table_digest" in arrays
        return Certificate(
            queries,
            noisy,
            stddev,
            confidence,
            max(upper, 0.0),
            float(rho),
            int(arrays["table_rows"][0]) if stored else None,
            arrays["table_digest"].tobytes().hex() if stored else None,
        )

    def finish(self) -> None:
        """Close the run: its unspent budget is given back to the ledger's cap."""
        self._steps.finish()

    def _check_sizes(self, families: Sequence[Family], kinds: tuple[type, ...] = _FAMILIES) -> None:
        """Refuse what the domain cannot carry, before anything is allocated, counted or spent."""
        if not families:
            raise WorkloadError("there is nothing to measure: no marginal was named.")
        for family in families:
            if type(family) not in kinds:
                raise WorkloadError(
                    f"the sensitivity of a {type(family).__name__} is not known to this step. It takes: "
                    f"{', '.join(kind.__name__ for kind in kinds)}."
                )
            cells = self.domain.size_of(family.columns)
            if isinstance(family, Marginal):
                family.shape(self.domain)  # refuses groups that the domain does not have
            if isinstance(family, Range):
                cells = max(cells, family.size(self.domain))  # refuses intervals that the domain does not have
            if isinstance(family, Halfspace):
                family.points_of(self.domain)  # refuses points that are not of the domain's codes
            if not isinstance(family, Custom | Halfspace) and cells > self._max_cells:
                raise WorkloadError(
                    f"{type(family).__name__.lower()} {family} has {cells:,} cells of single codes or intervals; the limit is {self._max_cells:,}. "
                    "Bin its columns more coarsely or raise --max-cells."
                )

    def _check_indices(self, queries: Sequence[Query]) -> None:
        sizes = {family: family.size(self.domain) for family in {query.family for query in queries}}
        for query in queries:
            if not 0 <= query.index < sizes[query.family]:
                raise WorkloadError(f"{query.family} has no query number {query.index}.")

    def _affordable(self, rho: Rho) -> Fraction:
        """The charge as an exact number; refuses what is not positive or not covered.

        This speaks early and clearly. The filter that counts is `RunState.check_charge`, at the moment of charging.
        """
        if not (isinstance(rho, (int, float, Fraction)) and 0 < rho < float("inf")):
            raise BudgetError(f"a charge must be a positive number; it is {rho}.")
        charge = Fraction(rho)
        if charge > self.remaining:
            if charge > self.remaining + self.rho * _ROUNDING_SLACK or self.remaining <= 0:
                raise BudgetError(
                    f"this step asks for rho = {float(charge):.4g}, but {float(self.remaining):.4g} is left of "
                    f"{float(self.rho):.4g}. Nothing was charged."
                )
            charge = self.remaining
        return charge


def _named(table: DrawnTable) -> Arrays:
    """Which table a certificate speaks of, to be stored with it."""
    digest = np.frombuffer(bytes.fromhex(table.digest), dtype=np.uint8)
    return {"table_rows": np.array([table.rows]), "table_digest": digest}


def _split(rho: Fraction, parts: int, shares: Sequence[float | Fraction] | None) -> list[Fraction]:
    """Parts of rho in proportion to the shares; they add up to it exactly."""
    if shares is None:
        return [rho / parts] * parts
    if len(shares) != parts or any(not 0 < share < float("inf") for share in shares):
        raise BudgetError("shares of a budget must be positive, one for each marginal.")
    total = sum(Fraction(share) for share in shares)
    return [rho * Fraction(share) / total for share in shares]
