"""Schema files as a front end changes them: one column or constraint at a time, checked whole, saved whole.

A change says which version of the file it was made from. Where somebody else changed the file in the meantime (another
window, an editor, the command line) the change is refused, so that nobody overwrites what they have not seen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dprap.documents import DocumentError, Form, parse
from dprap.errors import SchemaError
from dprap.schema import Schema
from dprap.schema.files import read_mapping

Mapped = dict[str, Any]


class ChangedMeanwhileError(SchemaError):
    """The file is not the one that a change was made from."""


def version_of(path: Path) -> str:
    """A name for the content of a file, by which a later change knows it again."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except OSError:
        return ""


def load_schema(path: Path) -> Schema:
    """Read a schema file; messages name the file without its folder."""
    try:
        return Schema.of(read_mapping(path))
    except SchemaError as error:
        raise SchemaError(str(error).replace(f"{path}: ", "")) from None


def read_schema(content: bytes, form: Form) -> Schema:
    """A schema from the content of a file that somebody hands over."""
    try:
        mapping = parse(content.decode("utf-8-sig"), form)
    except DocumentError as error:
        raise SchemaError(f"the file {error}.") from None
    except UnicodeDecodeError:
        raise SchemaError("the file is not UTF-8 text. Save it as UTF-8.") from None
    if not isinstance(mapping, dict):
        raise SchemaError("a schema is a mapping with the key columns. See docs/schema.md.")
    return Schema.of(mapping)


def change_schema(path: Path, version: str, change: Callable[[Mapped], None]) -> Schema:
    """Change a schema file.

    Args:
        path: The file.
        version: Its version when whoever changes it last looked.
        change: Changes the file's mapping in place.

    Returns:
        The new schema, which is saved.

    Raises:
        ChangedMeanwhileError: If the file has changed since.
        SchemaError: If the changed schema is not one, or the file cannot be written. Then nothing is changed.

    """
    if version_of(path) != version:
        raise ChangedMeanwhileError(
            "the schema was changed elsewhere in the meantime. Look at it again, then repeat this."
        )
    mapping = load_schema(path).as_mapping()
    change(mapping)
    schema = Schema.of(mapping)
    save_schema(schema, path)
    return schema


def save_schema(schema: Schema, path: Path) -> None:
    """Write a schema whole or not at all, in place of the file or link that is there."""
    part = path.with_name(f".{path.stem[:100]}.part{path.suffix}")
    try:
        part.unlink(missing_ok=True)
        schema.save(part)
        part.replace(path)
    except OSError as error:
        raise SchemaError(f"{path.name}: cannot be written ({error.strerror}). Check the folder.") from None


def replace_column(name: str, column: Mapping[str, Any]) -> Callable[[Mapped], None]:
    """A change: describe a column anew."""

    def change(mapping: Mapped) -> None:
        if name not in mapping["columns"]:
            raise SchemaError(f"column {name!r}: the schema does not have it any more.")
        mapping["columns"][name] = dict(column)

    return change


def drop_column(name: str) -> Callable[[Mapped], None]:
    """A change: leave a column out of the release, and with it the constraints that name it."""

    def change(mapping: Mapped) -> None:
        mapping["columns"].pop(name, None)
        mapping["ignore_columns"] = [*mapping.get("ignore_columns", []), name]
        kept = [each for each in mapping.get("constraints", []) if name not in _names_in(each)]
        mapping["constraints"] = kept

    return change


def add_constraint(constraint: Mapping[str, Any]) -> Callable[[Mapped], None]:
    """A change: declare one more thing that cannot occur."""

    def change(mapping: Mapped) -> None:
        mapping["constraints"] = [*mapping.get("constraints", []), dict(constraint)]

    return change


def drop_constraint(position: int) -> Callable[[Mapped], None]:
    """A change: take a constraint back."""

    def change(mapping: Mapped) -> None:
        mapping["constraints"] = [each for at, each in enumerate(mapping.get("constraints", [])) if at != position]

    return change


def lift_draft(vouched: Mapping[str, Mapping[str, str]]) -> Callable[[Mapped], None]:
    """A change: the schema has been reviewed.

    Args:
        vouched: For each column who vouches (`by`), why it is public (`because`) and the day (`on`). A schema that has a
            place for this keeps it, so that it is published with the release.

    """

    def change(mapping: Mapped) -> None:
        mapping.pop("draft", None)
        mapping.pop("draft_notes", None)  # they speak of the data
        if "vouched" in Schema.model_fields:
            mapping["vouched"] = {name: dict(word) for name, word in vouched.items() if name in mapping["columns"]}

    return change


def _names_in(constraint: Mapping[str, Any]) -> set[str]:
    return set(constraint.get("where", {})) | {constraint.get("from", ""), constraint.get("to", "")}
