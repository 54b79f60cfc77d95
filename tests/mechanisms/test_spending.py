"""A run spends its whole budget, or its release says how much is left."""

import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from tests.mechanisms.small import DOMAIN, curator_on, small_codes
from tests.mechanisms.test_outline import SMALL

from dprap.accounting import Neighbors, Relation
from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.errors import BudgetError, SettingsError
from dprap.mechanisms.adaptive.rules import Rules
from dprap.mechanisms.result import MechanismResult
from dprap.privacy import Curator
from dprap.queries import Halfspace, Marginal
from dprap.relaxed.jax.mixed import AnnealingSettings
from dprap.runs.describe import plan_lines
from dprap.runs.execute import execute
from dprap.runs.forecast import forecast
from dprap.runs.options import RunOptions
from dprap.runs.plan import make_plan
from dprap.schema import Schema
from dprap.sources import MemorySource
from dprap.workload import Workload, all_kway
from dprap_bench.methods import BENCH_METHODS, bench_method

QUICK = {
    **SMALL,
    "fem": {"rounds": 3, "samples": 2},
    "dualquery": {"rounds": 3, "samples": 4},
    "mwem": {"rounds": 3},
    "rap++": {"rounds": 2, "queries_per_round": 3, "fit": AnnealingSettings(levels=2, steps=3)},
}
LOOKS_AT_NOTHING = {"zero", "none"}
# JAX compiles these for seconds; `rap` stands for them in the quick tests.
COMPILED = {"rp", "rap++"}


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("kway", [1, 2])
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in COMPILED))
        for name in sorted({*BENCH_METHODS} - LOOKS_AT_NOTHING)
    ],
)
def test_every_mechanism_spends_all_it_may(name, kway, relation):
    curator = curator_on(small_codes(300), relation=relation)
    curator.set_aside(curator.budget.rho / 50)
    method = bench_method(name)
    given = {key: value for key, value in QUICK.get(name, {}).items() if key not in method.fixed}
    workload = all_kway(DOMAIN, kway)
    if name == "rap++":  # which fits halfspaces, beside marginals
        workload = Workload(DOMAIN, (Halfspace(DOMAIN.names, count=30), *workload.families))
    method.run(curator, workload, method.settings(given, synthetic_rows=0), seed=0)
    assert curator.spent == curator.rho == curator.budget.rho * Fraction(49, 50)


def test_a_single_column_leaves_nothing_to_a_tree_of_pairs():
    codes = Codes.of(Domain.of({"a": 3}), {"a": np.arange(300) % 3})
    curator = curator_on(codes)
    method = bench_method("mst")
    workload = Workload(codes.domain, (Marginal(("a",)),))
    method.run(curator, workload, method.settings({}, synthetic_rows=0), seed=0)
    assert curator.spent == curator.budget.rho


def plan_and_source(method, sizes, relation=Relation.REPLACE, kway=2, rows=300):
    schema = Schema.from_domain(sizes)
    generator = np.random.default_rng(0)
    codes = Codes.of(
        schema.domain, {name: generator.integers(0, size, rows) for name, size in sizes.items()}
    )
    plan = make_plan(
        schema,
        RunOptions(
            epsilon=1.0,
            delta=1e-6,
            neighbors=Neighbors(relation),
            kway=kway,
            max_cells=10_000_000,
            method=method,
            settings=SMALL[method],
            intervals="no",
        ),
        records=rows,
    )
    return plan, MemorySource(codes)


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("method", SMALL)
def test_every_release_has_spent_its_budget(method, relation):
    plan, source = plan_and_source(method, {"a": 3, "b": 4, "c": 2}, relation)
    privacy = execute(plan, source, insecure_noise_seed=1).privacy
    assert privacy.rho_spent == privacy.rho_planned == float(plan.budget.rho)
    assert privacy.unspent() is None


