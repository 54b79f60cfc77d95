"""Counting, noise and selection: what they cost, each beside a peer in the same run.

    python benchmarks/privacy_primitives.py [--small]

writes `results/privacy_primitives.json` and prints a table. CPU seconds, the least of a few repetitions: the
machine may be busy. Peers: a loop over marginals of NumPy's bincount for counting; OpenDP's discrete Gaussian and noisy top-k for
noise and selection, up to the size that they reach in seconds.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import opendp.prelude as dp

from dprap.domain import Domain
from dprap.encoding import Codes, code_dtype
from dprap.privacy.entropy import OsEntropy
from dprap.privacy.gaussian import sample_by_table
from dprap.privacy.selection import pick_top
from dprap.sources import MemorySource
from dprap.workload import random_kway

ADULT_SIZES = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
ADULT = Domain(tuple(f"c{position:02d}" for position in range(14)), ADULT_SIZES)
SIZES = (1_000, 10_000, 100_000, 1_000_000, 20_000_000)
ROWS = (48_842, 1_000_000, 20_000_000)
RESULTS = Path(__file__).parent / "results" / "privacy_primitives.json"


def cpu_seconds(work: Callable[[], Any], repetitions: int) -> float:
    """Least CPU time of a few repetitions."""
    least = math.inf
    for _ in range(repetitions):
        start = time.process_time()
        work()
        least = min(least, time.process_time() - start)
    return least


def cpu_model() -> str:
    """The processor's name, where the system tells it."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text().splitlines() if information.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def bandwidth() -> float:
    """Bytes per second of reading memory in one thread."""
    words = np.ones(1 << 25)
    return words.nbytes / cpu_seconds(words.sum, 5)


def counting(rows: int, bytes_per_second: float) -> dict[str, float]:
    generator = np.random.default_rng(0)
    columns = tuple((generator.random(rows) ** 3 * size).astype(code_dtype(size)) for size in ADULT.sizes)
    source = MemorySource(Codes(ADULT, columns))
    marginals = random_kway(ADULT, 3, 64, rows=48_842).marginals

    def numpy_loop() -> None:
        for marginal in marginals:
            parts = [columns[ADULT.position(name)].astype(np.int64) for name in marginal.columns]
            sizes = ADULT.shape_of(marginal.columns)
            np.bincount((parts[0] * sizes[1] + parts[1]) * sizes[2] + parts[2], minlength=marginal.size(ADULT))

    repetitions = 3 if rows <= 1_000_000 else 1
    ours, theirs = (cpu_seconds(work, repetitions) for work in (lambda: source.count(marginals), numpy_loop))
    as_bytes = sum(columns[ADULT.position(name)].nbytes for marginal in marginals for name in marginal.columns)
    return {
        "rows": rows,
        "dprap_s": ours,
        "numpy_bincount_s": theirs,
        "ratio": theirs / ours,
        "reading_codes_once_per_marginal_s": as_bytes / bytes_per_second,
        "the_same_as_8_byte_integers_s": 8 * as_bytes / bytes_per_second,
    }


def noise(cells: int, opendp_cells: int, stddev: float = 600.0) -> dict[str, float | None]:
    sample_by_table(1, stddev, OsEntropy())  # the table of one σ is made once
    repetitions = 3 if cells <= 1_000_000 else 1
    ours = cpu_seconds(lambda: sample_by_table(cells, stddev, OsEntropy()), repetitions)
    theirs = None
    if cells <= opendp_cells:
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
        measurement, zeros = dp.m.make_gaussian(*space, scale=stddev), [0] * cells
        theirs = cpu_seconds(lambda: measurement(zeros), 1)
    return {"cells": cells, "dprap_s": ours, "opendp_s": theirs, "ratio": theirs and theirs / ours}


def selection(candidates: int, shape: str, opendp_candidates: int, k: int = 10) -> dict[str, Any]:
    generator = np.random.default_rng(0)
    scale = 100.0
    scores = np.abs(generator.normal(0, 5, candidates)).astype(np.int64)
    if shape == "peaked":
        scores[: candidates // 100] += 30_000 + np.arange(candidates // 100) % 5_000
    repetitions = 3 if candidates <= 1_000_000 else 1
    ours = cpu_seconds(lambda: pick_top(scores, k=k, eta=1 / scale, entropy=OsEntropy()), repetitions)
    theirs = None
    if candidates <= opendp_candidates:
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64")
        measurement = dp.m.make_noisy_top_k(*space, dp.zero_concentrated_divergence(), k, scale)
        as_list = scores.tolist()
        theirs = cpu_seconds(lambda: measurement(as_list), 1)
    return {
        "candidates": candidates,
        "scores": shape,
        "k": k,
        "dprap_s": ours,
        "opendp_s": theirs,
        "ratio": theirs and theirs / ours,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="leave the largest sizes out and write nothing")
    small = parser.parse_args().small
    dp.enable_features("contrib")
    sizes, rows = (SIZES[:-2], ROWS[:-2]) if small else (SIZES, ROWS)
    bytes_per_second = bandwidth()
    result = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": {"cpu": cpu_model(), "cores": os.cpu_count()},
        "versions": {
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in ("dprap", "numpy", "opendp")},
        },
        "memory_gb_per_s": bytes_per_second / 1e9,
        "unit": "CPU seconds",
        "counting_64_three_way_marginals": [counting(n, bytes_per_second) for n in rows],
        "discrete_gaussian_sigma_600": [noise(cells, 100_000) for cells in sizes],
        "top_10_selection": [
            selection(candidates, shape, 100_000) for shape in ("flat", "peaked") for candidates in sizes
        ],
    }
    if not small:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
