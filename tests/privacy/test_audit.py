"""Empirical ε on worst-case neighbours: what an attacker can prove from the curator's answers stays
below the promise.

For an event S, P(S | D) ≤ e^ε P(S | D') + δ. Both probabilities are bounded by Clopper–Pearson
limits at ALARM, so a correct curator fails an assertion with probability below 2·ALARM times the
number of events tried, in all below 1e-6. The same audit must convict a curator whose noise is
divided by two: a test of the test. By binomial probabilities it misses a selection once in 10^8
runs. For measurements an event at either end convicts, and each misses once in 300,000 runs: they
are rare counts of different samples, so both miss once in 10^10 or so.
"""

import math

import numpy as np
import pytest
from scipy import stats
from tests.privacy.tables import codes_of

from dprap.accounting import Budget, Neighbors, Relation, epsilon_from_rho
from dprap.domain import Domain
from dprap.privacy import Curator
from dprap.privacy.discrete_gaussian import OPENDP_CELLS
from dprap.privacy.verbs import measure, select
from dprap.queries import Marginal, Query
from dprap.sources import MemorySource

ALARM = 2e-10
RHO, DELTA = 0.5, 0.01

PERSON = 10
# Neighbours differ in ten records of one person, so that the integers are fine steps beside the
# noise.


def proven_epsilon(hits, hits_of_neighbor, trials, delta):
    """Largest ε that the counts of an event refute at the confidence 1 − 2·ALARM."""
    low = stats.beta.ppf(ALARM, hits, trials - hits + 1) if hits else 0.0
    high = (
        stats.beta.isf(ALARM, hits_of_neighbor + 1, trials - hits_of_neighbor)
        if hits_of_neighbor < trials
        else 1.0
    )
    return math.log((low - delta) / high) if low > delta else 0.0


def audit(statistics, statistics_of_neighbor, delta, thresholds):
    """The best of a few threshold events, in both directions."""
    trials = len(statistics)
    return max(
        proven_epsilon(
            int((sign * one >= sign * at).sum()),
            int((sign * other >= sign * at).sum()),
            trials,
            delta,
        )
        for sign in (1, -1)
        for one, other in (
            (statistics, statistics_of_neighbor),
            (statistics_of_neighbor, statistics),
        )
        for at in thresholds
    )


def curator_on(ones, zeros, relation, trials, rho):
    """A table with the same few coins in each of many trials: the noise on each trial is one run of
    the experiment.

    The noise is calibrated to one person in one trial, so a trial's two cells on this table and on
    that of its neighbour are distributed as on two neighbouring tables.
    """
    domain = Domain.of({"trial": trials, "coin": 2})
    trial = np.repeat(np.arange(trials), ones + zeros)
    coin = np.tile(np.repeat([1, 0], [ones, zeros]), trials)
    source = MemorySource(codes_of(domain, np.stack([trial, coin], axis=1)))
    neighbors = Neighbors(relation, PERSON)
    return Curator(source, budget=Budget.of_rho(rho, delta=1e-9), neighbors=neighbors, ledger=None)


CELLS = Marginal(("trial", "coin"))
SMALL = OPENDP_CELLS // 2
# So many trials still go through OpenDP, more through the table.


def by_opendp(ones, zeros, relation):
    curator = curator_on(ones, zeros, relation, SMALL, 5 * RHO)
    return np.concatenate([m.counts.reshape(-1, 2) for m in curator.measure([CELLS] * 5, 5 * RHO)])


def by_table(ones, zeros, relation):
    (measured,) = curator_on(ones, zeros, relation, 5 * SMALL, RHO).measure([CELLS], RHO)
    return measured.counts.reshape(-1, 2)


def by_query(ones, zeros, relation):
    """Single queries, one a trial, each with its own ρ."""
    trials = 5 * SMALL
    curator = curator_on(ones, zeros, relation, trials, trials * RHO)
    measured = curator.measure_queries(
        [Query(CELLS, 2 * trial + 1) for trial in range(trials)], trials * RHO
    )
    return np.array([[0.0, m.count] for m in measured])


EXPERIMENTS = [
    pytest.param(by_opendp, Relation.REPLACE, marks=pytest.mark.slow),
    pytest.param(by_opendp, Relation.ADD_REMOVE, marks=pytest.mark.slow),
    (by_table, Relation.REPLACE),
    (by_table, Relation.ADD_REMOVE),
    (by_query, Relation.REPLACE),
]


def audit_measurements(experiment, relation):
    """A person's ten coins are turned, or taken away; the likelihood ratio is monotone in the
    projection on the change.
    """
    one = experiment(1 + PERSON, 0, relation)
    other = experiment(1, PERSON if relation is Relation.REPLACE else 0, relation)
    change = np.array([-1, 1]) if relation is Relation.REPLACE else np.array([0, 1])
    return audit(one @ change, other @ change, DELTA, np.arange(-40, 60, 4))


@pytest.mark.parametrize(("experiment", "relation"), EXPERIMENTS)
def test_measurements_keep_the_promise(experiment, relation):
    assert 0.5 < audit_measurements(experiment, relation) <= epsilon_from_rho(RHO, DELTA)


@pytest.mark.parametrize(("experiment", "relation"), EXPERIMENTS)
def test_half_the_noise_is_convicted(experiment, relation, monkeypatch):
    honest = measure.stddev_for
    monkeypatch.setattr(measure, "stddev_for", lambda *arguments: honest(*arguments) / 2)
    assert audit_measurements(experiment, relation) > epsilon_from_rho(RHO, DELTA)


PURE_EPSILON = 2 * math.sqrt(2 * RHO)
# An exponential mechanism with ρ = η²Δ²/2 is also 2ηΔ-differentially private with δ = 0: the
# sharper promise to audit.

COINS = Marginal(("coin",))
SELECTIONS = 3_000


def selections(ones, zeros):
    """Which of the two cells is picked as the worse answered."""
    curator = curator_on(ones, zeros, Relation.REPLACE, 1, SELECTIONS * RHO)
    estimates = [np.zeros(2)]
    picks = [
        curator.select_queries([COINS], estimates, k=1, rho=RHO)[0].index for _ in range(SELECTIONS)
    ]
    return np.array(picks)


def audit_selection():
    """Scores (20, 20) and (30, 10): they move by ten, the records of one person, in opposite
    directions.
    """
    return audit(selections(20, 20), selections(10, 30), 0.0, [1])


def test_selections_keep_the_promise():
    assert 0.5 < audit_selection() <= PURE_EPSILON


def test_half_the_noise_on_selections_is_convicted(monkeypatch):
    honest = select.inverse_temperature
    monkeypatch.setattr(select, "inverse_temperature", lambda *arguments: 2 * honest(*arguments))
    assert audit_selection() > PURE_EPSILON
