"""The privacy statement of a release, exactly and in plain words."""

from __future__ import annotations

from dataclasses import dataclass

from dprap.accounting.zcdp import Accounting, epsilon_from_rho, proof_of

# Both sums are exact fractions that became floats: how far apart they may be if they were equal.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class PrivacyStatement:
    """Under which guarantee a release was made.

    >>> statement = PrivacyStatement(1.0, 1e-6, 0.02, 0.015, "replace", 1, "tight", private=True)
    >>> (
    ...     "differentially private" in statement.sentence(),
    ...     "zCDP" in statement.reason(),
    ...     statement.discovery(),
    ... )
    (True, True, None)
    >>> "not spent" in (statement.unspent() or "")
    True
    """

    epsilon: float
    delta: float
    rho_planned: float
    rho_spent: float
    relation: str
    max_rows_per_person: int
    accounting: str
    private: bool
    discovery_rho: float = 0.0
    """The part of ρ that was spent to find domains, before the run."""
    discovery_delta: float = 0.0
    """The part of δ that thresholds took then."""

    def __post_init__(self) -> None:
        if self.accounting not in tuple(Accounting):
            raise ValueError(
                f"accounting must be one of {', '.join(Accounting)}; it is {self.accounting!r:.40}."
            )

    def sentence(self) -> str:
        """The guarantee in one sentence.

        Returns:
            The sentence; of seeded noise it says that nobody is protected.

        """
        return self.promise() if not self.private else f"{self.promise()}, {self.reason()}."

    def promise(self) -> str:
        """What is promised, without the reason.

        Returns:
            The promise in a few words; of seeded noise, that nobody is protected.

        >>> PrivacyStatement(1.0, 1e-6, 0.02, 0.02, "replace", 1, "tight", private=True).promise()
        '(1, 1e-06)-differentially private with respect to replacing one record'
        """
        if not self.private:
            return (
                "NOT PRIVATE: the noise came from a seed, so this release protects nobody. Never"
                " publish it."
            )
        who = (
            "one record"
            if self.max_rows_per_person == 1
            else f"all (up to {self.max_rows_per_person}) records of one person"
        )
        change = "replacing" if self.relation == "replace" else "adding or removing"
        return (
            f"({self.epsilon:g}, {self.delta:.3g})-differentially private with respect to {change}"
            f" {who}"
        )

    def discovery(self) -> str | None:
        """What was spent to find domains, in one sentence.

        Returns:
            The sentence; None where nothing was.

        """
        if not self.discovery_rho:
            return None
        share = self.discovery_rho / self.rho_planned
        taken = f" and {self.discovery_delta:.3g} of δ" if self.discovery_delta else ""
        return f"{share:.1%} of ρ{taken} was spent to find domains that were not known publicly."

    def reason(self) -> str:
        """Why the guarantee holds: what was proven about the run, and how it leads to ε and δ.

        It is the planned ρ that counts, since what a run leaves unspent may depend on its results.

        Returns:
            The reason, in words.

        """
        zcdp = f"{self.rho_planned:.4g}-zCDP"
        if self.discovery_delta:
            zcdp += f", but for {self.discovery_delta:.3g} of δ,"
        delta = self.delta - self.discovery_delta
        proof = proof_of(self.rho_planned, self.epsilon, delta, Accounting(self.accounting))
        if proof is Accounting.PAPER:
            return f"because the run is {zcdp} (converted by the paper's formula)"
        if proof is Accounting.TIGHT:
            return f"because the run is {zcdp} (converted at the best order: tight accounting)"
        alone = epsilon_from_rho(self.rho_planned, delta, Accounting.TIGHT)
        return (
            f"by the privacy loss of the whole run (exact accounting); that the run is {zcdp} is"
            f" true as well, but would by itself give ε = {alone:.4g}"
        )

    def unspent(self) -> str | None:
        """What was planned and not spent, in one sentence.

        Returns:
            The sentence; None where all was spent.

        """
        left = 1 - self.rho_spent / self.rho_planned
        if left < _ROUNDING:
            return None
        return (
            f"{left:.1%} of the planned {self.rho_planned:.4g}-zCDP was not spent, because the"
            " method asked for no more."
        )
