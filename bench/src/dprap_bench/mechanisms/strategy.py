r"""Which marginals to measure, and how well: the best strategy over weighted marginals (HDMM's
OPT_M).

Measure marginal S with a share \(s_S\) of the budget, so that its cells have variance
\(\sigma^2/s_S\), and infer by least squares. Split the space of tables into residual spaces, one
for each subset R of columns: tables that depend on the columns of R and sum to zero along each of
them. The map from a table to its marginal over S, followed by its transpose, acts on the space R as
the number \(\prod_{i \notin S} n_i\) if \(R \subseteq S\) and as zero otherwise. So least squares
decomposes, and the total variance over the workload's cells is

\[ \sigma^2 \sum_R \frac{c_R}{\lambda_R(s)}, \qquad \lambda_R(s) = \sum_{S \supseteq R}
\frac{s_S}{n_S}, \quad
   c_R = \sum_{W \supseteq R} \frac{w_W}{n_W} \prod_{i \in R} \lVert L_i \Pi_i \rVert_F^2 \prod_{i
   \in W \setminus R} \lVert L_i J_i \rVert_F^2, \]

with \(n_S\) the number of cells of S (all numbers divided by the domain's size, which cancels),
\(J_i\) and \(\Pi_i\) the projections on constants and on vectors of sum zero along column i, and
\(L_i\) what the family does along it: the identity (then the norms are \(n_i - 1\) and 1) or, for
ranges, sums of intervals. This is convex in the shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dprap.array_types import Float
from dprap.products import product
from dprap.queries import Marginal, Range
from dprap.queries.range import bounds_of
from dprap.workload import Workload


@dataclass(frozen=True)
class Strategy:
    """Marginals with their shares of the budget, and the total variance they give for a budget of
    noise variance one.
    """

    marginals: tuple[Marginal, ...]
    shares: tuple[float, ...]
    total_variance: float


def best_strategy(
    workload: Workload, *, total_is_known: bool, steps: int = 2000, smallest_share: float = 1e-3
) -> Strategy:
    """Minimise the total variance over shares of the marginals in the workload's downward closure.

    Multiplicative updates: at the optimum every marginal in use has the same marginal gain, so
    shares grow by the square root of their gain until they do. Marginals with less than
    `smallest_share` of an equal share are dropped at the end. A known number of records needs no
    measuring: its residual space (R empty) then has no variance.
    """
    domain = workload.domain
    candidates = workload.closure(smallest=0)
    below = residuals_below(candidates)
    cells = np.array([float(marginal.size(domain)) for marginal in candidates])
    importance = np.array(
        [_importance(workload, frozenset(marginal.columns)) for marginal in candidates]
    )
    if total_is_known:
        importance[0] = 0.0  # the closure starts with the empty marginal
    shares = np.full(len(candidates), 1 / len(candidates))
    for _ in range(steps):
        information = product(below.T, shares / cells)
        gain = product(below, importance / information**2) / cells
        updated = shares * np.sqrt(gain)
        updated /= updated.sum()
        moved = float(np.abs(updated - shares).sum())
        shares = updated
        if moved < 1e-9:
            break
    kept = shares > smallest_share / len(candidates)
    shares = np.where(kept, shares, 0.0) / shares[kept].sum()
    information = product(below.T, shares / cells)
    needed = importance > 0
    variance = float((importance[needed] / information[needed]).sum())
    chosen = np.flatnonzero(kept)
    return Strategy(
        tuple(candidates[place] for place in chosen),
        tuple(float(shares[place]) for place in chosen),
        variance,
    )


def residuals_below(candidates: Sequence[Marginal]) -> Float[np.ndarray, "marginals residuals"]:
    """Which candidates' residual spaces each candidate informs: 1 where the column's set is a
    subset of the row's.
    """
    sets = [frozenset(marginal.columns) for marginal in candidates]
    return np.array([[float(residual <= outer) for residual in sets] for outer in sets])


def _importance(workload: Workload, residual: frozenset[str]) -> float:
    """How much the workload's total variance feels the variance of one residual space: c_R above.

    Thresholds, which do not factor by columns, count like their marginal.
    """
    total = 0.0
    for family, weight in zip(workload.families, workload.weights, strict=True):
        if residual <= set(family.columns):
            factor = weight / workload.domain.size_of(family.columns)
            for name in family.columns:
                size = workload.domain.size(name)
                # An interval of w of n codes is a row of w ones: its squares' sum is w, and along
                # constants w²/n.
                first, last = bounds_of(
                    family.along.get(name) if isinstance(family, Range) else None, size
                )
                widths = (last - first + 1).astype(np.float64)
                whole, constant = float(widths.sum()), float((widths**2).sum() / size)
                factor *= whole - constant if name in residual else constant
            total += factor
    return total
