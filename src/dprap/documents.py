"""Documents of plain data (YAML, JSON, TOML), read strictly and within limits.

Whatever the bytes of a file are, reading gives plain data or a DocumentError: its text is one line
that says what is wrong, without the path and without a value from the file.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Hashable
from pathlib import Path
from typing import Any, Literal, TypeAlias

import yaml

from dprap.limits import MAX_DOCUMENT_BYTES, MAX_DOCUMENT_DEPTH, MAX_WHOLE_NUMBER

Form: TypeAlias = Literal["yaml", "json", "toml"]
_Loader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TOO_DEEP = f"is nested deeper than {MAX_DOCUMENT_DEPTH} levels. No schema, workload or release is"
# What YAML's constructors raise for a value that its tag does not allow.
_WRONG_VALUE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)


class DocumentError(ValueError):
    """What is wrong with a document."""


class _StrictLoader(_Loader):  # type: ignore[misc]
    """A YAML loader that refuses a key given twice, where plain YAML would keep the last one
    silently.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        _refuse_twice([self.construct_object(key, deep=True) for key, _ in node.value])
        return dict(super().construct_mapping(node, deep=deep))

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep=deep)
        except (DocumentError, yaml.YAMLError):
            raise
        except _WRONG_VALUE:
            kind = {"timestamp": "date", "int": "whole number", "float": "number"}.get(
                node.tag.rpartition(":")[2]
            )
            line = node.start_mark.line + 1
            raise DocumentError(
                f"line {line} has an impossible {kind or 'value'}. Correct it, or quote text"
            ) from None


def read_text(path: Path) -> str:
    """The text of a file, if it is UTF-8 and not too long."""
    try:
        content = bytearray()
        with path.open("rb") as file:
            while len(content) <= MAX_DOCUMENT_BYTES and (part := file.read(1 << 20)):
                content += part
    except OSError as error:
        raise DocumentError(
            f"cannot be read ({error.strerror}). Check the path and its permissions"
        ) from None
    except ValueError:  # a path with NUL or a lone surrogate in it
        raise DocumentError("cannot be read (no such file). Check the path") from None
    if len(content) > MAX_DOCUMENT_BYTES:
        raise DocumentError(
            f"is larger than {MAX_DOCUMENT_BYTES >> 20} MiB. Use bins, groups or a top list"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DocumentError("is not UTF-8 text. Save it as UTF-8") from None


def parse(text: str, form: Form) -> Any:
    """The plain data in a text: mappings without a key twice, lists, texts, numbers, dates.

    >>> parse("a: [1, two]", "yaml")
    {'a': [1, 'two']}
    """
    try:
        if form == "yaml":
            _check_events(text)
            content = yaml.load(text, Loader=_StrictLoader)  # noqa: S506 - a subclass of the safe loader
        elif form == "json":
            content = json.loads(text, object_pairs_hook=_unique_pairs)
        else:
            content = tomllib.loads(text)
    except DocumentError:
        raise
    except (yaml.YAMLError, RecursionError, *_WRONG_VALUE) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else getattr(error, "lineno", None)
        where = "" if line is None else f" near line {line}"
        raise DocumentError(
            f"is not valid {form.upper()}{where}. Check quotes and indentation"
        ) from None
    _check_content(content)
    return content


def require_finite(content: Any) -> None:
    """Raise DocumentError for numbers that JSON has no place for: infinite, or none at all."""
    if any(isinstance(value, float) and not math.isfinite(value) for value in _walk(content)):
        raise DocumentError("has a number that is not finite")


def _check_events(text: str) -> None:
    """Refuse deep nesting before anything recurses into it, and aliases, by which a few lines grow
    to gigabytes.
    """
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            raise DocumentError("has a YAML alias (*name). Write the value out")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DOCUMENT_DEPTH:
            raise DocumentError(_TOO_DEEP)


def _check_content(content: Any) -> None:
    for value in _walk(content):
        if isinstance(value, int) and abs(value) > MAX_WHOLE_NUMBER:
            raise DocumentError("has a whole number of more than 300 digits")


def _walk(content: Any) -> Any:
    """Every key and value, level by level."""
    level = [content]
    for _ in range(MAX_DOCUMENT_DEPTH + 1):
        yield from level
        level = [child for value in level for child in _children(value)]
        if not level:
            return
    raise DocumentError(_TOO_DEEP)


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value, *value.values()]
    return list(value) if isinstance(value, list | tuple | set) else []


def _refuse_twice(keys: list[Any]) -> None:
    seen: set[str] = set()
    for key in keys:
        if str(key) in seen:
            raise DocumentError(f"{str(key)!r} is given twice in one mapping. Remove or rename one")
        seen.add(str(key))


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _refuse_twice([key for key, _ in pairs])
    return dict(pairs)
