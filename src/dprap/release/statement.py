"""The privacy statement of a release, exactly and in plain words."""

from __future__ import annotations

from dataclasses import dataclass

# Both sums are exact fractions that became floats: how far apart they may be if they were equal.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class PrivacyStatement:
    """Under which guarantee a release was made."""

    epsilon: float
    delta: float
    rho_planned: float
    rho_spent: float
    relation: str
    max_rows_per_person: int
    accounting: str
    private: bool

    def sentence(self) -> str:
        """The guarantee in one sentence."""
        if not self.private:
            return "NOT PRIVATE: the noise came from a seed, so this release protects nobody. Never publish it."
        who = (
            "one record"
            if self.max_rows_per_person == 1
            else f"all (up to {self.max_rows_per_person}) records of one person"
        )
        change = "replacing" if self.relation == "replace" else "adding or removing"
        return (
            f"({self.epsilon:g}, {self.delta:.3g})-differentially private with respect to {change} {who}, "
            f"by charges of {self.rho_spent:.4g}-zCDP in all ({self.accounting} accounting)."
        )

    def unspent(self) -> str | None:
        """What was planned and not spent, in one sentence; None where all was spent."""
        left = 1 - self.rho_spent / self.rho_planned
        if left < _ROUNDING:
            return None
        return f"{left:.1%} of the planned {self.rho_planned:.4g}-zCDP was not spent, because the method asked for no more."
