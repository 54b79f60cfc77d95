"""When the last fit is made again, and when rows are split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from dprap.accounting import Budget, Neighbors
from dprap.domain import Domain
from dprap.encoding import Codes
from dprap.mechanisms.adaptive import last_fit, run
from dprap.mechanisms.adaptive.last_fit import Closeness
from dprap.mechanisms.adaptive.misses import Misses
from dprap.mechanisms.adaptive.rules import Rules
from dprap.mechanisms.adaptive.settings import AdaptiveSettings
from dprap.privacy import Curator
from dprap.sources import MemorySource
from dprap.workload import all_kway

NOISE = 100.0


@dataclass
class Fits:
    """Fits that leave the misfits of a list, one after the other, with rows that can be split."""

    misfits: Sequence[float]
    room: int = 0
    splits: list[float] = field(default_factory=list)
    made: int = 0

    @property
    def misfit(self) -> float:
        return self.misfits[self.made]

    def fit(self, _targets: object, _pull: float) -> float:
        self.made += 1
        return self.misfit

    def split(self) -> bool:
        self.splits.append(self.misfit)
        self.room -= 1
        return self.room >= 0

    def go(self, monkeypatch: pytest.MonkeyPatch, *, closely: bool = True) -> float:
        found = lambda *_, **__: Misses(self.misfit, 4.0, [])  # noqa: E731
        monkeypatch.setattr(last_fit, "misses_of", found)
        first = Closeness(self.misfit, NOISE, 10_000, 1.0, closely=closely)
        return last_fit.repeated([], lambda: None, self.fit, self.split, first, Rules())


def test_fits_go_on_while_they_gain_and_rows_stay_as_many(monkeypatch) -> None:
    fits = Fits([900, 700, 400, 90], room=5)
    assert fits.go(monkeypatch) == 90
    assert fits.splits == []


def test_rows_are_split_where_fits_gain_no_more_and_stay_above_the_noise(monkeypatch) -> None:
    fits = Fits([900, 890, 300, 299, 98], room=5)
    assert fits.go(monkeypatch) == 98
    assert fits.splits == [890, 299]


def test_rows_that_all_but_reach_the_noise_are_not_split(monkeypatch) -> None:
    fits = Fits([105, 102], room=5)
    assert fits.go(monkeypatch) == 102
    assert fits.splits == []


def test_rows_are_not_split_where_no_fit_would_follow(monkeypatch) -> None:
    fits = Fits([1000, 900, 800, 700, 600, 500, 400, 399], room=5)
    assert len(fits.misfits) == Rules().most_last_fits
    assert fits.go(monkeypatch) == 399
    assert fits.splits == []


def test_without_room_the_fit_ends_where_it_gains_no_more(monkeypatch) -> None:
    fits = Fits([900, 890, 300])
    assert fits.go(monkeypatch) == 890
    assert fits.splits == [890]


def test_where_noise_is_large_nothing_is_repeated_for_the_misfit(monkeypatch) -> None:
    fits = Fits([900, 890, 300], room=5)
    assert fits.go(monkeypatch, closely=False) == 900
    assert fits.splits == []


def table_of_relations() -> Codes:
    """A million records whose six columns hang together in ways that four rows cannot say."""
    rng = np.random.default_rng(5)
    first = rng.integers(0, 6, 1_000_000)
    columns = {f"c{k}": (first * (k + 1) + rng.integers(0, 2, first.size)) % 6 for k in range(6)}
    return Codes.of(Domain.of(dict.fromkeys(columns, 6)), columns)


@pytest.mark.parametrize("most_splits", [0, 1, 2])
def test_few_rows_become_more_on_a_long_table(most_splits: int) -> None:
    codes = table_of_relations()
    workload = all_kway(codes.domain, 2)
    curator = Curator(
        MemorySource(codes),
        budget=Budget.of(epsilon=1.0, delta=1e-9),
        neighbors=Neighbors(),
        ledger=None,
        insecure_noise_seed=1,
    )
    curator.prepare(workload.families)
    settings = AdaptiveSettings(synthetic_rows=2, rules={"most_splits": most_splits})
    result = run(curator, workload, settings, seed=0)
    assert result.relaxed is not None
    assert result.relaxed.rows == 2 * 2**most_splits


def test_a_repetition_has_no_more_rows_than_the_run_and_a_third_at_least() -> None:
    short, long = Domain.of({"a": 8, "b": 4}), Domain.of({"a": 30_000, "b": 4})
    settings = AdaptiveSettings()
    whole = settings.for_repetition(short, of_part=False)
    assert (whole.synthetic_rows, whole.final_steps) == (300, 66)
    assert settings.for_repetition(long, of_part=False).synthetic_rows == 100
    untold = settings.for_repetition(short, of_part=True)
    assert (untold.final_steps, untold.rules.most_last_fits) == (25, 1)
    assert untold.rules.most_splits == whole.rules.most_splits == 0
