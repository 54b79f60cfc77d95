"""What is promised and what it costs: public nouns and arithmetic that depend on no data.

neighbors    which tables may not be told apart, and the sensitivities that follow
budget       the promise of a run: ε, δ and the ρ that it may spend
zcdp         from (ε, δ) to ρ and back, by each way of accounting
exact        the privacy loss of a whole run, followed itself
stddev       how much noise a charge asks for
measurement  what a curator returns: noisy counts and the accuracy certificate
refined      what was paid for the intervals of a column without bins
"""

from dprap.accounting.budget import Budget, default_delta
from dprap.accounting.measurement import (
    Certificate,
    DrawnTable,
    FoundValues,
    Measurement,
    QueryMeasurement,
)
from dprap.accounting.neighbors import Neighbors, Relation
from dprap.accounting.stddev import stddev_for
from dprap.accounting.zcdp import Accounting, Rho, epsilon_from_rho, rho_from_epsilon

__all__ = [
    "Accounting",
    "Budget",
    "Certificate",
    "DrawnTable",
    "FoundValues",
    "Measurement",
    "Neighbors",
    "QueryMeasurement",
    "Relation",
    "Rho",
    "default_delta",
    "epsilon_from_rho",
    "rho_from_epsilon",
    "stddev_for",
]
