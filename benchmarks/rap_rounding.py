"""What rounding to whole records adds to the maximum error of RAP on ADULT, by method and number of records.

    python benchmarks/rap_rounding.py --data DIR --out benchmarks/results/rap_rounding.json

For every number of records: the largest change of any answer by rounding, and the maximum error before and after.
Medians of three drawings.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np

from dprap.bench.seeded import seeded_curator
from dprap.encoding import Codes
from dprap.mechanisms import rap
from dprap.privacy import Accounting
from dprap.relaxed import answers, round_rows
from dprap.sources import MemorySource
from rap_data import exact, keep, load, max_error, paper_workload

METHODS = ("independent", "systematic")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    codes = load(options.data, "adult")
    workload = paper_workload(codes, 3, 64)
    truth = exact(codes, workload)
    results = {}
    for epsilon, rounds in ((1.0, 25), (0.1, 5)):
        settings = rap.RapSettings(rounds=rounds, queries_per_round=5)
        curator = seeded_curator(MemorySource(codes), epsilon=epsilon, seed=0, accounting=Accounting.PAPER)
        relaxed = rap.run(curator, workload, settings, seed=0).relaxed
        assert relaxed is not None
        unrounded = list(answers(relaxed, workload.families))
        before = max_error(relaxed, workload, truth)
        for method in METHODS:
            for rows in (1000, 5000, codes.rows):
                changes, errors = [], []
                for seed in range(3):
                    drawn = round_rows(relaxed, seed, rows=rows, method=method)
                    rounded = exact(Codes(codes.domain, drawn), workload)
                    changes.append(max(np.abs(a - b).max() for a, b in zip(rounded, unrounded, strict=True)))
                    errors.append(max(np.abs(a - b).max() for a, b in zip(rounded, truth, strict=True)))
                results[f"eps{epsilon:g} {method} {rows} rows"] = {
                    "largest_change": round(float(np.median(changes)), 5),
                    "max_error_before": round(before, 5),
                    "max_error_after": round(float(np.median(errors)), 5),
                }
    for name, figures in results.items():
        print(name, figures)
    keep(options.out, results)


if __name__ == "__main__":
    main()
