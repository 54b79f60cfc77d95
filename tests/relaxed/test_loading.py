"""JAX is loaded only where it is used: it costs a second and 100 MB, also in every worker of a
cluster.
"""

import subprocess
import sys

import pytest

from dprap import synthesize
from dprap.datasets import example, example_schema

HEAVY = ("jax", "jaxlib", "optax")

RUN = """
from pathlib import Path
from tempfile import TemporaryDirectory
from dprap import synthesize
from dprap.cli.app import app
from dprap.datasets import example, example_schema

with TemporaryDirectory() as folder:
    release = synthesize(
        example(200, seed=1),
        example_schema(),
        epsilon=1.0,
        kway=2,
        marginals=2,
        method="adaptive",
        settings={"synthetic_rows": 8, "steps": 2, "final_steps": 2},
        ledger=Path(folder) / "ledger",
    )
    release.save(Path(folder) / "out", rows=20)
    for command in (["answer", f"{folder}/out", "sex = female"], ["ledger", "verify", f"{folder}/ledger"], ["--help"]):
        try:
            app(command)
        except SystemExit as exit:
            assert not exit.code, command
"""
# Not with an insecure seed: the noise that counts, and the ledger, are in it.


def loaded_by(code: str, heavy: tuple[str, ...] = HEAVY) -> list[str]:
    """Which heavy libraries a fresh process has loaded after some code."""
    report = f"\nimport sys\nprint('LOADED', *(name for name in {heavy!r} if name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code + report], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1].split()[1:]


@pytest.mark.parametrize(
    "code",
    [
        "import "
        + ", ".join(
            f"dprap.{name}" for name in ("sources", "encoding", "release", "privacy", "relaxed")
        ),
        "import dprap.sources.spark",
        pytest.param(RUN, marks=pytest.mark.slow),
    ],
    ids=["packages", "spark", "table to release, answer and ledger"],
)
def test_jax_is_not_loaded(code):
    assert loaded_by(code) == []


def test_a_question_loads_what_it_needs_alone(tmp_path):
    """Asking a release reads two small files: no data frames, no noise, no readers of tables that
    are not there.
    """
    release = synthesize(
        example(50, seed=1),
        example_schema(),
        epsilon=1.0,
        kway=1,
        method="independent",
        insecure_noise_seed=1,
    )
    release.save(tmp_path / "out", rows=5)
    ask = (
        f"from dprap.cli.app import app\napp(['answer', {str(tmp_path / 'out')!r}, 'sex = female'],"
        " standalone_mode=False)"
    )
    unwanted = (
        "pandas",
        "polars",
        "opendp",
        "scipy",
        "jaxtyping",
        "charset_normalizer",
        "pyarrow.dataset",
        "pyarrow.compute",
        "dprap.encoding.tables",
        "dprap.encoding.draft",
        "dprap.sources",
        "dprap.privacy",
    )
    assert loaded_by(ask, (*HEAVY, *unwanted)) == []


@pytest.mark.slow
def test_the_test_sees_jax_where_it_is_used():
    assert "jax" in loaded_by("import dprap.mechanisms.rap")
