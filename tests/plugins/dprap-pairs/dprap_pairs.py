"""Every pair of columns that the workload contains, measured once, each with the same noise."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dprap.accounting import Measurement, Neighbors
from dprap.errors import SettingsError
from dprap.mechanisms.outline import (
    PlannedStep,
    measured_marginals,
    rho_of_records,
    total_of_records,
)
from dprap.mechanisms.protocol import Mechanism
from dprap.mechanisms.record_count import count_records
from dprap.mechanisms.result import MechanismResult, Progress, ProgressCallback, silent
from dprap.privacy import Curator
from dprap.queries import Marginal
from dprap.relaxed import FitSettings, RelaxedDataset, Target, fit
from dprap.workload import Workload

# What buys the number of records where it is private.
RECORDS_SHARE = Fraction(1, 100)


@dataclass(frozen=True)
class PairsSettings:
    """`synthetic_rows` is n'."""

    synthetic_rows: int = 500


def pairs_of(workload: Workload) -> list[Marginal]:
    """The pairs, or a refusal before anything is spent."""
    pairs = [marginal for marginal in workload.closure(smallest=2) if len(marginal.columns) == 2]
    if not pairs:
        raise SettingsError(
            "method pairs needs a workload with at least two columns in a marginal."
        )
    return pairs


def outline(
    workload: Workload,
    settings: PairsSettings,
    *,
    budget_rho: Fraction,
    neighbors: Neighbors,
    rows: int | None,
) -> list[PlannedStep]:
    """What `dprap plan` shows before any data are touched."""
    total = rho_of_records(budget_rho, RECORDS_SHARE, neighbors)
    pairs = measured_marginals(
        "pairs of columns",
        pairs_of(workload),
        workload.domain,
        rho=budget_rho - total,
        neighbors=neighbors,
    )
    return [*total_of_records(total, neighbors), pairs]


def target_of(measured: Measurement, records: float) -> Target:
    """Noisy shares, each weighted by its inverse variance."""
    shares = (measured.counts / records).astype("float32")
    return Target(
        measured.marginal, shares, np.full_like(shares, (records / measured.stddev_counts) ** 2)
    )


def run(
    curator: Curator,
    workload: Workload,
    settings: PairsSettings,
    *,
    seed: int,
    progress: ProgressCallback = silent,
) -> MechanismResult:
    """Measure all 2-way marginals below the workload and project on them."""
    pairs = pairs_of(workload)
    records = count_records(curator, RECORDS_SHARE)  # public n, or a noisy total that is paid for
    measured = curator.measure(pairs, curator.remaining)  # charged, then drawn, then stored
    progress(Progress("measure", len(pairs), len(pairs)))
    targets = [target_of(m, records.count) for m in measured]
    # Logits of random rows: what the pairs leave open stays near them.
    start = np.random.default_rng(seed).normal(
        size=(workload.domain.onehot_size, settings.synthetic_rows)
    )
    how = FitSettings(
        prior=start.astype("float32"), kl_weight=1.0, steps=300, learning_rate=0.2, cool_down=0.5
    )
    fitted = fit(RelaxedDataset.from_logits(workload.domain, start), targets, how)
    return MechanismResult(
        fitted.rows,
        None,
        (*records.measurements, *measured),
        records=records.count,
        steps=fitted.steps,
    )


MECHANISM = Mechanism(run, outline, PairsSettings, "every pair of columns once")
