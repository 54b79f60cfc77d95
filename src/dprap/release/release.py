"""A release: everything a run publishes, and what can be done with it.

Nothing in it can be traced to more than what its privacy statement says. `contents` holds the data,
`synthetic_tables` makes tables of it, `asking` answers from it; what writes files is here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dprap.arguments import as_path
from dprap.relaxed.fit import StepCallback, unwatched
from dprap.release.arguments import names_of
from dprap.release.asking import Asking
from dprap.release.contents import RunFacts
from dprap.release.synthetic_tables import TableFormat, as_format

if TYPE_CHECKING:
    from dprap.evaluate import Evaluation

__all__ = ["Release", "RunFacts", "TableFormat", "as_format"]


@dataclass(frozen=True, repr=False)
class Release(Asking):
    """What a run publishes: rows (or plain answers), noisy measurements and the guarantee.

    Its fields are those of `Contents`. `table`, `sample` and `tables` draw synthetic tables, `ask`,
    `answer` and `shares` answer, `report`, `statement` and `save` write files.

    >>> import tempfile
    >>> from dprap import synthesize
    >>> from dprap.datasets import example, example_schema
    >>> private = example(300)
    >>> release = synthesize(
    ...     private,
    ...     example_schema(),
    ...     epsilon=5.0,
    ...     kway=1,
    ...     method="independent",
    ...     insecure_noise_seed=0,
    ... )
    >>> release.rows, release.table_rows, release.facts.method
    (300, 300, 'independent')

    Tables:

    >>> release.table(5, where="sex = female", format="arrow")["sex"].to_pylist()
    ['female', 'female', 'female', 'female', 'female']
    >>> (
    ...     len(release.sample(7)),
    ...     release.codes(7).rows,
    ...     sum(chunk.rows for chunk in release.chunks(7)),
    ... )
    (7, 7, 7)
    >>> release.table_bound(rows=7) >= release.certificate.upper_bound_counts
    True

    Answers:

    >>> [len(shares) for shares in release.shares(release.workload)] == list(release.workload.sizes)
    True
    >>> release.ask("age >= 30", by="sex").groups[0].values
    ('female',)
    >>> len(release.interval("sex")), 0 < release.expected_stddev(release.workload.marginals[0]) < 1
    (3, True)

    Files:

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     saved = release.save(f"{folder}/release", rows=10)
    ...     page = release.report(f"{folder}/report.html")
    ...     papers = release.statement(f"{folder}/statement", title="Example")
    ...     evaluation = release.evaluate(private)
    >>> saved.saved.rows, page.name, len(papers) > 3, type(evaluation).__name__
    (10, 'report.html', True, 'Evaluation')
    """

    def save(
        self,
        directory: Path | str,
        *,
        rows: int | None = None,
        format: str = "parquet",  # noqa: A002
        seed: int | None = None,
        watch: StepCallback = unwatched,
    ) -> Release:
        """Write the release directory, all of it or nothing.

        Args:
            directory: The directory, which must not exist.
            rows: Rows of the table in it; `table_rows`, unless given.
            format: parquet or csv.
            seed: The seed of the table's randomness; the run's, unless given.
            watch: Is told how many rows of the table are written, of how many.

        Returns:
            The release, with the written table and its bound as `saved`.

        Raises:
            ReleaseError: If the directory exists or cannot be written.
            SettingsError: If there is no such format, or the number of rows makes no sense.

        """
        from dprap.release.files import save_release

        saved = save_release(
            self,
            as_path(directory, "the folder to save to"),
            rows=rows,
            table_format=format,
            seed=seed,
            watch=watch,
        )
        return replace(self, saved=saved)

    def report(self, path: Path | str | None = None, *, language: str = "en") -> Path:
        """Write the release's own page, which may be published. `dprap report` writes the same.

        Args:
            path: The file to write. Unless given it is `report.html`, which must not be a page of
                something else.
            language: The language of the guarantee in plain words: en, de, fr or es.

        Returns:
            The file.

        Raises:
            SettingsError: If the file cannot be written, there is no such translation, or no file
                is given and `report.html` is not a report of dprap.

        """
        from dprap.runs.finished_release import write_report_of

        named = None if path is None else as_path(path, "the report's file")
        return write_report_of(self, named, language=language)

    def statement(
        self,
        folder: Path | str | None = None,
        *,
        language: str = "en",
        table: Path | str | None = None,
        **about: str,
    ) -> list[Path]:
        """Write the steward's papers: plain statement, NIST's questions, registry entry, metadata.

        Args:
            folder: The folder to write to, where papers of the same names are replaced. Unless
                given it is `statement`, which must not hold other files.
            language: The language of the guarantee in plain words: en, de, fr or es.
            table: The file of the synthetic table, whose digest stands in the metadata.
            **about: What only the steward knows, such as `title`, `curator`, `intended_use` and
                `region`.

        Returns:
            The files.

        Raises:
            SettingsError: If a file cannot be written, a name or value is refused, or no folder is
                given and `statement` holds other files.
        """
        from dprap.runs.finished_release import write_statement_of

        named = None if folder is None else as_path(folder, "the folder of the papers")
        return write_statement_of(self, named, about, language=language, table=table)

    def evaluate(
        self,
        table: Any,
        *,
        path: Path | str | None = None,
        targets: Sequence[str] | None = None,
        **reading: Any,
    ) -> Evaluation:
        """Measure the true errors of this release against the private table.

        NOT PRIVATE: never publish the result.

        Args:
            table: The private table that the release was made from, as `synthesize` takes it.
            path: Where to write the page with the truth in it; none is written, unless given.
            targets: Columns that models predict; by default one that looks like a target.
            **reading: Options of a run that say how the table is read, such as `engine`; and
                `queries`, the code of custom queries where the release was read back.

        Returns:
            The evaluation; printed, it is a few lines.

        Raises:
            DprapError: If the table cannot be read by the release's schema.
        """
        from dprap.runs.finished_release import evaluate_against

        return evaluate_against(
            self,
            table,
            reading,
            path=None if path is None else as_path(path, "the page's file"),
            targets=None if targets is None else names_of("targets", targets),
        )
