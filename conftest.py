"""What all tests and examples share: a folder for ledgers, one for programs that JAX has compiled,
and the commands.

Ledgers of tables in memory go to a folder of their own, not to the user's. A program is compiled
once for all tests, workers and child processes, which is most of what tests of `rap` would cost.
The Makefile names a folder that stays from run to run.
"""

from __future__ import annotations

import os
import tempfile
from functools import cache

import pytest
import typer.main
import typer.testing

# They have no examples to run, and load matplotlib in every worker.
collect_ignore = [
    "bench/src/dprap_bench/figure_parts.py",
    "bench/src/dprap_bench/regime_map.py",
]

_COMPILED = "JAX_COMPILATION_CACHE_DIR"


def pytest_configure(config: pytest.Config) -> None:
    """Name the folder of compiled programs before anything imports JAX; workers inherit it."""
    if _COMPILED not in os.environ:
        folder = tempfile.TemporaryDirectory()
        config.add_cleanup(folder.cleanup)
        os.environ[_COMPILED] = folder.name
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
    # Most programs run for milliseconds, and XLA's optimisations of them take seconds.
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")


@pytest.fixture(autouse=True, scope="session")
def _state_folder() -> object:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "DPRAP_STATE", folder)
        yield


@pytest.fixture(autouse=True, scope="session")
def _commands_built_once() -> object:
    """Keep the commands from call to call: making them from functions takes as long as a plan."""
    kept = cache(typer.main.get_command)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.main, "get_command", kept)
        patch.setattr(typer.testing, "_get_command", kept)
        yield
