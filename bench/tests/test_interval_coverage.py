"""The tables of docs/intervals.md are made from the kept results."""

import json
from pathlib import Path

import pytest

from dprap_bench.studies import interval_tables, regression_coverage

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("study", "mark"),
    [(interval_tables, "coverage"), (regression_coverage, "regressions")],
    ids=["intervals", "regressions"],
)
def test_the_documented_coverage_is_that_of_the_kept_results(study, mark):
    name = {"coverage": "interval_coverage", "regressions": "regression_coverage"}[mark]
    kept = (ROOT / f"bench/results/{name}.jsonl").read_text(encoding="utf-8").splitlines()
    page = (ROOT / "docs/intervals.md").read_text(encoding="utf-8")
    shown = page.split(f"<!-- {mark}: begin -->")[1].split(f"<!-- {mark}: end -->")[0]
    assert shown.strip().splitlines() == study.as_table([json.loads(line) for line in kept])


def test_cells_are_put_together_by_their_answers():
    parts = [
        {"all n": 10.0, "all none": 0.0, "all covered": 0.9, "calibration_over_run": 0.5},
        {"all n": 40.0, "all none": 10.0, "all covered": 0.94, "calibration_over_run": 0.7},
    ]
    together = interval_tables.merged(parts)
    assert together["all n"] == 50.0
    assert together["all none"] == 10.0
    assert together["all covered"] == pytest.approx(0.93)  # 10 answers and 30
    assert together["calibration_over_run"] == pytest.approx(0.6)
