"""The settings of a method, as the options give them: a value of a wrong kind is refused."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dprap.errors import SettingsError
from dprap.mechanisms import DEFAULT_METHOD
from dprap.mechanisms.registry import Method
from dprap.runs.option_values import is_of_kind
from dprap.runs.options import RunOptions
from dprap.schema import Schema


def settings_of(method: Method, given: Mapping[str, Any], preset: str | None) -> Any:
    """The settings of a method; a value of a wrong kind is refused before it can stop a run that
    has spent.
    """
    _check_kinds(method, given)
    try:
        return method.settings(given, preset)
    except (TypeError, ValueError, AttributeError):
        raise SettingsError(
            f"method {method.name}: a setting has a value of the wrong kind."
        ) from None


def with_targets(method: Method, settings: Any, options: RunOptions, schema: Schema) -> Any:
    """The settings with the columns that models will predict."""
    if options.target is None:
        return settings
    if not hasattr(settings, "targets"):
        raise SettingsError(
            f"method {method.name} has no targets. Leave --target out, or use {DEFAULT_METHOD}."
        )
    for name in options.target:
        if name not in schema.domain.names:
            raise SettingsError(
                f"--target names the column {name!r}, which the schema does not have."
            )
    return replace(settings, targets=tuple(options.target))


def _check_kinds(method: Method, given: Mapping[str, Any]) -> None:
    """Refuse a value of another kind than its setting declares, where that is a simple one."""
    try:
        hints = typing.get_type_hints(method.mechanism.settings)
    # an author's annotations that cannot be read: the class itself takes the values, or refuses
    except (NameError, TypeError):
        return
    for name, value in given.items():
        kinds = _kinds(hints.get(name))
        if kinds and value is not None and not any(is_of_kind(value, kind) for kind in kinds):
            allowed = " or ".join(kind.__name__ for kind in kinds)
            raise SettingsError(
                f"method {method.name}: setting {name} must be of the kind {allowed}, not"
                f" {type(value).__name__}."
            )


def _kinds(hint: Any) -> tuple[type, ...]:
    """The simple kinds that a hint allows, or none where it allows others."""
    parts = (
        typing.get_args(hint)
        if typing.get_origin(hint) in (typing.Union, types.UnionType)
        else (hint,)
    )
    parts = tuple(part for part in parts if part is not type(None))
    return parts if all(part in (bool, int, float, str) for part in parts) else ()
