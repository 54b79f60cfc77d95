"""Schema files as a front end changes them: one column or constraint at a time, checked whole,
saved whole.

The review of a draft is that of `dprap.schema.review`, and its state is in the file: whichever
front end goes on with it, columns that were read stay so, and the same words go into the release.

A change says which version of the file it was made from. Where somebody else changed the file in
the meantime (another window, an editor, the command line) the change is refused, so that nobody
overwrites what they have not seen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from dprap.documents import DocumentError, Form, parse
from dprap.errors import SchemaError
from dprap.schema import Schema
from dprap.schema.files import read_mapping, suggestions_in
from dprap.schema.imports import import_known
from dprap.schema.imports.labels import ENDINGS
from dprap.schema.review import accept, drop, edit, finish, to_review

Change = Callable[[Schema], Schema]

METADATA_ENDINGS = (".json", ".jsonld", ".yaml", ".yml", ".csv", ".tsv", *ENDINGS)
"""Files of other tools that may say what is known of columns."""


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


def change_schema(path: Path, version: str, change: Change) -> Schema:
    """Change a schema file.

    Args:
        path: The file.
        version: Its version when whoever changes it last looked.
        change: Gives the new schema.

    Returns:
        The new schema, which is saved.

    Raises:
        ChangedMeanwhileError: If the file has changed since.
        SchemaError: If the changed schema is not one, or the file cannot be written. Then nothing
            is changed.
    """
    if version_of(path) != version:
        raise ChangedMeanwhileError(
            "the schema was changed elsewhere in the meantime. Look at it again, then repeat this."
        )
    schema = change(load_schema(path))
    declared = schema.as_mapping().get("constraints", [])
    left = [text for text in suggestions_in(path) if _suggested(text) not in declared]
    save_schema(schema, path, suggestions=left)
    return schema


def save_schema(schema: Schema, path: Path, *, suggestions: Sequence[str] = ()) -> None:
    """Write a schema whole or not at all, in place of the file or link that is there."""
    part = path.with_name(f".{path.stem[:100]}.part{path.suffix}")
    try:
        part.unlink(missing_ok=True)
        schema.save(part, suggestions=suggestions)
        part.replace(path)
    except OSError as error:
        raise SchemaError(
            f"{path.name}: cannot be written ({error.strerror}). Check the folder."
        ) from None


def unread_columns(schema: Schema) -> list[str]:
    """The columns of a draft that nobody has accepted yet."""
    return to_review(schema)


def taken_from_data(schema: Schema, name: str) -> tuple[str, ...]:
    """The settings of a column of a draft that somebody must vouch for."""
    note = schema.draft_notes.get(name)
    return (
        ()
        if note is None
        else tuple(key for key in note.from_data if key in schema.as_mapping()["columns"][name])
    )


def suggested_constraints(path: Path) -> list[dict[str, Any]]:
    """The constraints that a draft suggests, as plain data."""
    return [found for text in suggestions_in(path) if (found := _suggested(text))]


def _suggested(text: str) -> dict[str, Any]:
    try:
        found = parse(text.removeprefix("- "), "yaml")
    except DocumentError:
        return {}
    return found if isinstance(found, dict) else {}


def is_known(path: Path) -> bool:
    """Whether a file is of a kind that other tools write."""
    try:
        import_known(path)
    except SchemaError:
        return False
    return True


def check_known(path: Path, names: Sequence[str]) -> None:
    """Refuse a file that says nothing about the columns of these names, or is of no kind that can
    be read.

    Raises:
        SchemaError: With the name of the file left out, since it is the front end's own.
    """
    try:
        known = import_known(path)
    except SchemaError as error:
        raise SchemaError(str(error).replace(f"{path}: ", "")) from None
    if not set(known) & set(names):
        raise SchemaError(
            "the file describes no column of this table. Check the names of its columns."
        )


def replace_column(name: str, column: Mapping[str, Any]) -> Change:
    """A change: describe a column anew.

    What a person changes does not come from the data any more.
    """

    def change(schema: Schema) -> Schema:
        before = schema.as_mapping()["columns"].get(name)
        if before is None:
            raise SchemaError(f"column {name!r}: the schema does not have it any more.")
        changed = {
            key: column.get(key)
            for key in {**before, **column}
            if before.get(key) != column.get(key)
        }
        return edit(schema, name, changed)

    return change


def accept_columns(names: Sequence[str], *, by: str, because: str, on: date) -> Change:
    """A change: take columns of a draft as they are; a person vouches for what came from the
    data.
    """

    def change(schema: Schema) -> Schema:
        for name in names:
            schema = accept(schema, name, by=by, because=because, on=on)
        return schema

    return change


def drop_column(name: str) -> Change:
    """A change: leave a column out of the release, and with it the constraints that name it."""

    def change(schema: Schema) -> Schema:
        mapping = schema.as_mapping()
        kept = [each for each in mapping.get("constraints", []) if name not in _names_in(each)]
        return drop(Schema.of({**mapping, "constraints": kept}), name)

    return change


def add_constraint(constraint: Mapping[str, Any]) -> Change:
    """A change: declare one more thing that cannot occur."""

    def change(schema: Schema) -> Schema:
        mapping = schema.as_mapping()
        return Schema.of(
            {**mapping, "constraints": [*mapping.get("constraints", []), dict(constraint)]}
        )

    return change


def drop_constraint(position: int) -> Change:
    """A change: take a constraint back."""

    def change(schema: Schema) -> Schema:
        mapping = schema.as_mapping()
        kept = [each for at, each in enumerate(mapping.get("constraints", [])) if at != position]
        return Schema.of({**mapping, "constraints": kept})

    return change


def finish_review(schema: Schema) -> Schema:
    """A change: the schema has been reviewed. Its notes, which speak of the data, are taken out."""
    return finish(schema)


def _names_in(constraint: Mapping[str, Any]) -> set[str]:
    single = (constraint.get(key) for key in ("from", "to", "smaller", "larger", "column", "total"))
    return {*constraint.get("where", {}), *constraint.get("parts", ()), *filter(None, single)}
