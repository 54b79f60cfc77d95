"""The table of docs/intervals.md is made from the kept results."""

import json
from pathlib import Path

from dprap_bench.studies.interval_coverage import as_table

ROOT = Path(__file__).parents[2]


def test_the_documented_coverage_is_that_of_the_kept_results():
    kept = (ROOT / "bench/results/interval_coverage.jsonl").read_text(encoding="utf-8").splitlines()
    page = (ROOT / "docs/intervals.md").read_text(encoding="utf-8")
    shown = page.split("<!-- coverage: begin -->")[1].split("<!-- coverage: end -->")[0]
    assert shown.strip().splitlines() == as_table([json.loads(line) for line in kept])
