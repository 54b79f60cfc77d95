"""Exit codes of the command line.

0 done; 1 unexpected failure; 2 wrong usage; 3 schema, data, workload or settings refused; 4 budget
or ledger refused; 130 stopped by Ctrl-C or a termination signal (resumable).
"""

from __future__ import annotations

from dprap.errors import BudgetError, DprapError, LedgerError

REFUSED_INPUT = 3
REFUSED_SPENDING = 4
STOPPED = 130


def exit_code_of(error: DprapError) -> int:
    """The exit code for an error."""
    return REFUSED_SPENDING if isinstance(error, BudgetError | LedgerError) else REFUSED_INPUT
