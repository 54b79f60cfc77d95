"""The ledger: what was spent on a data set, durably, and the noisy results it bought.

* `ledger`: the runs of a ledger; the order of events that makes a run survive a crash.
* `opened`: the files of a ledger that is open for spending: lock, relation, cap, anchor, key.
* `reading`: ledgers read and verified, by anybody who holds the files.
* `chain`: an append-only file of lines, each of which seals all before it.
* `state`: what the records mean, and which record may follow which.
* `record_checks`: what a record must hold before anybody acts on it.
* `stored_results`: the noisy arrays beside the lines.
* `anchor`: a place outside the folder that remembers the last line.
* `default_location`: where the ledger of a data set is kept when nobody says.
* `table_digest`: a digest of a table in memory, by which its ledger is found again.
* `balance`: what was spent before and what the sum will be, in words.
* `journal`: what the curator needs of a ledger, and a journal in memory.
"""

from dprap.privacy.ledger.balance import balance_lines, caution_lines
from dprap.privacy.ledger.default_location import default_ledger, named_ledger
from dprap.privacy.ledger.ledger import Ledger
from dprap.privacy.ledger.reading import read_ledger, read_lines
from dprap.privacy.ledger.state import LedgerState, RunState
from dprap.privacy.ledger.stored_results import Arrays

__all__ = [
    "Arrays",
    "Ledger",
    "LedgerState",
    "RunState",
    "balance_lines",
    "caution_lines",
    "default_ledger",
    "named_ledger",
    "read_ledger",
    "read_lines",
]
