"""A plan told without data is what a run then does: the same charges and the same noise."""

from fractions import Fraction

import numpy as np
import pytest

from dprap.accounting import Measurement, Neighbors, Relation
from dprap.datasets import example_schema
from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.privacy import Curator
from dprap.queries import Marginal
from dprap.runs.describe import plan_data, plan_lines
from dprap.runs.forecast import forecast
from dprap.runs.options import RunOptions
from dprap.runs.plan import make_plan
from dprap.schema import Schema
from dprap.sources import MemorySource

SIZES = {"a": 3, "b": 4, "c": 2}
ROWS = 300
SMALL = {
    "adaptive": {"synthetic_rows": 8, "steps": 2, "final_steps": 2, "picks": 4, "rounds": 2},
    "rap": {"rounds": 2, "queries_per_round": 3, "synthetic_rows": 8},
    "gaussian": {},
    "independent": {},
}


def plan_of(method, relation=Relation.REPLACE, settings=None, schema=None, rows=ROWS, kway=2):
    return make_plan(
        schema or Schema.from_domain(SIZES),
        RunOptions(
            epsilon=1.0,
            delta=1e-6,
            neighbors=Neighbors(relation),
            kway=kway,
            method=method,
            settings=SMALL[method] if settings is None else settings,
        ),
        records=rows,
    )


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("method", SMALL)
def test_a_run_keeps_to_its_outline(method, relation):
    plan = plan_of(method, relation)
    generator = np.random.default_rng(0)
    codes = Codes.of(
        Domain.of(SIZES), {name: generator.integers(0, size, ROWS) for name, size in SIZES.items()}
    )
    curator = Curator(
        MemorySource(codes),
        budget=plan.budget,
        neighbors=plan.neighbors,
        ledger=None,
        insecure_noise_seed=1,
    )
    curator.set_aside(curator.budget.rho * Fraction(plan.certificate_share))
    result = plan.method.run(curator, plan.workload, plan.settings, seed=0, progress=lambda _: None)
    steps = list(forecast(plan, ROWS).steps)
    assert sum(step.rho for step in steps) == plan.budget.rho
    assert steps.pop().label == "accuracy certificate"
    assert float(sum(step.rho for step in steps)) == pytest.approx(float(curator.spent))
    assert (steps[0].label == "number of records") == (relation is Relation.ADD_REMOVE)
    # where the number of records is private, `adaptive` plans with the noisy one, here within a few
    # percent of it
    tolerance = 0.02 if method == "adaptive" and relation is Relation.ADD_REMOVE else 1e-9
    measured_rho = sum(item.rho for item in result.measurements)
    expected_rho = float(sum(step.rho for step in steps if step.stddev_counts is not None))
    assert measured_rho == pytest.approx(expected_rho, rel=tolerance)
    # nothing measured has more noise than the outline's worst
    worst = max(step.stddev_counts for step in steps if step.stddev_counts is not None)
    assert max(item.stddev_counts for item in result.measurements) <= worst * (1 + tolerance)
    if relation is Relation.ADD_REMOVE:
        (total,) = (
            m
            for m in result.measurements
            if isinstance(m, Measurement) and m.marginal == Marginal(())
        )
        assert total.stddev_counts == pytest.approx(steps[0].stddev_counts)


@pytest.mark.parametrize("method", SMALL)
def test_costs_are_known_where_the_number_of_records_is(method):
    plan = plan_of(method, settings={}, schema=example_schema(), rows=20_000, kway=3)
    known = forecast(plan, 20_000)
    assert 150 < known.memory_mb < 1000
    assert 1 < known.core_seconds < 1000
    assert forecast(plan, 2_000_000).memory_mb > known.memory_mb
    unknown = forecast(plan_of(method, Relation.ADD_REMOVE), None)
    assert (unknown.memory_mb, unknown.core_seconds) == (None, None)
    assert all(step.rho > 0 for step in unknown.steps)


def test_per_query_outlines():
    everything = forecast(plan_of("gaussian", settings={"per": "query"}), ROWS).steps[0]
    once = forecast(plan_of("rap", settings={"rounds": 1}), ROWS).steps[0]
    assert everything.stddev_counts == once.stddev_counts
    assert everything.cells == once.cells == 12 + 6 + 8


def test_the_plan_as_people_and_machines_read_it():
    plan = plan_of("adaptive")
    lines = plan_lines(plan)
    (header,) = (number for number, line in enumerate(lines) if line.startswith("budget"))
    table = lines[header : header + 5]
    assert [line.split()[-1][-1] for line in table] == ["e", "%", "%", "%", "%"]
    # aligned; a choice has no noise to show
    assert len({len(line) for line in (*table[:2], *table[3:])}) == 1
    assert lines[-1].startswith("cost        about ")
    data = plan_data(plan)
    assert sum(step["rho"] for step in data["steps"]) == pytest.approx(data["rho"])
    assert data["steps"][0]["stddev_share"] == data["steps"][0]["stddev_counts"] / ROWS
    private = plan_data(plan_of("adaptive", Relation.ADD_REMOVE, rows=None))
    assert private["memory_mb"] is None
    assert private["steps"][0]["stddev_share"] is None