@pytest.mark.parametrize("relation", Relation)
def test_columns_whose_pairs_are_too_large_get_the_whole_budget(relation):
    """Two columns of 1,100 codes have more cells than adaptive measures: nothing but the columns is
    left to pay for.
    """
    sizes = {"a": 1_100, "b": 1_100, "c": 1_100}
    assert Rules().most_cells < 1_100**2
    plan, source = plan_and_source("adaptive", sizes, relation)
    steps = forecast(plan, 300).steps
    assert sum(step.rho for step in steps) == plan.budget.rho
    assert [step.label for step in steps if "choose" in step.label] == []
    assert any("3 columns one by one" in line for line in plan_lines(plan))
    curator = Curator(
        source,
        budget=plan.budget,
        neighbors=plan.neighbors,
        ledger=None,
        insecure_noise_seed=1,
        max_cells=10_000_000,
    )
    result = plan.method.run(curator, plan.workload, plan.settings, seed=0)
    assert curator.spent == curator.budget.rho
    assert result.relaxed is not None


def test_one_pair_that_fits_is_enough_to_go_on():
    plan, source = plan_and_source("adaptive", {"a": 1_100, "b": 1_100, "c": 2})
    release = execute(plan, source, insecure_noise_seed=1)
    assert release.privacy.unspent() is None
    assert any(len(item.marginal.columns) == 2 for item in release.measurements)


def spends_half(curator, workload, settings, *, seed, progress):
    """A method that spends half of its budget on a column, and nothing on the number of records."""
    measured = curator.measure([Marginal(("a",))], curator.remaining / 2)
    return MechanismResult(None, [np.zeros(size) for size in workload.sizes], tuple(measured))


HALF = SimpleNamespace(name="half", run=spends_half, takes_constraints=False, takes_order=False)


def test_a_release_says_what_was_not_spent():
    plan, source = plan_and_source("independent", {"a": 3, "b": 4})
    release = execute(replace(plan, method=HALF), source, insecure_noise_seed=1)
    assert release.privacy.rho_spent == pytest.approx(0.51 * release.privacy.rho_planned)
    assert "49.0% of the planned" in release.guarantee


def spends_nothing(curator, workload, settings, *, seed, progress):
    """A method that measures nothing, so nothing that it returns adds up to the number of
    records.
    """
    return MechanismResult(None, [np.zeros(size) for size in workload.sizes], ())


NOTHING = SimpleNamespace(
    name="nothing", run=spends_nothing, takes_constraints=False, takes_order=False
)


def test_a_method_that_bought_no_number_of_records_is_refused():
    plan, source = plan_and_source("independent", {"a": 3, "b": 4}, Relation.ADD_REMOVE)
    with pytest.raises(BudgetError, match="nothing bought no number of records"):
        execute(replace(plan, method=NOTHING), source, insecure_noise_seed=1)
    assert execute(replace(plan, method=HALF), source, insecure_noise_seed=1).rows > 1


@pytest.mark.parametrize("records", [math.nan, math.inf])
def test_a_method_that_returns_no_finite_number_of_records_is_refused_in_one_line(records):
    def run(*given, **more):
        return replace(spends_half(*given, **more), records=records)

    plan, source = plan_and_source("independent", {"a": 3, "b": 4}, Relation.ADD_REMOVE)
    method = SimpleNamespace(name="vague", run=run, takes_constraints=False, takes_order=False)
    with pytest.raises(SettingsError, match=f"vague returned records={records}, and it must be"):
        execute(replace(plan, method=method), source, insecure_noise_seed=1)


def test_a_method_that_returns_something_else_is_refused_in_one_line():
    plan, source = plan_and_source("independent", {"a": 3, "b": 4})
    forgets = SimpleNamespace(
        name="forgets", run=lambda *_, **__: None, takes_constraints=False, takes_order=False
    )
    with pytest.raises(SettingsError, match="forgets returned NoneType, and its run must return"):
        execute(replace(plan, method=forgets), source, insecure_noise_seed=1)
