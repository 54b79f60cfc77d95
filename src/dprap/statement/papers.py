"""The steward's papers, as data and as files."""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

from dprap.errors import SettingsError
from dprap.release import Release
from dprap.report.guarantee_texts import language as language_texts
from dprap.report.write import write_page
from dprap.statement.about import About
from dprap.statement.dictionary import citation, croissant, data_package, dictionary
from dprap.statement.evaluation import answers
from dprap.statement.plain_words import sections
from dprap.statement.printed_page import page
from dprap.statement.registry_entry import registry_entry

PAPERS = (
    "statement.html",
    "statement.json",
    "datapackage.json",
    "croissant.json",
    "registry.yaml",
)
"""The files that `write_statement` writes, the last one only where enough is stated."""


def statement_of(
    release: Release, about: About | None = None, *, language: str = "en"
) -> dict[str, Any]:
    """Everything that the papers say, as plain data.

    Args:
        release: The release.
        about: Names and purpose, as the steward states them.
        language: The language of the guarantee in plain words: en, de, fr or es.

    Returns:
        The sections in plain words, the answers, the registry's entry (None while something that
        it requires is not stated), the dictionary and the citation.

    """
    about = about or About()
    plain = sections(release, about, language_texts(language))
    return {
        "guarantee": release.guarantee,
        "sections": [
            {
                "title": each.title,
                "text": list(each.paragraphs),
                **({} if each.table is None else {"table": asdict(each.table)}),
            }
            for each in plain
        ],
        "nist_sp_800_226": [asdict(answer) for answer in answers(release)],
        "registry": None if about.missing else registry_entry(release, about),
        "columns": dictionary(release),
        "citation": citation(release, about),
    }


def write_statement(
    release: Release,
    folder: Path | str,
    about: About | None = None,
    *,
    language: str = "en",
    table: Path | str = "synthetic.parquet",
) -> list[Path]:
    """Write the papers of a release into a folder; they hold only what the release and the steward
    say.

    Args:
        release: The release.
        folder: Where to write; it is made if need be.
        about: Names and purpose, as the steward states them.
        language: The language of the guarantee in plain words: en, de, fr or es.
        table: The file of the synthetic table, for the metadata. They name it, and have its digest
            if it is there.

    Returns:
        The files: statement.html, statement.json, datapackage.json, croissant.json, and
        registry.yaml where everything is stated that the registry requires.

    Raises:
        SettingsError: If a file cannot be written, or there is no such translation.
    """
    about = about or About()
    folder = Path(folder)
    data = statement_of(release, about, language=language)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"cannot write to {folder}: {error.strerror}.") from None
    text = page(
        about,
        sections(release, about, language_texts(language)),
        answers(release),
        data["columns"],
        citation=data["citation"],
        language=language,
    )
    table = Path(table)
    digest = sha256(table.read_bytes()).hexdigest() if table.is_file() else None
    contents = [
        text,
        _json(data),
        _json(data_package(release, about, table=table.name, sha256=digest)),
        _json(croissant(release, about, table=table.name, sha256=digest)),
    ]
    if data["registry"] is not None:
        contents.append(
            yaml.safe_dump(data["registry"], sort_keys=False, allow_unicode=True, width=100)
        )
    files = dict(zip(PAPERS, contents, strict=False))
    for name, content in files.items():
        write_page(folder / name, content)
    return [folder / name for name in files]


def require_own_folder(folder: Path) -> None:
    """Refuse a folder that nobody named and that holds other things than papers of dprap.

    Raises:
        SettingsError: If there is such a folder.
    """
    try:
        found = {path.name for path in folder.iterdir()}
    except FileNotFoundError:
        return
    except OSError as error:
        raise SettingsError(f"cannot write to {folder}: {error.strerror}.") from None
    if found and ("statement.json" not in found or not found <= set(PAPERS)):
        raise SettingsError(
            f"the folder {folder} exists already and holds other files. Name a folder for the"
            " papers."
        )


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"
