"""A real PostgreSQL server and a real local Spark session; tests are skipped, with the reason,
where one is missing.
"""

from __future__ import annotations

import glob
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest


def _missing(reason: str) -> None:
    if os.environ.get("DPRAP_REQUIRE_ENGINES"):
        pytest.fail(f"{reason}, though make test-engines should have installed it")
    pytest.skip(f"{reason}; make test-engines installs it")


def _server_program(name: str) -> str:
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}")) or [shutil.which(name)]  # noqa: PTH207
    if found[-1] is None:
        _missing(f"PostgreSQL's {name} is not on this machine")
    return str(found[-1])


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """Address of a fresh server that lives as long as the tests."""
    if find_spec("psycopg") is None:
        _missing("psycopg is not installed")
    initdb, pg_ctl = _server_program("initdb"), _server_program("pg_ctl")
    folder = Path(tempfile.mkdtemp(prefix="dprap-postgres-"))
    user = []
    if os.geteuid() == 0:  # the server refuses to run as root
        shutil.chown(folder, "postgres")
        user = ["runuser", "-u", "postgres", "--"]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = folder / "data"
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
    run = {"check": True, "cwd": folder, "stdout": subprocess.DEVNULL}
    subprocess.run(
        [*user, initdb, "-D", data, "-U", "dprap", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"],
        **run,
    )
    rules = data / "pg_hba.conf"
    # who needs a password
    rules.write_text(f"host all keeper 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")
    subprocess.run(
        [*user, pg_ctl, "-D", data, "-w", "-o", options, "-l", folder / "log", "start"], **run
    )
    try:
        yield f"postgresql://dprap@127.0.0.1:{port}/postgres"
    finally:
        subprocess.run([*user, pg_ctl, "-D", data, "-m", "immediate", "stop"], **run)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A local Spark session with two workers."""
    if find_spec("pyspark") is None:
        _missing("pyspark is not installed")
    if shutil.which("java") is None:
        _missing("a Java runtime is not on this machine")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = (
            SparkSession.builder.master("local[2]")
            .appName("dprap tests")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.host", "127.0.0.1")
            .getOrCreate()
        )
    yield session
    session.stop()
