"""What a mechanism is to dprap: the object that an entry point of the group `dprap.mechanisms`
names.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dprap.errors import SettingsError
from dprap.mechanisms.outline import Outline
from dprap.mechanisms.result import MechanismResult


@dataclass(frozen=True)
class Mechanism:
    """A mechanism: how it runs, how it plans, what can be set, and a few words for people.

    Attributes:
        run: `run(curator, workload, settings, *, seed, progress) -> MechanismResult`. It spends the
            curator's budget through the curator's verbs and sees no data.
        outline: `outline(workload, settings, *, budget_rho, neighbors, rows) -> list[PlannedStep]`.
            It tells how `run` will spend the budget, with the same arithmetic and without data.
        settings: A frozen dataclass in which every field has a default.
        summary: What people should know about the mechanism, in a few words.
        takes_public: Whether `run` and `outline` take a public table to start from, as `public`.
        takes_constraints: Whether `run` takes what cannot occur, as `constraints`: those of the
            schema, in codes.
        takes_order: Whether `run` takes how many codes of each ordered column have an order, as
            `ordered`: codes of missing values and the like follow them.
        predicts: Whether the results of `run` have predictions, so that the run is repeated on its
            own table to find intervals; `dprap plan` counts that in.
        presets: Settings that go together, by the name that `--preset` gives them.

    Raises:
        SettingsError: A part is missing or cannot be called the way dprap will call it.
    """

    run: Callable[..., MechanismResult]
    outline: Outline
    settings: type[Any]
    summary: str
    takes_public: bool = False
    takes_constraints: bool = False
    takes_order: bool = False
    predicts: bool = False
    presets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        public = ("public",) if self.takes_public else ()
        known = (
            *(("constraints",) if self.takes_constraints else ()),
            *(("ordered",) if self.takes_order else ()),
        )
        _check_call(
            "run",
            self.run,
            ("curator", "workload", "settings"),
            ("seed", "progress", *public, *known),
        )
        _check_call(
            "outline",
            self.outline,
            ("workload", "settings"),
            ("budget_rho", "neighbors", "rows", *public),
        )
        if not (isinstance(self.settings, type) and dataclasses.is_dataclass(self.settings)):
            raise SettingsError("a mechanism's `settings` must be a frozen dataclass.")
        try:
            hash(self.settings())
        except TypeError:
            raise SettingsError(
                "a mechanism's `settings` must be a frozen dataclass with a default for every"
                " field."
            ) from None


def _check_call(
    part: str, function: Any, positional: tuple[str, ...], named: tuple[str, ...]
) -> None:
    wanted = f"{part}({', '.join((*positional, '*', *named))})"
    if not callable(function):
        raise SettingsError(f"a mechanism's `{part}` must be a function: {wanted}.")
    try:
        inspect.signature(function).bind(*positional, **dict.fromkeys(named))
    except TypeError:
        raise SettingsError(f"a mechanism's `{part}` must be callable as {wanted}.") from None
