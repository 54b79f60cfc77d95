"""The verdict on a plan: what the noise leaves of the workload."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

import dprap
from dprap.cli.app import app
from dprap.runs.describe import plan_data, plan_lines
from dprap.runs.outlook import verdict

SCHEMA = {
    "columns": {
        "sex": {"type": "categorical", "values": ["F", "M"]},
        "smoker": {"type": "boolean"},
        "age": {"type": "integer", "min": 0, "max": 99},
        "days": {"type": "integer", "min": 0, "max": 199},
    }
}


def planned(**options: object) -> dprap.api.Plan:
    return dprap.plan(
        SCHEMA,
        **{
            "epsilon": 1.0,
            "records": 10_000,
            "kway": 2,
            "method": "gaussian",
            "max_cells": 100_000,
            **options,
        },
    )


def test_a_plan_names_the_columns_whose_cells_drown_in_noise() -> None:
    found = verdict(planned())
    # sex × smoker has 2,500 records a cell, age × days has a quarter of one
    assert found is not None
    assert "of 6 marginals an average cell drowns" in found
    assert "make days (200 codes), age (100 codes)" in found
    assert "fewer columns" not in found
    assert "fewer columns" in str(verdict(planned(kway=3)))
    assert f"verdict     {found}" in re.sub(r"\n {12}", " ", "\n".join(plan_lines(planned())))
    assert plan_data(planned())["verdict"] == found


def test_the_verdict_follows_the_noise() -> None:
    few = str(verdict(planned(epsilon=5.0, records=100_000)))
    assert int(few.split()[1]) < int(str(verdict(planned(epsilon=0.01))).split()[1])
    assert "each of the 1 marginals stands out" in str(
        verdict(planned(kway=None, workload=[("sex", "smoker")]))
    )


def test_no_column_is_to_be_made_coarser_of_which_the_run_finds_intervals() -> None:
    columns = {
        **SCHEMA["columns"],
        "amount": {"type": "number", "min": 0, "max": 500, "decimals": 2},
    }
    plan = dprap.plan({"columns": columns}, epsilon=0.1, records=10_000, kway=2)
    found = str(verdict(plan))
    assert "drowns" in found
    assert "amount" not in found
    assert "make days (200 codes), age (100 codes) coarser, or raise ε" in found


def test_nothing_is_said_where_the_noise_or_the_records_are_not_known() -> None:
    assert verdict(planned(records=None, neighbors="add-remove", delta=1e-9)) is None


@pytest.mark.parametrize(
    ("begun", "expected"), [("--method ada", "adaptive"), ("--neighbors add", "add-remove")]
)
def test_shells_complete_words_of_options(begun: str, expected: str) -> None:
    asked = {
        "_DPRAP_COMPLETE": "complete_bash",
        "COMP_WORDS": f"dprap plan s.yaml {begun}",
        "COMP_CWORD": "4",
    }
    found = CliRunner().invoke(app, [], env=asked, prog_name="dprap")
    assert expected in found.output.split()
