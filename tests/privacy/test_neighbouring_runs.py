"""Whatever leaves a run before its first noisy result is the same on neighbouring tables, to the byte."""

import os
import re
import subprocess
import sys

import pyarrow as pa
import pyarrow.csv
import pytest

from dprap.schema import Schema

ROWS = 60
SCHEMA = {
    "columns": {
        "age": {"type": "integer", "min": 0, "max": 99, "out_of_domain": "clip", "nullable": True},
        "city": {"type": "categorical", "values": ["Rome", "Oslo"], "other": "elsewhere"},
        "paid": {"type": "number", "min": 0, "max": 10, "bins": 5, "out_of_domain": "null", "nullable": True},
    }
}
USUAL = {"age": 30, "city": "Rome", "paid": 2.5}
OTHERS = {
    "another cell": {"age": 31, "city": "Oslo", "paid": 7.5},
    "missing and out of domain": {"age": None, "city": "Llanfairpwllgwyngyll", "paid": 1e300},
}

# Stops dead in the place of the first noisy result: after the charge, before anything of the draw is on the disk.
STOP = """
import os, sys
from dprap.privacy import Ledger
def stop(*_):
    sys.stdout.flush(); sys.stderr.flush(); os._exit(77)
Ledger.store = stop
from dprap.cli import main
main()
"""


def stopped_run(folder, records, *options):
    """What a run on these records showed and left until its first noisy result."""
    folder.mkdir()
    pa.csv.write_csv(pa.Table.from_pylist(records), folder / "table.csv")
    Schema.of(SCHEMA).save(folder / "schema.yaml")
    inputs = set(folder.iterdir())
    run = subprocess.run(
        [sys.executable, "-c", STOP, "synth", "table.csv", "--schema", "schema.yaml", "--epsilon", "1", "--delta", "1e-5",
         "--kway", "2", "--seed", "3", "--out", "out", "--yes", *options],
        cwd=folder, env={**os.environ, "PYTHONLOGLEVEL": "DEBUG"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 77, run.stderr
    left = {
        str(path.relative_to(folder)): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path not in inputs
    }
    assert "out.private/ledger.jsonl" in left
    return run.stdout, re.sub(r"^ +\d+\.\d s", "TIME", run.stderr, flags=re.MULTILINE), left


@pytest.mark.parametrize(("method", "other"), list(zip(["independent", "adaptive"], OTHERS, strict=True)))
def test_replacing_a_record(tmp_path, method, other):
    first = stopped_run(tmp_path / "run0", [USUAL] * ROWS, "--method", method)
    assert "count 0/1" in first[1]  # progress was shown
    assert stopped_run(tmp_path / "run1", [*[USUAL] * (ROWS - 1), OTHERS[other]], "--method", method) == first


def test_adding_records_where_their_number_is_private(tmp_path):
    options = ("--method", "independent", "--neighbors", "add-remove")
    first = stopped_run(tmp_path / "run0", [USUAL] * 99, *options)
    assert stopped_run(tmp_path / "run1", [*[USUAL] * 99, OTHERS["another cell"]], *options) == first
