"""The boundary: exact counts go in, noisy results that were charged for come out.

curator            the only door
verbs/             what the curator can be asked: each verb computes, charges, draws and stores
steps              the steps of a run in order, replayed or taken
exact_counts       exact integers behind the verbs, counted once
candidates         marginals that are chosen from again and again
discovery          values above a noisy threshold
discrete_gaussian  discrete Gaussian noise on integers
selection          the exponential mechanism in integer arithmetic
scores             what a choice looks at, and how far one person moves it
open_candidates    which marginals are open to each of several picks
entropy            where random bits come from
person_bound       at most so many records of one person
stopwatch          time on the private side, kept apart from what is published
ledger/            what was spent on a data set, durable before anything is drawn
"""

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
from dprap.privacy.open_candidates import Apart
from dprap.privacy.person_bound import Excess, PersonColumn, bound_records, open_bounded
from dprap.privacy.scores import Rows, Score

__all__ = [
    "Apart",
    "Curator",
    "Excess",
    "Ledger",
    "LedgerState",
    "PersonColumn",
    "Rows",
    "Score",
    "balance_lines",
    "bound_records",
    "caution_lines",
    "default_ledger",
    "named_ledger",
    "open_bounded",
    "read_ledger",
]
