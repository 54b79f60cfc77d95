"""Settings of the adaptive mechanism; the defaults are meant for every table, ε and workload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Literal

from dprap.domain import Domain
from dprap.errors import SettingsError
from dprap.mechanisms.adaptive.rules import Rules
from dprap.relaxed.adam import LARGEST_RATE

Objective = Literal["largest_errors", "max", "mean"]

# Steps of a fit after a round: of one that only tells what to choose next, and of one whose rows
# stay, because nothing but the last fit follows. 100 were no better for either.
_STEPS = 20
_STEPS_WHERE_ROWS_STAY = 40
# The rows of a repetition hold at most so many numbers, but it has a third of the run's rows at
# least. With fewer rows a repetition cannot hold what is in a table of many columns, or does not
# reach what was measured, so that intervals are too wide: on the example at ε = 10 they held .988
# with a third of the rows and .976 with all.
_NUMBERS_IN_REPETITION = 120_000
# The last fit is repeated until rows stop gaining, so that two thirds of its steps cost little of
# what it reaches. With half of them it was often repeated where the run's was not, and took longer.
# How far a repetition is off in relations that it was not told of depends less on how well it fits
# the others: a quarter of the steps, once.
_PART_OF_LAST_FIT = 2 / 3
_PART_WHERE_UNTOLD = 1 / 4
# What a setting was called before, as it stands in job files of earlier versions.
_FORMER_OBJECTIVES: dict[str, Objective] = {"blend": "largest_errors"}


@dataclass(frozen=True)
class AdaptiveSettings:
    """What a user may override.

    Args:
        objective: What makes a marginal worth choosing: `largest_errors` sums its sixteen largest
            errors above half the noise, `max` takes the worst cell, `mean` sums all errors above a
            quarter of the noise.
        synthetic_rows: The number of relaxed rows.
        rounds: In how many rounds marginals are chosen, at most; by default it follows from public
            facts.
        picks: How many marginals are chosen in all; by default it follows from public facts.
        one_way_share: The share of ρ for the one-way marginals; by default it follows from public
            facts.
        total_share: The share of ρ for the number of records, where that is private.
        sweep_share: Of what the columns leave, the share that measures the whole workload once at
            the end; by default it follows from public facts.
        selection_share: Of what then remains, the share that chooses marginals; the rest measures
            them.
        steps: The steps of a fit after a round; by default 20, and 40 where its rows stay.
        final_steps: The steps of the last fit.
        learning_rate: About how far a logit moves in a step.
        jitter: How far apart rows start; by default the rules say.
        kl: The weight of the pull towards independent columns, in units of n/σ.
        targets: Columns that models will predict: what is related to them counts more.
        rules: Everything else that was chosen by experiment; a mapping changes some of them.

    Raises:
        SettingsError: for a value that makes no sense.

    """

    objective: Objective = "largest_errors"
    synthetic_rows: int = 300
    rounds: int | None = None
    picks: int | None = None
    one_way_share: float | None = None
    total_share: float = 0.02
    sweep_share: float | None = None
    selection_share: float = 0.2
    steps: int | None = None
    final_steps: int = 100
    learning_rate: float = 0.1
    jitter: float | None = None
    kl: float = 0.3
    targets: tuple[str, ...] = ()
    rules: Rules = field(default_factory=Rules)

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "objective", _FORMER_OBJECTIVES.get(self.objective, self.objective)
        )
        object.__setattr__(self, "rules", _rules(self.rules))
        object.__setattr__(self, "targets", tuple(self.targets))
        if self.objective not in ("largest_errors", "max", "mean"):
            raise SettingsError(
                f"the objective must be largest_errors, max or mean, not {self.objective!r}."
            )
        for name in ("synthetic_rows", "final_steps"):
            if getattr(self, name) < 1:
                raise SettingsError(f"{name} must be at least 1.")
        for name in ("rounds", "picks", "steps"):
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
        if not (
            self.learning_rate > 0 and (self.jitter is None or self.jitter > 0) and self.kl >= 0
        ):
            raise SettingsError("learning_rate and jitter must be positive, kl not negative.")
        if self.learning_rate > LARGEST_RATE:
            raise SettingsError(f"learning_rate must be at most {LARGEST_RATE:g}.")

    def steps_after_round(self, *, rows_stay: bool) -> int:
        """How many steps a fit after a round takes.

        Most such fits only tell what to choose next, and rows that follow the noise of the first
        choices closely are a worse start for the last fit.
        """
        return self.steps or (_STEPS_WHERE_ROWS_STAY if rows_stay else _STEPS)

    def for_repetition(self, domain: Domain, *, of_part: bool) -> AdaptiveSettings:
        """Settings that show how far a run's answers are off, in less time than the run.

        Rows are not split: where they are fewer than the run's they would have to be.

        Args:
            domain: The columns.
            of_part: Whether it is for a part of the workload, to see how far a run is off in what
                it was not told of.
        """
        room = _NUMBERS_IN_REPETITION // domain.onehot_size
        part = _PART_WHERE_UNTOLD if of_part else _PART_OF_LAST_FIT
        fits = 1 if of_part else self.rules.most_last_fits
        return replace(
            self,
            synthetic_rows=min(self.synthetic_rows, max(self.synthetic_rows // 3, room)),
            final_steps=max(int(self.final_steps * part), 1),
            rules=replace(self.rules, most_splits=0, most_last_fits=fits),
        )


def _rules(given: Rules | Mapping[str, object]) -> Rules:
    """Rules as they are, or the default ones with those changed that a mapping names."""
    if isinstance(given, Rules):
        return given
    if not isinstance(given, Mapping):
        raise SettingsError("rules must be a mapping from the name of a rule to its value.")
    known = {each.name for each in fields(Rules)}
    if unknown := [name for name in given if name not in known]:
        raise SettingsError(
            f"adaptive has no rule {unknown[0]!r}. Its rules are: {', '.join(sorted(known))}."
        )
    return Rules(**given)  # type: ignore[arg-type]  # checked by Rules itself
