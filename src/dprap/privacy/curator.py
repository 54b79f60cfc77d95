"""The curator: the only door to private data.

A mechanism is handed a `Curator` and nothing else. Each verb computes exact integers on the private
side, charges the budget durably, adds noise, stores the noisy result durably and only then returns
it, so whatever a mechanism does is ρ-zCDP by composition and post-processing, with ρ the sum of its
charges, never above the budget. The argument for each constant stands at the verb.
"""

from __future__ import annotations

from dprap.privacy.verbs.certify import Certifying
from dprap.privacy.verbs.discover import Discovering
from dprap.privacy.verbs.measure import Measuring
from dprap.privacy.verbs.select import Selecting


class Curator(Measuring, Selecting, Certifying, Discovering):
    """Holds a private table and a budget; answers through noise it charges for.

    Args:
        source: The private table, which can be counted.
        budget: What the run may spend in all.
        neighbors: The neighbour relation that the promise is about.
        ledger: Where charges and results are kept; None keeps them in memory, for invented data alone.
        run: The name of the run; a run of the same name in the ledger is gone on with.
        insecure_noise_seed: For tests and benchmarks alone: reproducible noise that protects nobody.
        max_cells: The largest marginal, in cells, that may be counted.

    Raises:
        LedgerError: The noise is seeded and there is a ledger.
        BudgetError: The table is empty, or δ is too large for it.
        DataError: The table has more records than exact scores allow.

    """
