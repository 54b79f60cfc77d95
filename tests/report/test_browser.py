"""The report in a real browser. Skipped where there is none."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.report.many import related_release

from dprap import synthesize
from dprap.report import write_report
from dprap.schema import Schema

BROWSER = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (found := shutil.which(name))
    ),
    None,
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        BROWSER is None, reason="no chromium: install it to see the report in a browser"
    ),
]


def run_browser(tmp_path: Path, page: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    assert BROWSER is not None
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
    ]
    flags += [
        f"--user-data-dir={tmp_path / 'profile'}",
        "--enable-logging=stderr",
        "--v=0",
        "--virtual-time-budget=2000",
    ]
    return subprocess.run(
        [BROWSER, *flags, *arguments, page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )


# sums the area of every plot after layout, and says whether the page sticks out to the right, and
# how many texts of a plot stick out of it
PROBE = """<script>window.addEventListener('load', () => {
  const plots = [...document.querySelectorAll('svg[role=img]')].map(p => p.getBoundingClientRect());
  const wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
  const bars = [...document.querySelectorAll('.bar')].filter(b => b.getBoundingClientRect().width > 0).length;
  const cut = [...document.querySelectorAll('svg[role=img] text')].filter(t => {
    const text = t.getBoundingClientRect(), plot = t.ownerSVGElement.getBoundingClientRect();
    return text.left < plot.left - 1 || text.right > plot.right + 1 || text.bottom > plot.bottom + 1;
  }).length;
  document.body.setAttribute('data-probe', [plots.length, plots.filter(p => p.width > 50 && p.height > 12).length, bars, wide,
    getComputedStyle(document.body).backgroundColor, cut].join('|'));
});</script>"""


def probed(tmp_path: Path, page: Path, *arguments: str) -> list[str]:
    # the page forbids scripts, so the probe goes into a copy without that rule
    text = re.sub(
        r'<meta http-equiv="Content-Security-Policy"[^>]*>', PROBE, page.read_text(encoding="utf-8")
    )
    copy = tmp_path / "probed.html"
    copy.write_text(text, encoding="utf-8")
    found = re.search(
        r'data-probe="([^"]*)"', run_browser(tmp_path, copy, "--dump-dom", *arguments).stdout
    )
    assert found is not None
    return found[1].split("|")


@pytest.mark.parametrize("columns", [5, pytest.param(100, marks=pytest.mark.slow)])
def test_plots_are_there_and_nothing_sticks_out(tmp_path: Path, columns: int) -> None:
    release, _ = related_release(columns, relaxed_rows=60)
    page = tmp_path / "report.html"
    write_report(release, page)
    for size in ("1280,900", "500,900"):
        plots, visible, bars, wide, _, cut = probed(tmp_path, page, f"--window-size={size}")
        assert int(plots) == int(visible) == columns + 3 + 6  # the six strongest pairs
        assert int(bars) > columns * 2
        assert wide == "false"
        assert cut == "0"
    done = run_browser(
        tmp_path, page, f"--screenshot={tmp_path / 'page.png'}", "--window-size=1280,2000"
    )
    assert "CONSOLE" not in done.stderr
    assert (tmp_path / "page.png").stat().st_size > 20_000


def test_it_follows_dark_mode(tmp_path: Path) -> None:
    release, _ = related_release(5, relaxed_rows=60)
    page = tmp_path / "report.html"
    write_report(release, page)
    light = probed(tmp_path, page)[4]
    dark = probed(tmp_path, page, "--blink-settings=preferredColorScheme=0")[4]
    assert light == "rgb(246, 247, 249)"
    assert dark == "rgb(18, 20, 26)"


def test_it_prints(tmp_path: Path) -> None:
    release, _ = related_release(5, relaxed_rows=60)
    page = tmp_path / "report.html"
    write_report(release, page)
    run_browser(tmp_path, page, f"--print-to-pdf={tmp_path / 'page.pdf'}")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def test_long_names_and_values_stay_inside_their_plots(tmp_path: Path) -> None:
    """Values and names as surveys have them, a bin for zero alone, and months over four years."""
    answers = ["yes", "no", "don't know", "refused to answer this question"]
    places = [f"Municipality of {number}hausen" for number in range(25)]
    schema = Schema.of(
        {
            "columns": {
                "household_income_before_taxes": {
                    "type": "number",
                    "edges": [0, 0.01, *range(5000, 65000, 5000), 250_000, 2_000_000],
                    "nullable": True,
                },
                "answer": {"type": "categorical", "values": answers},
                "municipality_of_residence": {"type": "categorical", "values": places},
                "admitted": {
                    "type": "date",
                    "min": "2020-01-01",
                    "max": "2023-12-31",
                    "unit": "month",
                    "nullable": True,
                },
            }
        }
    )
    rng = np.random.default_rng(0)
    days = np.datetime64("2020-01-01") + rng.integers(0, 1400, 800)
    table = pa.table(
        {
            "household_income_before_taxes": rng.lognormal(10, 1, 800).clip(0, 2e6),
            "answer": rng.choice(answers, 800),
            "municipality_of_residence": rng.choice(places, 800),
            "admitted": pa.array(days.astype("datetime64[D]")),
        }
    )
    release = synthesize(
        table, schema, epsilon=3.0, kway=2, insecure_noise_seed=1, intervals=False, progress=False
    )
    page = release.report(tmp_path / "report.html")
    for size in ("1280,900", "500,900"):
        *_, wide, _, cut = probed(tmp_path, page, f"--window-size={size}")
        assert (wide, cut) == ("false", "0")
