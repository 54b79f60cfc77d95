r"""The paper's accuracy theorem, evaluated: the mean error of the relaxed projection with T = 1.

With probability 1 − β over the noise, and if the projection is solved exactly,

    √(1/m · ‖q(D) − q(D′)‖²)
      ≤ O( (d′(log k + log n′) + log(1/β)·ln(1/δ))^¼ / √(ε n) + √(log k) / √n′ ),

for m k-way product queries, d′ one-hot columns and n′ relaxed rows. The theorem leaves the constant
open; it is taken as 1 here, so that the figure shows what the bound depends on, not a guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dprap.queries import Marginal
from dprap.workload import Workload

BETA = 0.05
"""The probability with which the bound may fail."""


def theorem_bound(
    *,
    onehot_size: int,
    k: int,
    synthetic_rows: int,
    epsilon: float,
    delta: float,
    records: float,
    beta: float = BETA,
) -> float:
    """The bound on the root mean square error, as a share of the records, with the constant taken
    as 1.

    Args:
        onehot_size: d′.
        k: Columns of a query.
        synthetic_rows: n′.
        epsilon: ε.
        delta: δ.
        records: n.
        beta: The probability with which the bound may fail.

    Returns:
        The right hand side of the theorem.

    >>> round(
    ...     theorem_bound(
    ...         onehot_size=588, k=3, synthetic_rows=1000, epsilon=1.0, delta=4.2e-10, records=48842
    ...     ),
    ...     3,
    ... )
    0.071
    """
    complexity = onehot_size * (math.log(k) + math.log(synthetic_rows)) + math.log(
        1 / beta
    ) * math.log(1 / delta)
    return float(
        complexity**0.25 / math.sqrt(epsilon * records) + math.sqrt(math.log(k) / synthetic_rows)
    )


def theorem_line(
    method: str,
    settings: Mapping[str, Any],
    workload: Workload,
    *,
    epsilon: float,
    delta: float,
    records: int | None,
) -> str | None:
    """What the theorem says of a run, in a line; None where it does not apply.

    It applies to `rap` with one round on marginals, with a public number of records.
    """
    marginals = [family for family in workload.families if isinstance(family, Marginal)]
    if (
        method != "rap"
        or settings.get("rounds") != 1
        or records is None
        or len(marginals) < len(workload)
    ):
        return None
    k = max(len(marginal.columns) for marginal in marginals)
    bound = theorem_bound(
        onehot_size=workload.domain.onehot_size,
        k=k,
        synthetic_rows=int(settings["synthetic_rows"]),
        epsilon=epsilon,
        delta=delta,
        records=records,
    )
    return (
        f"the paper's accuracy theorem (T = 1, constant taken as 1, β = {BETA:g}): root mean square"
        f" error at most {bound:.3f} over {workload.queries:,} queries, if the projection is solved"
        " exactly"
    )
