"""The methods by name: each is a `Mechanism` that an installed package registers, imported when it
is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from dprap.errors import SettingsError, meant
from dprap.mechanisms.outline import Outline
from dprap.mechanisms.protocol import Mechanism
from dprap.mechanisms.result import MechanismResult
from dprap.plugins import MECHANISMS, installed_names, load_installed


@dataclass(frozen=True)
class Method:
    """A mechanism under the name that its package gives it."""

    name: str
    mechanism: Mechanism

    @property
    def summary(self) -> str:
        """What people should know about the method."""
        return self.mechanism.summary

    @property
    def takes_public(self) -> bool:
        """Whether `run` and `outline` take a public table to start from, as `public`."""
        return self.mechanism.takes_public

    @property
    def takes_constraints(self) -> bool:
        """Whether `run` takes what cannot occur, as `constraints`."""
        return self.mechanism.takes_constraints

    @property
    def takes_order(self) -> bool:
        """Whether `run` takes how many codes of each column have an order, as `ordered`."""
        return self.mechanism.takes_order

    @property
    def predicts(self) -> bool:
        """Whether its run is repeated to find intervals."""
        return self.mechanism.predicts

    @property
    def run(self) -> Callable[..., MechanismResult]:
        """The function that carries the method out."""
        return self.mechanism.run

    @property
    def outline(self) -> Outline:
        """The function that tells, without data, how the method will spend its budget."""
        return self.mechanism.outline

    def settings(self, given: Mapping[str, Any], preset: str | None = None) -> Any:
        """The method's settings, or those of a preset, with the given ones replaced.

        Raises:
            SettingsError: The method does not have such a setting or preset.

        """
        presets = self.mechanism.presets
        if preset is not None and preset not in presets:
            known_presets = ", ".join(presets) or "none"
            raise SettingsError(
                f"method {self.name} has no preset {preset!r}. Its presets are: {known_presets}."
            )
        known = {field.name for field in fields(self.mechanism.settings)}
        for name in given:
            if name not in known:
                options = ", ".join(sorted(known)) or "none"
                raise SettingsError(
                    f"method {self.name} has no setting {name!r}. Its settings are: {options}."
                )
        return self.mechanism.settings(**{**(presets[preset] if preset else {}), **given})


def method_names() -> list[str]:
    """The names of all installed methods, dprap's own first. Imports none of them."""
    return installed_names(MECHANISMS)


def method_named(name: str) -> Method:
    """The installed method of that name.

    Args:
        name: What the user gave as `--method`.

    Returns:
        The method, with its package imported.

    Raises:
        SettingsError: No package declares the name, or the package that does is at fault. The
            message names the package.
    """
    found = load_installed(MECHANISMS, name)
    if found is None:
        names = method_names()
        known = (
            meant(name, names, "The installed methods are")
            if names
            else "None is installed: install dprap with pip."
        )
        raise SettingsError(f"there is no method {name!r}. {known}")
    mechanism, package = found
    if not isinstance(mechanism, Mechanism):
        raise SettingsError(
            f"method {name!r} of package {package} is no `dprap.mechanisms.protocol.Mechanism` with"
            f" run, outline and settings, but a {type(mechanism).__name__}. Its author must"
            " register one."
        )
    return Method(name, mechanism)
