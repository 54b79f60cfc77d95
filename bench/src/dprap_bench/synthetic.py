"""The synthetic table that a release would hold, for studies that run a mechanism by itself."""

from __future__ import annotations

import numpy as np

from dprap.encoding import Codes
from dprap.errors import SettingsError
from dprap.mechanisms.result import MechanismResult
from dprap.relaxed.exchange import draw_jointly
from dprap.release.draw_records import matched_marginals, mixing_of
from dprap.workload import Workload


def published_table(result: MechanismResult, workload: Workload, *, rows: int, seed: int) -> Codes:
    """The synthetic records, drawn as a release draws them."""
    if result.relaxed is None:
        raise SettingsError("there are no rows to draw from.")
    chunks = draw_jointly(
        result.relaxed,
        matched_marginals(workload, result.measurements),
        rows,
        seed,
        mix=mixing_of(workload, result.measurements, records=result.records or rows, rows=rows),
    )
    return Codes(
        workload.domain, tuple(np.concatenate(parts) for parts in zip(*chunks, strict=True))
    )
