"""The private side: neighbour relations, accounting, noise, the curator and the ledger."""

from dprap.privacy.accounting import Accounting, Rho, epsilon_from_rho, rho_from_epsilon
from dprap.privacy.budget import Budget, default_delta
from dprap.privacy.curator import Curator
from dprap.privacy.ledger import (
    Ledger,
    LedgerState,
    balance_lines,
    caution_lines,
    default_ledger,
    named_ledger,
    read_ledger,
)
from dprap.privacy.measurement import Certificate, DrawnTable, Measurement, QueryMeasurement
from dprap.privacy.neighbors import Neighbors, Relation
from dprap.privacy.people import Excess, PersonColumn, bound_records, open_bounded
from dprap.privacy.scores import Score

__all__ = [
    "Accounting",
    "Budget",
    "Certificate",
    "Curator",
    "DrawnTable",
    "Excess",
    "Ledger",
    "LedgerState",
    "Measurement",
    "Neighbors",
    "PersonColumn",
    "QueryMeasurement",
    "Relation",
    "Rho",
    "Score",
    "balance_lines",
    "bound_records",
    "caution_lines",
    "default_delta",
    "default_ledger",
    "epsilon_from_rho",
    "named_ledger",
    "open_bounded",
    "read_ledger",
    "rho_from_epsilon",
]
