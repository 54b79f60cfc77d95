"""How much Gaussian noise a charge of ρ asks for. Public: it depends on no data."""

from __future__ import annotations

import math
from fractions import Fraction

from dprap.accounting.zcdp import Rho
from dprap.errors import BudgetError

# Noise of this size says nothing about any table, and leaves 64-bit integers room for the counts.
_MAX_STDDEV = 2.0**40


def stddev_for(l2_squared: int, rho: Rho) -> float:
    """The σ in counts that makes a vector of squared L2 sensitivity `l2_squared` ρ-zCDP: Δ/√(2ρ),
    rounded up.

    The quotient is an exact fraction; turning it into a float and taking the root err by less than
    2^-52 relatively, so adding 2^-50 rounds up for sure.
    """
    if not rho > 0:
        raise BudgetError("a measurement needs a positive share of the budget.")
    variance = l2_squared / (2 * Fraction(rho))
    if variance > Fraction(_MAX_STDDEV) ** 2:
        raise BudgetError(
            f"a share of rho = {float(rho):.2g} would mean noise of more than 10^12 counts. Spend"
            " more on less."
        )
    return math.sqrt(float(variance)) * (1 + 2**-50)
