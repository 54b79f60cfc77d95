"""Schema files: YAML, JSON and TOML read into plain mappings, strictly."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from dprap.errors import SchemaError

_Loader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Dumper: type = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _StrictLoader(_Loader):  # type: ignore[misc]
    """A YAML loader that refuses a key given twice, where plain YAML would keep the last one silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        _refuse_twice(keys)
        return dict(super().construct_mapping(node, deep=deep))


class _KeyTwiceError(ValueError):
    """A key that stands twice in one mapping."""


def _refuse_twice(keys: list[Any]) -> None:
    seen: set[str] = set()
    for key in keys:
        if str(key) in seen:
            raise _KeyTwiceError(str(key))
        seen.add(str(key))


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _refuse_twice([key for key, _ in pairs])
    return dict(pairs)


def read_mapping(path: Path) -> dict[Any, Any]:
    """The mapping in a .yaml, .yml, .json or .toml file."""
    suffix = path.suffix.lower()
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SchemaError(f"{path}: cannot be read ({error.strerror}). Check the path and its permissions.") from None
    except UnicodeDecodeError:
        raise SchemaError(f"{path}: is not UTF-8 text. Save the schema as UTF-8.") from None
    try:
        if suffix in (".yaml", ".yml"):
            content = yaml.load(text, Loader=_StrictLoader)  # noqa: S506 - a subclass of the safe loader
        elif suffix == ".json":
            content = json.loads(text, object_pairs_hook=_unique_pairs)
        elif suffix == ".toml":
            content = tomllib.loads(text)
        else:
            raise SchemaError(f"{path}: a schema file ends in .yaml, .yml, .json or .toml.")
    except _KeyTwiceError as error:
        raise SchemaError(f"{path}: {str(error)!r} is given twice in one mapping. Remove or rename one.") from None
    except (yaml.YAMLError, json.JSONDecodeError, tomllib.TOMLDecodeError, RecursionError, TypeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else getattr(error, "lineno", None)
        where = "" if line is None else f" near line {line}"
        raise SchemaError(f"{path}: is not valid {suffix[1:].upper()}{where}. Check quotes and indentation.") from None
    if not isinstance(content, dict):
        raise SchemaError(f"{path}: a schema is a mapping with the key columns. See docs/schema.md.")
    return content


def write_mapping(mapping: dict[str, Any], path: Path, *, comment: str | None = None) -> None:
    """Write a mapping as YAML or JSON, by the ending of the path; a comment goes on top of YAML only."""
    suffix = path.suffix.lower()
    if suffix == ".json":
        text = json.dumps(mapping, indent=2, ensure_ascii=False) + "\n"
    elif suffix in (".yaml", ".yml"):
        text = yaml.dump(
            mapping, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120, default_flow_style=None
        )
        text = "".join(f"# {line}\n" for line in (comment or "").splitlines()) + text
    else:
        raise SchemaError(f"{path}: schemas are written as .yaml or .json. Choose one of these endings.")
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SchemaError(f"{path}: cannot be written ({error.strerror}). Check the folder.") from None
