"""Options of a run are declared once, and read alike by the command line, Python and job files."""

import inspect
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st

import dprap
from dprap.accounting import Accounting, Neighbors, Relation
from dprap.cli.app import app
from dprap.datasets import example_schema
from dprap.errors import SettingsError
from dprap.privacy import Excess
from dprap.runs.options import ABOUT, DEFAULTS, RunOptions
from dprap.runs.python_messages import in_python, worded_for_python
from dprap.sources.open import Engine

FOLDER = Path("/data/project/out.private")
COMMANDS = typer.main.get_command(app).commands
PATHS = st.sampled_from([None, "/data/w.yaml", "/data/project/w.yaml", "/w", "hdfs://host/w"])


def flags(command: str) -> set[str]:
    return {form for option in COMMANDS[command].params for form in option.opts}


def test_the_words_are_those_of_the_enumerations():
    assert ABOUT["neighbors"].choices == tuple(Relation)
    assert ABOUT["accounting"].choices == tuple(Accounting)
    assert ABOUT["excess"].choices == tuple(Excess)
    assert ABOUT["engine"].choices == get_args(Engine)


def test_every_option_is_a_flag_of_synth_a_parameter_in_python_and_explained_in_both():
    without_flag = {"settings", "run"}
    assert {about.flag for name, about in ABOUT.items() if name not in without_flag} <= flags(
        "synth"
    )
    assert {"--set", "--rounds", "--queries-per-round", "--synthetic-rows"} <= flags(
        "synth"
    ) & flags("plan")
    for made in (dprap.synthesize, dprap.plan, dprap.Synthesizer.__init__):
        parameters = inspect.signature(made).parameters
        assert set(ABOUT) <= set(parameters)
        assert parameters["epsilon"].default is inspect.Parameter.empty
        assert {name: parameters[name].default for name in DEFAULTS} == DEFAULTS
        for name in set(parameters) - {"self"}:
            assert f"\n    {name}: " in made.__doc__, name
        assert "--" not in made.__doc__


def test_help_stays_light():
    code = (
        "import sys; from dprap.cli.app import app; heavy = {'numpy', 'pydantic', 'pyarrow', 'jax'}"
        " & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@settings(deadline=None)
@given(
    epsilon=st.floats(1e-6, 100),
    delta=st.none() | st.floats(1e-12, 0.5),
    neighbors=st.sampled_from(list(Relation)),
    rows=st.none() | st.integers(1, 10**30),
    settings=st.none() | st.dictionaries(st.text(), st.integers() | st.text() | st.booleans()),
    workload=PATHS,
    public=PATHS,
    ledger=PATHS,
    run=st.none() | st.text(min_size=1),
)
def test_the_plain_form_is_read_back(**values):
    options = RunOptions(**values)
    assert RunOptions.from_plain(options.as_plain(FOLDER), FOLDER) == options


def test_the_plain_form_keeps_no_seed_of_noise_and_no_command():
    options = RunOptions(epsilon=1.0, anchor="command:remember", ledger_cap_rho=Fraction(1, 3))
    plain = options.as_plain(FOLDER)
    assert not {"anchor", "ledger_cap_rho", "insecure_noise_seed"} & set(plain)
    for name in ("anchor", "insecure_noise_seed", "other"):
        with pytest.raises(KeyError):
            RunOptions.from_plain(plain | {name: 1}, FOLDER)
    with pytest.raises(KeyError):
        RunOptions.from_plain(
            {name: value for name, value in plain.items() if name != "accounting"}, FOLDER
        )


def test_objects_in_memory_are_not_kept():
    for name in ("workload", "public"):
        with pytest.raises(SettingsError, match=f"{name} is an object in memory"):
            RunOptions(epsilon=1.0, **{name: object()}).as_plain(FOLDER)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epsilon": "one"}, "^epsilon must be a number, not str"),
        ({"epsilon": None}, "^epsilon must be a number, not NoneType"),
        ({"epsilon": True}, "^epsilon must be a number, not bool"),
        ({"epsilon": 10**400}, "^epsilon is too large"),
        ({"kway": 2.0}, "^kway must be a whole number, not float"),
        ({"rows": 0}, "^rows must be at least 1, not 0"),
        ({"max_cells": 0}, "^max_cells must be at least 1"),
        ({"table_format": "xlsx"}, "^table_format must be parquet or csv, not 'xlsx'"),
        ({"neighbors": "some"}, "^neighbors must be one of replace, add-remove"),
        ({"neighbors": 3}, "^neighbors must be one of replace, add-remove"),
        (
            {"neighbors": Neighbors("replace", 2), "max_rows_per_person": 3},
            "^max_rows_per_person is 3, and",
        ),
        ({"engine": "duck"}, "^engine must be one of memory"),
        ({"accounting": "loose"}, "^accounting must be one of"),
        ({"settings": [("rounds", 3)]}, "^settings must be a mapping"),
        ({"ledger": True}, "^ledger must be a path"),
        ({"ledger": 3}, "^ledger must be a path"),
        ({"ledger": False, "run": "spring"}, "kept by a ledger"),
        ({"insecure_noise_seed": 1, "ledger": "l"}, "no ledger takes it. Leave ledger,"),
        ({"insecure_noise_seed": 1, "run": "spring"}, "kept by a ledger"),
        ({"epsilom": 1}, "there is no option 'epsilom'. Did you mean epsilon"),
        ({"rounds": 3}, "It is a setting of the method: settings="),
        ({"zzz": 3}, "The options are: epsilon, delta"),
    ],
    ids=str,
)
def test_wrong_values_are_refused_at_once_in_the_words_of_python(given, message):
    with pytest.raises(SettingsError, match=message) as refused:
        dprap.plan(example_schema(), records=100, **({"epsilon": 1.0} | given))
    assert "\n" not in str(refused.value)


def test_numbers_of_numpy_and_neighbours_as_an_object():
    options = RunOptions(
        epsilon=np.float64(1), kway=np.int64(2), neighbors=Neighbors(Relation.ADD_REMOVE, 3)
    )
    assert options == RunOptions(epsilon=1.0, kway=2, neighbors="add-remove", max_rows_per_person=3)
    assert type(options.kway) is int
    assert type(options.neighbors) is str


def test_every_flag_has_a_name_in_python():
    for name, about in ABOUT.items():
        if about.flag is not None:
            assert in_python(f"raise {about.flag}.") == f"raise {name}."
    assert in_python("a file my--rows or --rowsize") == "a file my--rows or --rowsize"
    with pytest.raises(SettingsError, match=r"Use settings.*=10"), worded_for_python():
        raise SettingsError("Use --synthetic-rows 10.")


def test_targets_are_names_given_once_and_kept_in_a_job(tmp_path):
    options = RunOptions(epsilon=1.0, target=["income", "sex", "income"])
    assert options.target == ("income", "sex")
    assert RunOptions(epsilon=1.0, target="income").target == ("income",)
    assert RunOptions(epsilon=1.0, target=[]).target is None
    plain = json.loads(json.dumps(options.as_plain(tmp_path)))
    assert RunOptions.from_plain(plain, tmp_path) == options
    with pytest.raises(SettingsError, match="--target must be the name of a column"):
        RunOptions(epsilon=1.0, target=3)
