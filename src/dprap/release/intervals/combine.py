"""One estimate and its standard error from the analyses of several synthetic tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dprap.arguments import as_number
from dprap.array_types import Float64
from dprap.display import ShownAsLines, aligned
from dprap.errors import SettingsError

if TYPE_CHECKING:
    import pandas as pd

_ANGLES = 1 << 12
# Above so many degrees of freedom a t distribution is normal to four digits.
_MANY = 1e5


@dataclass(frozen=True, repr=False)
class Combined(ShownAsLines):
    """Combined estimates; every field but `level` is an array in the shape of one analysis'
    estimates.

    `between` is the share of the variance that comes from what the release leaves open: noise and
    what was not measured. The rest is what the analysis of the private table itself would have had.
    """

    estimate: Float64[np.ndarray, "..."]
    standard_error: Float64[np.ndarray, "..."]
    degrees_of_freedom: Float64[np.ndarray, "..."]
    low: Float64[np.ndarray, "..."]
    high: Float64[np.ndarray, "..."]
    between: Float64[np.ndarray, "..."]
    level: float

    def lines(self) -> list[str]:
        """The estimates as lines for people: their numbers, errors and intervals.

        Returns:
            A header, and one line for each estimate.

        >>> print(*combine([1.0, 1.2, 0.8], [0.04, 0.05, 0.03]).lines(), sep=chr(10))
           estimate  std. error     95% interval
        0         1       0.306  0.2561 to 1.744
        """
        ends = zip(np.ravel(self.low), np.ravel(self.high), strict=True)
        rows = [
            [str(at), f"{estimate:,.4g}", f"{error:,.3g}", f"{low:,.4g} to {high:,.4g}"]
            for at, (estimate, error, (low, high)) in enumerate(
                zip(np.ravel(self.estimate), np.ravel(self.standard_error), ends, strict=True)
            )
        ]
        header = ["", "estimate", "std. error", f"{self.level:.0%} interval"]
        return aligned(header, rows, left=1)

    def frame(self, names: Sequence[str] | None = None) -> pd.DataFrame:
        """The estimates as a pandas table.

        Args:
            names: What the estimates are called, in their order; numbers, unless given.

        Returns:
            One line for each estimate.

        Raises:
            SettingsError: If there are not as many names as estimates.

        >>> made = combine([[1.0, 2.0], [1.2, 2.2]], [[0.04, 0.04], [0.04, 0.04]])
        >>> made.frame(["constant", "age"]).loc["age", "estimate"].round(2).item()
        2.1

        """
        import pandas as pd

        parts = ("estimate", "standard_error", "low", "high", "degrees_of_freedom", "between")
        found = {name: np.ravel(getattr(self, name)) for name in parts}
        if names is not None and len(names) != len(found["estimate"]):
            raise SettingsError(
                f"there are {len(found['estimate'])} estimates and {len(names)} names."
            )
        return pd.DataFrame(found, index=None if names is None else list(names))


def combine(estimates: object, variances: object, *, level: float = 0.95) -> Combined:
    """Combine the analyses of the tables of `Release.tables` by Rubin's rules.

    The tables are draws of what the private table may have been, so the private table plays the
    part of missing data. With Q̄ the mean of m estimates, Ū that of their variances and B the
    variance between the estimates, the combined variance is Ū + (1 + 1/m)·B, and intervals use a t
    distribution with (m − 1)·(1 + Ū/((1 + 1/m)·B))² degrees of freedom.

    Args:
        estimates: The estimate of each table, m numbers or an m × p array.
        variances: The squared standard error of each, as the analysis of that table alone gives it.
            Zeros, for statements about the private table's own records instead of a population.
        level: Of the intervals.

    Returns:
        The combined estimates.

    Raises:
        SettingsError: There are fewer than two tables, or the shapes or values make no sense.

    >>> combined = combine([1.0, 1.2, 0.8], [0.04, 0.05, 0.03])
    >>> round(float(combined.estimate), 3), round(float(combined.standard_error), 3)
    (1.0, 0.306)
    """
    try:
        found, within = (np.asarray(each, dtype=np.float64) for each in (estimates, variances))
    except (TypeError, ValueError):
        raise SettingsError(
            "estimates and variances are numbers: as many from every table, in the same order."
        ) from None
    if found.ndim < 1 or found.shape != within.shape or len(found) < 2:
        raise SettingsError(
            "combine takes the estimates and the variances of at least two tables, in the same"
            " shape."
        )
    if not (np.isfinite(found).all() and np.isfinite(within).all() and (within >= 0).all()):
        raise SettingsError(
            "an estimate is not finite, or a variance is negative or not finite. Leave it out."
        )
    if not 0 < as_number(level, "level") < 1:
        raise SettingsError(f"the level must lie between 0 and 1, not {level}.")
    m = len(found)
    mean, inside = found.mean(axis=0), within.mean(axis=0)
    between = (1 + 1 / m) * found.var(axis=0, ddof=1)
    total = inside + between
    ratio = np.divide(inside, between, out=np.full_like(total, np.inf), where=between > 0)
    freedom = (m - 1) * (1 + ratio) ** 2
    error = np.sqrt(total)
    factor = np.vectorize(student_quantile, otypes=[np.float64])(freedom, level)
    share = np.divide(between, total, out=np.zeros_like(total), where=total > 0)
    return Combined(
        mean, error, freedom, mean - factor * error, mean + factor * error, share, level
    )


def student_quantile(freedom: float, level: float) -> float:
    """How many standard errors hold a share `level` of a t distribution.

    With x = √ν·tan θ its density becomes cos^(ν−1) θ, which is summed up on a grid of angles.

    >>> (
    ...     round(student_quantile(3, 0.95), 3),
    ...     round(student_quantile(19, 0.95), 3),
    ...     round(student_quantile(1e9, 0.95), 3),
    ... )
    (3.182, 2.093, 1.96)
    """
    freedom = min(freedom, _MANY)
    # Nearly all of the distribution lies below this angle.
    angles = np.linspace(0, min(np.pi / 2, 12 / np.sqrt(freedom)), _ANGLES)
    density = np.cos(angles[:-1] + angles[1] / 2) ** (freedom - 1)
    held = np.concatenate([[0], np.cumsum(density)]) / density.sum()
    return float(np.sqrt(freedom) * np.tan(np.interp(level, held, angles)))
