"""The baselines as plug-in mechanisms: planned like dprap's own, released like dprap's own, and as
far from data.
"""

from __future__ import annotations

import ast
from fractions import Fraction
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest
from tests.mechanisms.small import DOMAIN, small_codes
from tests.privacy.test_imports import PRIVATE_NAMES

import dprap
import dprap_bench.mechanisms
from dprap.accounting import Measurement, Neighbors, Relation
from dprap.errors import SettingsError
from dprap.mechanisms.registry import method_named, method_names
from dprap.privacy import Curator
from dprap.runs.forecast import forecast
from dprap.runs.options import RunOptions
from dprap.runs.plan import make_plan
from dprap.schema import Schema
from dprap.sources import MemorySource

SMALL: dict[str, dict[str, object]] = {
    "aim": {"iterations": 20, "last_iterations": 20},
    "dualquery": {"rounds": 4, "samples": 3},
    "fem": {"rounds": 3, "samples": 4},
    "hdmm": {},
    "mst": {"iterations": 20},
    "mwem": {"rounds": 3, "passes": 2},
    "zero": {},
}
ROWS = 2000


def plan_of(method: str, relation: Relation = Relation.REPLACE):  # type: ignore[no-untyped-def]
    return make_plan(
        Schema.from_domain(dict(zip(DOMAIN.names, DOMAIN.sizes, strict=True))),
        RunOptions(
            epsilon=1.0,
            delta=1e-7,
            neighbors=Neighbors(relation),
            kway=2,
            method=method,
            settings=SMALL[method],
        ),
        records=ROWS,
    )


def test_the_package_registers_its_methods_and_its_command() -> None:
    assert set(SMALL) <= set(method_names())
    (command,) = entry_points(group="dprap.commands", name="bench")
    assert command.load().info.name == "bench"


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("method", SMALL)
def test_a_run_keeps_to_its_outline(method: str, relation: Relation) -> None:
    if method in ("fem", "dualquery"):
        pytest.importorskip("scipy")
    plan = plan_of(method, relation)
    curator = Curator(
        MemorySource(small_codes(ROWS)),
        budget=plan.budget,
        neighbors=plan.neighbors,
        ledger=None,
        insecure_noise_seed=1,
    )
    curator.set_aside(curator.budget.rho * Fraction(plan.certificate_share))
    result = plan.method.run(curator, plan.workload, plan.settings, seed=0, progress=lambda _: None)
    steps = list(forecast(plan, ROWS).steps)
    assert steps.pop().label == "accuracy certificate"
    assert float(sum(step.rho for step in steps)) == pytest.approx(float(curator.spent))
    if method == "zero":
        assert not steps
        return
    assert curator.remaining == 0
    assert (steps[0].label == "number of records") == (relation is Relation.ADD_REMOVE)
    # the release publishes the number of records by which counts were divided
    first = result.measurements[0] if relation is Relation.ADD_REMOVE else None
    assert result.records == (ROWS if first is None else first.counts.sum())
    measured_rho = sum(item.rho for item in result.measurements)
    assert measured_rho == pytest.approx(
        float(sum(step.rho for step in steps if step.stddev_counts is not None))
    )
    # nothing measured has more noise than the outline's worst
    planned = [step.stddev_counts for step in steps if step.stddev_counts is not None]
    found = [item.stddev_counts for item in result.measurements]
    assert max(found, default=0.0) <= max(planned, default=0.0) * (1 + 1e-9)
    # what is published fits the schema: a release could not be read otherwise
    for item in result.measurements:
        if isinstance(item, Measurement):
            assert item.counts.size == item.marginal.size(plan.workload.domain)


def test_mst_spends_everything_on_a_single_column() -> None:
    plan = make_plan(
        Schema.from_domain({"a": 3}),
        RunOptions(epsilon=1.0, delta=1e-7, kway=1, method="mst"),
        records=300,
    )
    assert sum(step.rho for step in forecast(plan, 300).steps) == plan.budget.rho


def test_mwem_refuses_large_domains_in_the_plan() -> None:
    plan = plan_of("mwem")
    with pytest.raises(SettingsError, match="combinations of values"):
        plan.method.outline(
            plan.workload,
            method_named("mwem").settings({"max_domain": 10}),
            budget_rho=plan.budget.rho,
            neighbors=plan.neighbors,
            rows=ROWS,
        )


def test_a_release_by_mst_with_merged_codes_is_saved_and_read_again(tmp_path: Path) -> None:
    import pandas as pd

    rng = np.random.default_rng(0)
    common = rng.integers(0, 3, 600)
    table = pd.DataFrame(
        {"a": np.append(common, np.arange(60)), "b": np.append(common % 2, np.arange(60) % 2)}
    )
    release = dprap.synthesize(
        table, Schema.from_domain({"a": 60, "b": 2}), epsilon=1.0, kway=2, method="mst",
        settings={"iterations": 20, "synthetic_rows": 100}, insecure_noise_seed=0,
    )  # fmt: skip
    release.save(tmp_path / "release")
    found = dprap.load(tmp_path / "release").measurements
    assert [str(item.marginal) for item in found if isinstance(item, Measurement)][-1].startswith(
        "a ("
    )
    for one, other in zip(found, release.measurements, strict=True):
        assert isinstance(one, Measurement)
        assert isinstance(other, Measurement)
        assert one.marginal == other.marginal
        assert one.counts.tolist() == other.counts.tolist()


def test_baselines_see_a_curator_and_nothing_else() -> None:
    """The rule that `tests/privacy/test_imports.py` has for dprap's own mechanisms, read from the
    source files.
    """
    allowed = ("dprap.privacy", "dprap.privacy.discrete_gaussian")
    files = list(Path(dprap_bench.mechanisms.__path__[0]).glob("*.py"))
    assert len(files) > 10
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert node.module is not None
                assert not node.module.startswith(
                    (
                        "dprap.sources",
                        "dprap.api",
                        "dprap.synthesizer",
                        "dprap.runs",
                        "dprap.cli",
                        "dprap.evaluate",
                    )
                )
                assert not node.module.startswith("dprap.privacy") or node.module in allowed
                assert not {alias.name for alias in node.names} & PRIVATE_NAMES
            elif isinstance(node, ast.Import):
                assert not any(alias.name.startswith("dprap") for alias in node.names)
            elif isinstance(node, ast.Attribute) and not (
                isinstance(node.value, ast.Name) and node.value.id == "self"
            ):
                assert node.attr not in PRIVATE_NAMES, file
