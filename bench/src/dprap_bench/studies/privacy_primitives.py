"""Counting, noise and selection: what they cost, each beside a peer in the same run.

CPU seconds, the least of a few repetitions: the machine may be busy. Peers: a loop over marginals
of NumPy's bincount for counting; OpenDP's discrete Gaussian and noisy top-k for noise and
selection, up to the size that they reach in seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import opendp.prelude as dp

from dprap.domain import Domain
from dprap.encoding import Codes, code_dtype
from dprap.privacy.discrete_gaussian import sample_by_table
from dprap.privacy.entropy import OsEntropy
from dprap.privacy.selection import pick_top
from dprap.sources import MemorySource
from dprap.workload import random_kway
from dprap_bench.cell import StudyCell
from dprap_bench.record import Figures
from dprap_bench.timing import least_cpu_seconds

ADULT_SIZES = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
ADULT = Domain(tuple(f"c{position:02d}" for position in range(14)), ADULT_SIZES)
SIZES = (1_000, 10_000, 100_000, 1_000_000, 20_000_000)
ROWS = (48_842, 1_000_000, 20_000_000)
OPENDP_LIMIT = 100_000


def cells(seeds: int | None) -> list[StudyCell]:  # noqa: ARG001 - times hardly depend on the noise
    """Each primitive at each size."""
    facts: list[dict[str, Any]] = [{"primitive": "counting", "size": rows} for rows in ROWS]
    facts += [{"primitive": "noise", "size": size} for size in SIZES]
    facts += [
        {"primitive": f"selection, {shape} scores", "size": size}
        for shape in ("flat", "peaked")
        for size in SIZES
    ]
    return [StudyCell("privacy_primitives", each) for each in facts]


def measure(facts: Mapping[str, Any], data_dir: Path) -> Figures:  # noqa: ARG001 - the tables are made up
    """One primitive at one size."""
    dp.enable_features("contrib")
    match facts["primitive"]:
        case "counting":
            return counting(facts["size"])
        case "noise":
            return noise(facts["size"])
        case other:
            return selection(facts["size"], "peaked" if "peaked" in other else "flat")


def bandwidth() -> float:
    """Bytes per second of reading memory in one thread."""
    words = np.ones(1 << 25)
    return words.nbytes / least_cpu_seconds(words.sum, 5)


def counting(rows: int) -> Figures:
    """64 three-way marginals of ADULT's domain."""
    bytes_per_second = bandwidth()
    generator = np.random.default_rng(0)
    columns = tuple(
        (generator.random(rows) ** 3 * size).astype(code_dtype(size)) for size in ADULT.sizes
    )
    source = MemorySource(Codes(ADULT, columns))
    marginals = random_kway(ADULT, 3, 64, rows=48_842).marginals

    def numpy_loop() -> None:
        for marginal in marginals:
            parts = [columns[ADULT.position(name)].astype(np.int64) for name in marginal.columns]
            sizes = ADULT.shape_of(marginal.columns)
            np.bincount(
                (parts[0] * sizes[1] + parts[1]) * sizes[2] + parts[2],
                minlength=marginal.size(ADULT),
            )

    repetitions = 3 if rows <= 1_000_000 else 1
    ours, theirs = (
        least_cpu_seconds(work, repetitions)
        for work in (lambda: source.count(marginals), numpy_loop)
    )
    as_bytes = sum(
        columns[ADULT.position(name)].nbytes for marginal in marginals for name in marginal.columns
    )
    return {
        "dprap_s": ours,
        "numpy_bincount_s": theirs,
        "ratio": theirs / ours,
        "reading_codes_once_per_marginal_s": as_bytes / bytes_per_second,
        "the_same_as_8_byte_integers_s": 8 * as_bytes / bytes_per_second,
        "memory_gb_per_s": bytes_per_second / 1e9,
    }


def noise(cells: int, stddev: float = 600.0) -> Figures:
    """Discrete Gaussian noise."""
    sample_by_table(1, stddev, OsEntropy())  # the table of one σ is made once
    repetitions = 3 if cells <= 1_000_000 else 1
    ours = least_cpu_seconds(lambda: sample_by_table(cells, stddev, OsEntropy()), repetitions)
    theirs = None
    if cells <= OPENDP_LIMIT:
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
        measurement, zeros = dp.m.make_gaussian(*space, scale=stddev), [0] * cells
        theirs = least_cpu_seconds(lambda: measurement(zeros), 1)
    return {"dprap_s": ours, "opendp_s": theirs, "ratio": theirs and theirs / ours}


def selection(candidates: int, shape: str, k: int = 10) -> Figures:
    """The top 10 of many candidates."""
    generator = np.random.default_rng(0)
    scale = 100.0
    scores = np.abs(generator.normal(0, 5, candidates)).astype(np.int64)
    if shape == "peaked":
        scores[: candidates // 100] += 30_000 + np.arange(candidates // 100) % 5_000
    repetitions = 3 if candidates <= 1_000_000 else 1
    ours = least_cpu_seconds(
        lambda: pick_top(scores, k=k, eta=1 / scale, entropy=OsEntropy()), repetitions
    )
    theirs = None
    if candidates <= OPENDP_LIMIT:
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
        measurement = dp.m.make_noisy_top_k(*space, dp.zero_concentrated_divergence(), k, scale)
        as_list = scores.tolist()
        theirs = least_cpu_seconds(lambda: measurement(as_list), 1)
    return {"dprap_s": ours, "opendp_s": theirs, "ratio": theirs and theirs / ours}
