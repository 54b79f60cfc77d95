"""The tutorials about PostgreSQL and Spark run on real engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.docs.pages import DOCS, docs_script

import dprap
from dprap.privacy import read_ledger


def run(page: str) -> dict[str, Any]:
    """Run the Python of a tutorial in the present folder."""
    names: dict[str, Any] = {"__name__": "__tutorial__"}
    for cell in docs_script("make_notebooks").cells(
        (DOCS / "tutorials" / page).read_text(encoding="utf-8")
    ):
        if cell.kind == "python":
            exec(compile(cell.source, page, "exec"), names)  # noqa: S102 - our own page
    return names


# A run leaves the end of its connection to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_postgres(postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DPRAP_TUTORIAL_DATABASE", postgres_url)
    run("postgres.md")
    assert dprap.load("release").rows == 2000
    assert read_ledger(Path("people.ledger")).spent_rho > 0


@pytest.mark.filterwarnings("ignore")
def test_spark(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # the session's own folder is that in which it was started
    read = type(spark.read).parquet
    monkeypatch.setattr(
        type(spark.read), "parquet", lambda reader, path: read(reader, str(tmp_path / path))
    )
    run("spark.md")
    assert dprap.load("release").rows == 2000
    assert read_ledger(Path("people.ledger")).spent_rho > 0
