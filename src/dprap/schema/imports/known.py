"""A file or an object of another tool, recognised by what is in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

from dprap.documents import DocumentError, parse, read_text
from dprap.errors import SchemaError
from dprap.schema.imports import (
    codebook,
    croissant,
    frictionless,
    json_schema,
    labels,
    pandera,
    sdv,
)
from dprap.schema.schema import Schema

Known: TypeAlias = dict[str, dict[str, Any] | None]
"""Settings by the names of columns; None for a column that is not to be released."""

_KINDS = (
    "SDV metadata, Frictionless, JSON Schema, Croissant, pandera, a SAS, Stata or SPSS file, or a"
    " code book"
)


def import_known(source: Any) -> Known:
    """What a source knows of the columns of a table, complete or not.

    Args:
        source: The path of a file; or a pydantic model, a pandera schema, or the content of a JSON
            file.

    Raises:
        SchemaError: If the source is of no kind that dprap knows.
    """
    if isinstance(source, str | Path):
        return _from_file(Path(source))
    if hasattr(source, "model_json_schema"):
        return json_schema.known(source.model_json_schema())
    if type(source).__module__.startswith("pandera.") or hasattr(source, "to_schema"):
        return pandera.known_object(source)
    if isinstance(source, dict):
        return _from_content(source)
    raise SchemaError(f"nothing is known of a {type(source).__name__}. Give {_KINDS}.")


def import_schema(source: Any) -> Schema:
    """A schema of what a source knows, if that is enough for one.

    Raises:
        SchemaError: If a column lacks what a schema needs, such as bounds.

    """
    known = import_known(source)
    lacking = [
        name
        for name, settings in known.items()
        if settings is not None and not is_complete(settings)
    ]
    if lacking:
        raise SchemaError(
            f"column {lacking[0]!r}: the source gives no list of values or no bounds"
            f" ({len(lacking)} such columns). Complete it from the table: `dprap schema draft TABLE"
            " --known SOURCE`."
        )
    columns = {name: settings for name, settings in known.items() if settings is not None}
    ignored = [name for name, settings in known.items() if settings is None]
    return Schema.of({"columns": columns, "ignore_columns": ignored})


def is_complete(settings: dict[str, Any]) -> bool:
    """Whether settings are enough for a column."""
    needs = {
        "categorical": ("values",),
        "boolean": (),
        "integer": ("min", "max"),
        "number": ("min", "max"),
        "date": ("min", "max"),
        "datetime": ("min", "max"),
    }
    kind = settings.get("type")
    return (kind in needs and all(name in settings for name in needs[kind])) or (
        kind in needs and ("edges" in settings or "groups" in settings)
    )


def _from_file(path: Path) -> Known:
    ending = path.suffix.lower()
    if ending in labels.ENDINGS:
        return labels.known(path)
    if ending in (".csv", ".tsv"):
        return codebook.known(path)
    if ending not in (".json", ".jsonld", ".yaml", ".yml"):
        raise SchemaError(f"{path}: is of no kind that can be imported. Give {_KINDS}.")
    try:
        content = parse(read_text(path), "yaml" if ending.startswith(".y") else "json")
        return _from_content(content)
    except DocumentError as error:
        raise SchemaError(f"{path}: {error}.") from None
    except SchemaError as error:
        raise SchemaError(f"{path}: {error}") from None
    except (KeyError, TypeError, AttributeError, ValueError):
        raise SchemaError(
            f"{path}: is not built as files of its kind are. Check it with the tool that wrote it."
        ) from None


def _from_content(content: Any) -> Known:
    for kind in (pandera, sdv, frictionless, croissant, json_schema):
        if isinstance(content, dict) and kind.is_of_kind(content):
            found: Known = kind.known(content)
            return found
    raise SchemaError(f"the content is of no kind that can be imported. Give {_KINDS}.")
