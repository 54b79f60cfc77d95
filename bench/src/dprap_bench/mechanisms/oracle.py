r"""The oracle of FEM and DualQuery: the record that collects the largest reward, by mixed integer
programming.

Given conjunctions \(q_t\) with rewards \(w_t\) (of either sign) and a bonus \(c\) for every one-hot
coordinate, find

\[ \max_{x \in \mathcal X} \; c \cdot h(x) + \sum_t w_t q_t(x). \]

A binary variable stands for each code that occurs in a conjunction; in every column one more stands
for the best of all other codes, which differ by their bonus alone. The authors solve the same
programme with Gurobi; here it is HiGHS, through SciPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dprap.array_types import Float, Int
from dprap.domain import Domain
from dprap.errors import SettingsError
from dprap.queries import Query

Record = Int[np.ndarray, " columns"]
"""One code a column."""


@dataclass(frozen=True)
class Reward:
    """A conjunction of values, as one-hot coordinates, and what a record gains by fulfilling it."""

    coordinates: tuple[int, ...]
    weight: float


@dataclass(frozen=True)
class Oracle:
    """Finds records of largest reward; the rewards stay, the bonus changes from call to call."""

    domain: Domain
    rewards: tuple[Reward, ...]
    seconds: float = 20.0

    @classmethod
    def of(
        cls, domain: Domain, queries: Sequence[tuple[Query, float]], *, seconds: float = 20.0
    ) -> Oracle:
        """An oracle for cells of marginals with their rewards; rewards of equal cells are added
        up.
        """
        total: dict[tuple[int, ...], float] = {}
        for query, weight in queries:
            coordinates = tuple(sorted(_coordinates(domain, query)))
            total[coordinates] = total.get(coordinates, 0.0) + weight
        rewards = tuple(
            Reward(coordinates, weight) for coordinates, weight in total.items() if weight != 0
        )
        return cls(domain, rewards, seconds)

    @cached_property
    def _programme(self) -> _Programme:
        return _Programme.of(self.domain, self.rewards)

    def best(self, bonus: Float[np.ndarray, " onehot"]) -> Record:
        """The best record (the best found, should the solver run out of its seconds)."""
        record = _argmax_by_column(self.domain, bonus)
        if not self.rewards:
            return record
        programme = self._programme
        others, others_bonus = programme.best_others(bonus)
        costs = np.concatenate([bonus[programme.codes], others_bonus, programme.weights])
        solution = programme.maximise(costs, self.seconds)
        for place, coordinate in enumerate(programme.codes):
            if solution[place] > 0.5:
                column = int(np.searchsorted(self.domain.offsets, coordinate, side="right")) - 1
                record[column] = coordinate - self.domain.offsets[column]
        for place, (column, code) in enumerate(zip(programme.other_columns, others, strict=True)):
            if solution[len(programme.codes) + place] > 0.5:
                record[column] = code
        return record

    def value(self, record: Record, bonus: Float[np.ndarray, " onehot"]) -> float:
        """The reward of a record."""
        chosen = set((np.asarray(self.domain.offsets) + record).tolist())
        gained = sum(
            reward.weight for reward in self.rewards if chosen.issuperset(reward.coordinates)
        )
        return float(bonus[sorted(chosen)].sum()) + gained


def _coordinates(domain: Domain, query: Query) -> tuple[int, ...]:
    codes = np.unravel_index(query.index, domain.shape_of(query.family.columns))
    return tuple(
        domain.offset(name) + int(code)
        for name, code in zip(query.family.columns, codes, strict=True)
    )


def _argmax_by_column(domain: Domain, bonus: Float[np.ndarray, " onehot"]) -> Record:
    blocks = zip(domain.offsets, domain.sizes, strict=True)
    return np.array([int(np.argmax(bonus[offset : offset + size])) for offset, size in blocks])


@dataclass(frozen=True)
class _Programme:
    """Constraints of the integer programme, over (codes, others, conjunctions) in this order."""

    codes: Int[np.ndarray, " codes"]
    other_columns: tuple[int, ...]
    other_codes: tuple[Int[np.ndarray, " codes"], ...]
    offsets: tuple[int, ...]
    weights: Float[np.ndarray, " conjunctions"]
    constraints: Any
    integrality: Int[np.ndarray, " variables"]

    @classmethod
    def of(cls, domain: Domain, rewards: Sequence[Reward]) -> _Programme:
        try:
            from scipy.optimize import LinearConstraint
            from scipy.sparse import csr_array
        except ImportError:
            raise SettingsError(
                "methods fem and dualquery need SciPy. Install dprap-bench."
            ) from None
        codes = np.array(
            sorted({coordinate for reward in rewards for coordinate in reward.coordinates})
        )
        column_of = np.searchsorted(domain.offsets, codes, side="right") - 1
        place_of = {int(coordinate): place for place, coordinate in enumerate(codes)}
        used = sorted(set(column_of.tolist()))
        untouched = {
            column: np.setdiff1d(
                np.arange(domain.sizes[column]), codes[column_of == column] - domain.offsets[column]
            )
            for column in used
        }
        other_columns = tuple(column for column in used if len(untouched[column]))
        first_reward = len(codes) + len(other_columns)
        rows: list[tuple[dict[int, float], float, float]] = []
        for column in used:
            members = dict.fromkeys(np.flatnonzero(column_of == column).tolist(), 1.0)
            if column in other_columns:
                members[len(codes) + other_columns.index(column)] = 1.0
            rows.append((members, 1.0, 1.0))
        for number, reward in enumerate(rewards):
            variable = first_reward + number
            places = [place_of[coordinate] for coordinate in reward.coordinates]
            if reward.weight > 0:  # fulfilled only if every value is chosen
                rows += [({variable: 1.0, place: -1.0}, -np.inf, 0.0) for place in places]
            else:  # fulfilled as soon as every value is chosen
                rows.append(
                    (dict.fromkeys(places, 1.0) | {variable: -1.0}, -np.inf, len(places) - 1.0)
                )
        row_index = np.repeat(np.arange(len(rows)), [len(entries) for entries, _, _ in rows])
        column_index = np.array([variable for entries, _, _ in rows for variable in entries])
        values = np.array([value for entries, _, _ in rows for value in entries.values()])
        variables = first_reward + len(rewards)
        matrix = csr_array((values, (row_index, column_index)), shape=(len(rows), variables))
        return cls(
            codes,
            other_columns,
            tuple(untouched[column] for column in other_columns),
            tuple(domain.offsets[column] for column in other_columns),
            np.array([reward.weight for reward in rewards]),
            LinearConstraint(matrix, [low for _, low, _ in rows], [high for _, _, high in rows]),
            (np.arange(variables) < first_reward).astype(np.int64),
        )

    def best_others(
        self, bonus: Float[np.ndarray, " onehot"]
    ) -> tuple[list[int], Float[np.ndarray, " columns"]]:
        """In every column, the best code that no conjunction names, and its bonus."""
        best = [
            int(codes[np.argmax(bonus[offset + codes])])
            for codes, offset in zip(self.other_codes, self.offsets, strict=True)
        ]
        return best, np.array(
            [bonus[offset + code] for code, offset in zip(best, self.offsets, strict=True)]
        )

    def maximise(
        self, costs: Float[np.ndarray, " variables"], seconds: float
    ) -> Float[np.ndarray, " variables"]:
        from scipy.optimize import Bounds, milp

        found = milp(
            -costs,
            constraints=self.constraints,
            bounds=Bounds(0, 1),
            integrality=self.integrality,
            options={"time_limit": seconds},
        )
        if found.x is None:
            raise SettingsError(
                f"the integer programme found no record within {seconds:g} seconds. Allow more."
            )
        solution: Float[np.ndarray, " variables"] = found.x
        return solution
