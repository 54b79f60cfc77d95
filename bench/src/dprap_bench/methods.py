"""The methods of the comparisons, by name, with the settings they are run with."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dprap.errors import SettingsError
from dprap.mechanisms.result import MechanismResult
from dprap.privacy import Accounting, rho_from_epsilon


@dataclass(frozen=True)
class BenchMethod:
    """A mechanism's module and settings class, fixed settings, and whether `synthetic_rows` must be asked for."""

    module: str
    settings_class: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    models: bool = False

    @property
    def available(self) -> bool:
        """Whether the mechanism exists in this version."""
        return importlib.util.find_spec(f"dprap.mechanisms.{self.module}") is not None

    def settings(self, given: Mapping[str, Any], *, synthetic_rows: int) -> Any:
        """Settings of a run; a positive `synthetic_rows` asks a method with a model for that many records."""
        settings_class = getattr(importlib.import_module(f"dprap.mechanisms.{self.module}"), self.settings_class)
        chosen = {**self.fixed, **given}
        if "max_steps" in chosen:
            from dprap.relaxed.projection import ProjectionSettings

            chosen["projection"] = ProjectionSettings(max_steps=chosen.pop("max_steps"))
        if self.models and synthetic_rows:
            from dprap_bench.mechanisms.modelled import ModelOutput

            chosen["output"] = ModelOutput(synthetic_rows)
        return settings_class(**chosen)

    @property
    def run(self) -> Callable[..., MechanismResult]:
        """The mechanism."""
        run: Callable[..., MechanismResult] = importlib.import_module(f"dprap.mechanisms.{self.module}").run
        return run


BENCH_METHODS = {
    "adaptive": BenchMethod("adaptive", "AdaptiveSettings"),
    "rap": BenchMethod("rap", "RapSettings"),
    "rp": BenchMethod("rap", "RapSettings", {"rounds": 1, "max_steps": 300}),
    "zero": BenchMethod("zero", "ZeroSettings"),
    "independent": BenchMethod("independent", "IndependentSettings"),
    "gaussian": BenchMethod("gaussian", "GaussianSettings"),
    "gaussian-query": BenchMethod("gaussian", "GaussianSettings", {"per": "query"}),
    "fem": BenchMethod("fem", "FemSettings"),
    "dualquery": BenchMethod("dualquery", "DualQuerySettings"),
    "mwem": BenchMethod("mwem", "MwemSettings"),
    "hdmm-lls": BenchMethod("hdmm", "HdmmSettings"),
    "hdmm-pgm": BenchMethod("hdmm", "HdmmSettings", {"inference": "graphical"}),
    "aim": BenchMethod("aim", "AimSettings", models=True),
    "mst": BenchMethod("mst", "MstSettings", models=True),
}
"""Every method the paper evaluates or builds on, and today's peers."""

FEM_BEST = {
    0.05: (0.0025, 1.0),
    0.1: (0.0025, 1.25),
    0.15: (0.003, 3.0),
    0.2: (0.003, 2.0),
    0.25: (0.003, 3.0),
    0.5: (0.005, 3.0),
    1.0: (0.009, 2.0),
}
"""ε → (ε₀, noise scale): the best of those the authors tried on ADULT, three-way (ours at .05, which they did not report)."""


def fem_settings(epsilon: float, rows: int) -> dict[str, Any]:
    """The authors' hyperparameters as settings: rounds by their own accounting, paper formula and ε₀²/2 a round."""
    epsilon_0, noise_scale = FEM_BEST[min(FEM_BEST, key=lambda known: abs(known - epsilon))]
    rho = rho_from_epsilon(epsilon, 1 / rows**2, Accounting.PAPER)
    return {"rounds": max(int(rho / (epsilon_0**2 / 2)), 2), "noise_scale": noise_scale}


def bench_method(name: str) -> BenchMethod:
    """The method of that name."""
    try:
        return BENCH_METHODS[name]
    except KeyError:
        raise SettingsError(f"there is no benchmark method {name!r}: {', '.join(BENCH_METHODS)}.") from None
