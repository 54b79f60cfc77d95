"""Every pair of columns that the workload contains, measured once, each with the same noise."""

from dataclasses import dataclass
from fractions import Fraction

from dprap.accounting import Neighbors
from dprap.errors import SettingsError
from dprap.mechanisms.outline import PlannedStep, measured_marginals, rho_of_records, total_of_records
from dprap.mechanisms.protocol import Mechanism
from dprap.mechanisms.records import count_records
from dprap.mechanisms.result import MechanismResult, Progress, ProgressCallback, silent
from dprap.privacy import Curator
from dprap.queries import Marginal
from dprap.relaxed.jax.families import FamilyTarget, FamilyTargets, fit_families
from dprap.relaxed.jax.projection import ProjectionSettings
from dprap.relaxed.jax.start import initialise
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
        raise SettingsError("method pairs needs a workload with at least two columns in a marginal.")
    return pairs


def outline(
    workload: Workload, settings: PairsSettings, *, budget_rho: Fraction, neighbors: Neighbors, rows: int | None
) -> list[PlannedStep]:
    """What `dprap plan` shows before any data are touched."""
    total = rho_of_records(budget_rho, RECORDS_SHARE, neighbors)
    pairs = measured_marginals(
        "pairs of columns", pairs_of(workload), workload.domain, rho=budget_rho - total, neighbors=neighbors
    )
    return [*total_of_records(total, neighbors), pairs]


def run(
    curator: Curator, workload: Workload, settings: PairsSettings, *, seed: int, progress: ProgressCallback = silent
) -> MechanismResult:
    """Measure all 2-way marginals below the workload and project on them."""
    pairs = pairs_of(workload)
    records = count_records(curator, RECORDS_SHARE)  # public n, or a noisy total that is paid for
    measured = curator.measure(pairs, curator.remaining)  # charged, then drawn, then stored
    progress(Progress("measure", len(pairs), len(pairs)))
    start = initialise(workload.domain, settings.synthetic_rows, seed)
    shares = [(m.counts / records.count).astype("float32") for m in measured]
    targets = [FamilyTarget(pair, of_pair) for pair, of_pair in zip(pairs, shares, strict=True)]
    fitted = fit_families(start, FamilyTargets(targets), ProjectionSettings())
    return MechanismResult(
        fitted.rows, None, (*records.measurements, *measured), records=records.count, steps=fitted.steps
    )


MECHANISM = Mechanism(run, outline, PairsSettings, "every pair of columns once")
