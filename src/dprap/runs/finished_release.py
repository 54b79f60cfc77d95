"""What a front end does with a finished release: read it, ask it, show its report, compare it.

Nothing here spends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprap.arguments import as_path
from dprap.errors import SettingsError
from dprap.release import Release, load
from dprap.release.answer_question import Answered
from dprap.release.figures import Figures
from dprap.release.intervals.interval import DEFAULT_LEVEL
from dprap.release.statistics_answers import answer as answer_question
from dprap.runs.named_code import NamedCode, with_functions
from dprap.runs.options import RunOptions
from dprap.runs.python_messages import worded_for_python

if TYPE_CHECKING:
    from dprap.evaluate.against_truth import Evaluation


def load_release(folder: Path) -> Release:
    """Read a release from its folder."""
    return load(folder)


def answer(
    release: Release,
    question: str,
    by: tuple[str, ...],
    *,
    level: float = DEFAULT_LEVEL,
    population: bool = False,
) -> Answered | Figures:
    """Answer a question from a release, broken down by some columns, with intervals at a level."""
    return answer_question(release, question, by=by, level=level, population=population)


def write_report_of(release: Release, path: Path | None, *, language: str = "en") -> Path:
    """Write the release's own page, which may be published; to `report.html`, unless a file is
    given.

    Raises:
        SettingsError: If no file is given and `report.html` is not a page of dprap.
    """
    from dprap.report import require_own_page, write_report

    if path is None:
        path = Path("report.html")
        require_own_page(path)
    write_report(release, path, language=language)
    return path


def write_statement_of(
    release: Release,
    folder: Path | None,
    about: Mapping[str, str],
    *,
    language: str = "en",
    table: Path | str | None = None,
) -> list[Path]:
    """Write the steward's papers of a release.

    Args:
        release: The release.
        folder: The folder to write to; `statement`, unless given.
        about: What only the steward knows: the fields of `dprap.statement.About`.
        language: The language of the guarantee in plain words: en, de, fr or es.
        table: The file of the synthetic table, for the metadata.

    Returns:
        The files.

    Raises:
        SettingsError: If no folder is given and `statement` holds other files.
    """
    from dprap.statement import About, require_own_folder, write_statement

    file = "synthetic.parquet" if table is None else as_path(table, "the file of the table")
    if folder is None:
        folder = Path("statement")
        require_own_folder(folder)
    return write_statement(release, folder, About.of(about), language=language, table=file)


def comparison_path(folder: Path, given: Path | None = None) -> Path:
    """Where the page that compares a release with the private table goes: beside the release, never
    in it.

    Raises:
        SettingsError: If the given place lies in the release.
    """
    folder = folder.resolve()
    path = given or folder.with_name(f"{folder.name}-NOT-PRIVATE.html")
    if path.resolve().is_relative_to(folder):
        raise SettingsError(
            f"{path} lies in the release, which is made to be published. Choose a --report outside"
            " of it."
        )
    return path


def compare(
    folder: Path,
    table: str,
    path: Path,
    reading: Mapping[str, Any],
    *,
    targets: Sequence[str] | None = None,
) -> Evaluation:
    """Measure the true errors of a release and write the page with the truth in it. NOT PRIVATE.

    Args:
        folder: The release.
        table: The private table it was made from.
        path: Where to write the page.
        reading: Options that say how the table is read, and `queries`, the code of custom queries.
        targets: Columns that models predict.

    Returns:
        The evaluation.

    """
    return _evaluated(load(folder), table, reading, path=path, targets=targets)


def evaluate_against(
    release: Release,
    table: Any,
    reading: Mapping[str, Any],
    *,
    path: Path | None = None,
    targets: Sequence[str] | None = None,
) -> Evaluation:
    """Measure the true errors of a release, and write the page with the truth in it if a path is
    given. NOT PRIVATE.

    Args:
        release: The release.
        table: The private table it was made from: in memory, in files, in a database or in Spark.
        reading: Options that say how the table is read, and `queries`, the code of custom queries.
        path: Where to write the page.
        targets: Columns that models predict.

    Returns:
        The evaluation.

    Raises:
        DprapError: If the table cannot be read by the release's schema; in the words of Python.
    """
    with worded_for_python():
        return _evaluated(release, table, reading, path=path, targets=targets)


def _evaluated(
    release: Release,
    table: Any,
    reading: Mapping[str, Any],
    *,
    path: Path | None,
    targets: Sequence[str] | None,
) -> Evaluation:
    from dprap.evaluate import evaluate_release
    from dprap.report import evaluate_report
    from dprap.runs.carry_out import open_table
    from dprap.sources.open import is_elsewhere

    made_with = release.privacy
    options = RunOptions.of(
        epsilon=made_with.epsilon,
        neighbors=made_with.relation,
        max_rows_per_person=made_with.max_rows_per_person,
        **reading,
    )
    code = NamedCode.of(options.queries)
    release = replace(release, workload=with_functions(release.workload, code, release.schema))
    source = open_table(table, release.schema, options)
    found = evaluate_release(
        release,
        source,
        None if is_elsewhere(table, options.engine) else table,
        targets=targets,
        ignored=() if options.person_column is None else (options.person_column,),
    )
    if path is not None:
        evaluate_report(release, source, path, found)
    return found
