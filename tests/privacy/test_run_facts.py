"""What a release says of its own making must not follow from the exact data."""

import time

import numpy as np
from tests.privacy.tables import DOMAIN, REPLACE, codes_of, curator_of, random_rows

from dprap.accounting import Neighbors, Relation
from dprap.privacy.stopwatch import Stopwatch
from dprap.queries import Marginal
from dprap.runs.execute import execute
from dprap.runs.options import RunOptions
from dprap.runs.plan import make_plan
from dprap.schema import Schema
from dprap.sources import MemorySource

ROWS = random_rows(np.random.default_rng(0), DOMAIN, 100)
SCHEMA = Schema.from_domain(dict(zip(DOMAIN.names, DOMAIN.sizes, strict=True)))


class SlowSource(MemorySource):
    """A source whose counting takes long, as it may for some data."""

    def count(self, marginals):
        time.sleep(0.5)
        return super().count(marginals)


def run(neighbors):
    plan = make_plan(
        SCHEMA,
        RunOptions(epsilon=1.0, delta=1e-6, neighbors=neighbors, method="independent"),
        records=100,
    )
    return execute(plan, SlowSource(codes_of(DOMAIN, ROWS)))


def test_seconds_leave_out_the_private_side():
    run(REPLACE)  # compile
    started = time.monotonic()
    release = run(REPLACE)
    assert time.monotonic() - started > 0.5
    assert release.facts.seconds <= time.monotonic() - started - 0.5 + 0.06  # rounded to a tenth


def test_every_verb_is_on_the_clock():
    curator = curator_of(ROWS)
    marginal, estimate = Marginal(("a",)), [np.zeros(2)]
    steps = [
        lambda: curator.prepare([marginal]),
        lambda: curator.measure([marginal], 0.05),
        lambda: list(curator.measure_all([marginal], 0.05)),
        lambda: curator.select([marginal], estimate, k=1, rho=0.05),
        lambda: curator.select_queries([marginal], estimate, k=1, rho=0.05),
        lambda: curator.certify([marginal], estimate, rho=0.05),
        lambda: curator.recode(SCHEMA, {}),
        curator.finish,
    ]
    for step in steps:
        before = curator.private_seconds
        step()
        assert curator.private_seconds > before


def test_peak_memory_depends_on_the_table_and_is_not_published():
    assert run(REPLACE).facts.peak_memory_mb is None
    assert run(Neighbors(Relation.ADD_REMOVE)).facts.peak_memory_mb is None


def test_nested_time_counts_once():
    now = 0.0
    watch = Stopwatch(clock=lambda: now)
    with watch.running():
        now += 1.0
        with watch.running():
            now += 2.0
        now += 4.0
    now += 8.0
    assert watch.seconds == 7.0
    with watch.running():
        now += 16.0
    assert watch.seconds == 23.0
