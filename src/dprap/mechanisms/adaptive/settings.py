"""Settings of the adaptive mechanism; the defaults are meant for every table, ε and workload."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dprap.errors import SettingsError

Objective = Literal["blend", "max", "mean"]


@dataclass(frozen=True)
class AdaptiveSettings:
    """What a user may override.

    `objective`: `max` picks by the worst cell; `blend` by its 16 largest errors above half the noise; `mean` by all above a quarter.
    `one_way_share` of ρ goes to the one-way marginals, `total_share` to the number of records where it is private;
    `sweep_share` of the rest measures the whole workload once at the end. Of what remains, `selection_share` chooses marginals and
    the others measure them. `one_way_share`, `sweep_share`, `rounds` and `picks` (marginals chosen in all) follow
    from public facts unless given. `synthetic_rows` is the number of relaxed rows, which start as far apart as `jitter` says.
    """

    objective: Objective = "blend"
    synthetic_rows: int = 300
    rounds: int | None = None
    picks: int | None = None
    one_way_share: float | None = None
    total_share: float = 0.02
    sweep_share: float | None = None
    selection_share: float = 0.2
    steps: int = 150
    final_steps: int = 300
    learning_rate: float = 0.1
    jitter: float | None = None
    kl: float = 0.3

    def __post_init__(self) -> None:
        if self.objective not in ("blend", "max", "mean"):
            raise SettingsError(f"the objective must be blend, max or mean, not {self.objective!r}.")
        for name in ("synthetic_rows", "steps", "final_steps"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} must be at least 1.")
        for name in ("rounds", "picks"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise SettingsError(f"{name} must be at least 1.")
        for name in ("one_way_share", "total_share", "selection_share"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1:
                raise SettingsError(f"{name} must lie strictly between 0 and 1.")
        if self.sweep_share is not None and not 0 <= self.sweep_share < 1:
            raise SettingsError("sweep_share must be at least 0 and below 1.")
        if (self.one_way_share or 0) + self.total_share >= 1:
            raise SettingsError("one_way_share and total_share leave nothing for the rest.")
        if not (self.learning_rate > 0 and (self.jitter is None or self.jitter > 0) and self.kl >= 0):
            raise SettingsError("learning_rate and jitter must be positive, kl not negative.")
