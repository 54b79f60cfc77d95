"""Whether published records lie nearer to private ones than other private records do. NOT PRIVATE.

The guarantee of differential privacy does not rest on this. People ask for it, and a copy that the
noise cannot explain would show a mistake.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dprap.array_types import Int64
from dprap.evaluate.records_by_value import TableValues

# Distances are computed between this many records and this many others.
_RECORDS = 1_000
_OTHERS = 20_000


@dataclass(frozen=True)
class NearestRecords:
    """Distances are numbers of columns that differ, by code. NOT PRIVATE.

    Args:
        copies: The share of published records that equal a private one in every column.
        private_copies: The share of private records that equal another private one of the other
            half: what chance and few codes make equal by themselves.
        distance: The median distance of a published record to the nearest private one.
        private_distance: The median distance of a private record to the nearest one of the other
            half.

    """

    copies: float
    private_copies: float
    distance: float
    private_distance: float


def nearest_records(
    private: TableValues, published: TableValues, *, seed: int = 0
) -> NearestRecords:
    """Compare published records with one half of the private ones, as the other half compares with
    it.
    """
    rng = np.random.default_rng(seed)
    truth = np.stack([column.astype(np.int64) for column in private.codes.columns], axis=1)
    synthetic = np.stack([column.astype(np.int64) for column in published.codes.columns], axis=1)
    order = rng.permutation(len(truth))
    half, other = truth[order[: len(truth) // 2]], truth[order[len(truth) // 2 :]]
    known = {record.tobytes() for record in half}

    def copies(records: Int64[np.ndarray, "records columns"]) -> float:
        return (
            float(np.mean([record.tobytes() in known for record in records]))
            if len(records)
            else 0.0
        )

    def distance(records: Int64[np.ndarray, "records columns"]) -> float:
        some = records[rng.permutation(len(records))[:_RECORDS]]
        base = half[:_OTHERS]
        if not len(base) or not len(some):
            return 0.0
        return float(np.median([(base != record).sum(axis=1).min() for record in some]))

    return NearestRecords(copies(synthetic), copies(other), distance(synthetic), distance(other))
