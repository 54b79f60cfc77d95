"""Record and replay of the command line: from the cells of a file to the release, the screen and
the private folder.
"""

import sys
import uuid

import pyarrow as pa
import pyarrow.csv
import pytest
from tests.cli.driving import in_process
from tests.privacy.replaying import INPUTS, Tape, difference, on

from dprap.schema import Schema

SCHEMA = {
    "columns": {
        "age": {"type": "integer", "min": 0, "max": 99, "out_of_domain": "clip", "nullable": True},
        "city": {"type": "categorical", "values": ["Rome", "Oslo"], "other": "elsewhere"},
        "paid": {
            "type": "number",
            "min": 0,
            "max": 10,
            "bins": 5,
            "out_of_domain": "null",
            "nullable": True,
        },
    }
}
USUAL = {"age": 30, "city": "Rome", "paid": 2.5}
OTHER = {"age": 31, "city": "Oslo", "paid": 7.5}
WILD = {"age": None, "city": "Llanfairpwllgwyngyll", "paid": 1e300}
HUGE = {"age": 10**15, "city": "", "paid": float("inf")}


def people(records, rows_each):
    """The records with an id for every `rows_each` of them."""
    return [record | {"person": number // rows_each} for number, record in enumerate(records)]


def command(folder, monkeypatch, capfd, records, *options, forced=None):
    """What a run on these records showed and left."""
    inputs = folder / INPUTS
    inputs.mkdir(parents=True)
    pa.csv.write_csv(pa.Table.from_pylist(records), inputs / "table.csv")
    Schema.of(SCHEMA).save(inputs / "schema.yaml")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=7))  # the name of the run
    tape = Tape()
    with on(tape, forced=forced, folder=folder, capture=capfd):
        done = in_process(
            monkeypatch, capfd, "synth", f"{INPUTS}/table.csv", "--schema", f"{INPUTS}/schema.yaml", "--epsilon", "1",
            "--delta", "1e-5", "--kway", "2", "--seed", "3", "--out", "out", "--yes", "--no-check",
            *(() if DEFAULT_PLACE in options else ("--ledger", "ledger.jsonl")),
            *(option for option in options if option != DEFAULT_PLACE),
        )  # fmt: skip
        assert done.code == 0, done.err
        sys.stdout.write(done.out)
        sys.stderr.write(done.err)
    return tape


# no option: the ledger then stands where it stands by default, beside the table
DEFAULT_PLACE = "the ledger in its default place"
ADD_REMOVE = ("--neighbors", "add-remove")
TWO_ROWS = ("--person-column", "person", "--max-rows-per-person", "2")
PAIRS = {
    "another cell": ([USUAL] * 60, [*[USUAL] * 59, OTHER], ("--method", "independent")),
    "missing and out of domain": ([USUAL] * 60, [*[USUAL] * 59, WILD], ("--method", "adaptive")),
    "beside the table": (
        [USUAL] * 60,
        [*[USUAL] * 59, WILD],
        (DEFAULT_PLACE, "--method", "independent"),
    ),
    "huge": ([OTHER, *[USUAL] * 63], [HUGE, *[USUAL] * 63], ("--method", "gaussian")),
    "one more digit": (
        [USUAL] * 99,
        [*[USUAL] * 99, OTHER],
        (*ADD_REMOVE, "--method", "independent"),
    ),
    "a power of two": ([USUAL] * 64, [USUAL] * 63, (*ADD_REMOVE, "--method", "adaptive")),
    "all of a person": (
        people([USUAL] * 60, 2),
        people([*[USUAL] * 58, WILD, OTHER], 2),
        (*TWO_ROWS, "--method", "adaptive"),
    ),
    "a person with too many records": (
        people([USUAL] * 64, 2),
        [*people([USUAL] * 64, 2), *[WILD | {"person": 99}] * 9],
        (*ADD_REMOVE, *TWO_ROWS, "--excess", "drop", "--method", "independent"),
    ),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_the_command_line_shows_noisy_results_alone(tmp_path, monkeypatch, capfd, pair):
    records, others, options = PAIRS[pair]
    first = command(tmp_path / "run0", monkeypatch, capfd, records, *options)
    second = command(tmp_path / "run1", monkeypatch, capfd, others, *options, forced=first)
    assert difference(first, second) is None
    before = next(event for event in first.events if event[0] == "result")
    # progress was shown, and compared, before the first noisy result
    assert "count 0/1" in before[-1]
    assert any("ledger.jsonl" in name for name in before[3])
    assert {"out/release.json", "out/measurements.parquet"} <= set(first.files)
