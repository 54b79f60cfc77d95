"""Write reports: the public one, and the one against the private table, which is NOT PRIVATE."""

from __future__ import annotations

import secrets
from pathlib import Path

import numpy as np

from dprap.array_types import Float
from dprap.errors import SettingsError
from dprap.evaluate import Evaluation, exact_answers
from dprap.queries import Marginal
from dprap.release import Release
from dprap.report.column_views import Truth
from dprap.report.guarantee_texts import language as language_texts
from dprap.report.page import page
from dprap.report.pair_views import coarse_cells, cramers_v, pair_marginals
from dprap.sources import CountSource

_MAX_PAIR_CELLS = 1_000_000

# The head of a page names what made it, well within its first bytes.
_OPENING_BYTES = 2_000


def write_report(release: Release, path: Path | str, *, language: str = "en") -> None:
    """Write a page about a release.

    It shows only what the release contains, so it may be published with it.

    Args:
        release: The release.
        path: The file to write.
        language: The language of the guarantee in plain words: en, de, fr or es.

    Raises:
        SettingsError: If the file cannot be written, or there is no such translation.
    """
    texts = language_texts(language)
    write_page(Path(path), page(release, directory=_directory(Path(path)), truth=None, texts=texts))


def evaluate_report(
    release: Release, source: CountSource, path: Path | str, evaluation: Evaluation
) -> None:
    """Write the page with the private table's own figures beside the release's.

    NOT PRIVATE: never publish it.

    Args:
        release: The release.
        source: The private table.
        path: The file to write.
        evaluation: What was measured against the table.

    Raises:
        SettingsError: If the file cannot be written.
        DataError: If the table cannot be read.
    """
    names = release.schema.domain.names
    columns = dict(
        zip(names, exact_answers(source, [Marginal((name,)) for name in names]), strict=True)
    )
    truth = Truth(columns, _true_association(release, source), evaluation)
    write_page(
        Path(path),
        page(release, directory=_directory(Path(path)), truth=truth, texts=language_texts("en")),
    )


def _true_association(
    release: Release, source: CountSource
) -> Float[np.ndarray, "columns columns"]:
    domain = release.schema.domain
    found = np.eye(len(domain))
    pairs = pair_marginals(release, _MAX_PAIR_CELLS)
    for pair, shares in zip(pairs, exact_answers(source, pairs), strict=True):
        a, b = (domain.position(name) for name in pair.columns)
        found[a, b] = found[b, a] = cramers_v(
            coarse_cells(np.asarray(shares).reshape(domain.shape_of(pair.columns)))
        )
    return found


def _directory(path: Path) -> str:
    return path.parent.name if path.name == "report.html" and path.parent.name else "RELEASE"


def require_own_page(path: Path) -> None:
    """Refuse a file that nobody named and that dprap did not write.

    Raises:
        SettingsError: If there is such a file.
    """
    try:
        opening = path.read_bytes()[:_OPENING_BYTES]
    except FileNotFoundError:
        return
    except OSError as error:
        raise SettingsError(f"cannot write {path}: {error.strerror}.") from None
    if b'name="generator" content="dprap' not in opening:
        raise SettingsError(
            f"the file {path} exists already and is not a report of dprap. Name a file for the"
            " report."
        )


def write_page(path: Path, text: str) -> None:
    """Write a file, all of it or nothing; no other file is touched."""
    if not path.name:
        raise SettingsError(f"cannot write {path}: it is a folder. Name a file in it.")
    part = path.with_name(f".dprap-{secrets.token_hex(8)}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise SettingsError(f"cannot write {path}: {error.strerror}.") from error
