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
        ledger: Where charges and results are kept; None keeps them in memory, for invented data
            alone.
        run: The name of the run; a run of the same name in the ledger is gone on with.
        insecure_noise_seed: For tests and benchmarks alone: reproducible noise that protects
            nobody.
        max_cells: The largest marginal, in cells, that may be counted.

    Raises:
        LedgerError: The noise is seeded and there is a ledger.
        BudgetError: The table is empty, or δ is too large for it.
        DataError: The table has more records than exact scores allow.

    >>> import numpy as np
    >>> from dprap.accounting import Budget, Neighbors
    >>> from dprap.encoding import Codes
    >>> from dprap.domain import Domain
    >>> from dprap.queries import Marginal, Query
    >>> from dprap.sources import MemorySource
    >>> domain = Domain.of({"sex": 2, "region": 3})
    >>> table = Codes.of(domain, {"sex": [0, 1] * 200, "region": [0, 1, 2, 2] * 100})
    >>> curator = Curator(
    ...     MemorySource(table),
    ...     budget=Budget.of(epsilon=10.0, delta=1e-6),
    ...     neighbors=Neighbors("replace"),
    ...     ledger=None,
    ... )
    >>> pair = Marginal(("sex", "region"))
    >>> curator.set_aside(curator.rho / 10)
    >>> curator.prepare([pair])
    >>> tenth = curator.rho / 10
    >>> sexes = curator.measure([Marginal(("sex",))], tenth)[0]
    >>> len(sexes.counts), sexes.stddev_counts == curator.stddev_of_marginal(tenth)
    (2, True)
    >>> guess = np.full(6, 400 / 6)
    >>> curator.select([Marginal(("sex",)), pair], [sexes.counts, guess], k=1, rho=tenth)
    [1]
    >>> chosen = curator.select_queries([pair], [guess], k=2, rho=tenth)
    >>> [type(found).__name__ for found in curator.measure_queries(chosen, tenth)]
    ['QueryMeasurement', 'QueryMeasurement']
    >>> [len(counts) for _, counts, _ in curator.measure_all([pair], tenth)]
    [6]
    >>> curator.set_aside(0)
    >>> curator.certify([pair], [guess], rho=tenth).queries
    6
    >>> curator.finish()
    """
