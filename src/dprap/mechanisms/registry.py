"""The methods by name. A method is a module with a frozen settings class and functions `run` and `outline`; imported when used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from dprap.errors import SettingsError
from dprap.mechanisms.outline import Outline
from dprap.mechanisms.result import MechanismResult


@dataclass(frozen=True)
class Method:
    """Where a method lives and what people should know about it."""

    name: str
    module: str
    settings_class: str
    summary: str
    takes_public: bool = False
    """Whether `run` and `outline` take a public table to start from, as `public`."""

    def settings(self, given: Mapping[str, Any]) -> Any:
        """The method's settings with the given ones replaced; refuses a setting the method does not have."""
        settings_class = getattr(importlib.import_module(self.module), self.settings_class)
        known = {field.name for field in fields(settings_class)}
        for name in given:
            if name not in known:
                options = ", ".join(sorted(known)) or "none"
                raise SettingsError(f"method {self.name} has no setting {name!r}. Its settings are: {options}.")
        return settings_class(**given)

    @property
    def outline(self) -> Outline:
        """The function that tells, without data, how the method will spend its budget."""
        outline: Outline = importlib.import_module(self.module).outline
        return outline

    @property
    def run(self) -> Callable[..., MechanismResult]:
        """The function that carries the method out."""
        run: Callable[..., MechanismResult] = importlib.import_module(self.module).run
        return run


METHODS = {
    method.name: method
    for method in (
        Method(
            "adaptive",
            "dprap.mechanisms.adaptive",
            "AdaptiveSettings",
            "whole marginals, the worst-answered first; for most uses the best",
            takes_public=True,
        ),
        Method("rap", "dprap.mechanisms.rap", "RapSettings", "the paper's algorithm: single queries, adaptively"),
        Method("gaussian", "dprap.mechanisms.gaussian", "GaussianSettings", "every marginal once; answers only"),
        Method(
            "independent", "dprap.mechanisms.independent", "IndependentSettings", "columns one by one, as if unrelated"
        ),
    )
}
"""The methods a user can choose."""


def method_named(name: str) -> Method:
    """The method of that name."""
    try:
        return METHODS[name]
    except KeyError:
        raise SettingsError(f"there is no method {name!r}. The methods are: {', '.join(METHODS)}.") from None
