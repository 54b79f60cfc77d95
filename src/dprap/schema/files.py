"""Schema files: YAML, JSON and TOML read into plain mappings, strictly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from dprap.documents import DocumentError, Form, parse, read_text
from dprap.errors import SchemaError

SUGGESTED = (
    "Constraints that hold in every record that was looked at. Keep what is known to be so by law"
    " or logic:"
)
"""The line above the suggestions of a draft, which stand as comments below it."""

_Dumper: type = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_FORMS: dict[str, Form] = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml"}


def read_mapping(path: Path) -> dict[Any, Any]:
    """The mapping in a .yaml, .yml, .json or .toml file."""
    form = _FORMS.get(path.suffix.lower())
    try:
        text = read_text(path)
        if form is None:
            raise SchemaError(f"{path}: a schema file ends in .yaml, .yml, .json or .toml.")
        content = parse(text, form)
    except DocumentError as error:
        raise SchemaError(f"{path}: {error}.") from None
    if not isinstance(content, dict):
        raise SchemaError(
            f"{path}: a schema is a mapping with the key columns. See docs/schema.md."
        )
    return content


def write_mapping(
    mapping: dict[str, Any], path: Path, *, comment: str | None = None, below: str | None = None
) -> None:
    """Write a mapping as YAML or JSON, by the ending of the path; comments go on top of YAML, and
    below it.
    """
    suffix = path.suffix.lower()
    if suffix == ".json":
        text = json.dumps(mapping, indent=2, ensure_ascii=False) + "\n"
    elif suffix in (".yaml", ".yml"):
        text = yaml.dump(
            mapping,
            Dumper=_Dumper,
            sort_keys=False,
            allow_unicode=True,
            width=120,
            default_flow_style=None,
        )
        text = _commented(comment) + text + _commented(below)
    else:
        raise SchemaError(
            f"{path}: schemas are written as .yaml or .json. Choose one of these endings."
        )
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SchemaError(
            f"{path}: cannot be written ({error.strerror}). Check the folder."
        ) from None


def suggestions_in(path: Path) -> tuple[str, ...]:
    """The constraints that a draft suggests in its comments, each as one line of YAML."""
    try:
        lines = read_text(path).splitlines() if path.suffix.lower() in (".yaml", ".yml") else []
    except DocumentError:
        return ()
    below = lines[lines.index(f"# {SUGGESTED}") + 1 :] if f"# {SUGGESTED}" in lines else []
    return tuple(line.removeprefix("# ") for line in below if line.startswith("# - "))


def _commented(text: str | None) -> str:
    return "".join(f"# {line}".rstrip() + "\n" for line in (text or "").splitlines())
