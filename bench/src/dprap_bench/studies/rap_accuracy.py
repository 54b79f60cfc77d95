"""Maximum error, CPU seconds and steps of RAP on the paper's workloads, against reference figures.

    python benchmarks/rap_accuracy.py --data DIR --out benchmarks/results/rap_accuracy.json [--only k3]

The reference is the original algorithm at equal rounds, queries per round and ε, with the paper's accounting and
replace-one neighbours. CPU seconds include compilation. Figures of other cases in the file stay as they are.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent))

from dprap_bench.seeded import seeded_curator
from dprap.mechanisms import rap
from dprap.privacy import Accounting
from dprap.sources import MemorySource
from rap_data import exact, keep, load, max_error, paper_workload

# name: (table, k, threshold, marginals, ε, rounds, queries per round, reference maximum error)
CASES = {
    "k3-eps1-5x5": ("adult", 3, None, 64, 1.0, 5, 5, 0.082),
    "k3-eps1-10x10": ("adult", 3, None, 64, 1.0, 10, 10, 0.032),
    "k3-eps1-25x5": ("adult", 3, None, 64, 1.0, 25, 5, 0.025),
    "k3-eps1-50x5": ("adult", 3, None, 64, 1.0, 50, 5, 0.032),
    "k3-eps.1-5x5": ("adult", 3, None, 64, 0.1, 5, 5, 0.110),
    "k3-eps.1-10x5": ("adult", 3, None, 64, 0.1, 10, 5, 0.112),
    "k3-eps.1-5x10": ("adult", 3, None, 64, 0.1, 5, 10, 0.119),
    "k5-eps1-10x10": ("adult", 5, None, 64, 1.0, 10, 10, 0.028),
    "k5-eps1-25x5": ("adult", 5, None, 64, 1.0, 25, 5, 0.027),
    "k5-eps1-50x5": ("adult", 5, None, 64, 1.0, 50, 5, 0.0255),
    "k5-eps.1-5x5": ("adult", 5, None, 64, 0.1, 5, 5, 0.098),
    "1of3-eps1-10x10": ("adult", 3, 1, 64, 1.0, 10, 10, 0.18),
    "1of3-eps.1-10x5": ("adult", 3, 1, 64, 0.1, 10, 5, 0.37),
    "2of3-eps1-10x10": ("adult", 3, 2, 64, 1.0, 10, 10, None),
    "2of3-eps.1-10x5": ("adult", 3, 2, 64, 0.1, 10, 5, None),
    "loans-k3-64-eps1-10x10": ("loans", 3, None, 64, 1.0, 10, 10, None),
    "loans-k3-64-eps.1-5x5": ("loans", 3, None, 64, 0.1, 5, 5, None),
    "loans-k5-64-eps1-10x10": ("loans", 5, None, 64, 1.0, 10, 10, None),
    "loans-k5-64-eps.1-5x5": ("loans", 5, None, 64, 0.1, 5, 5, None),
    "loans-k3-1024-eps1-5x5": ("loans", 3, None, 1024, 1.0, 5, 5, None),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with adult.csv, adult-domain.json and so on")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", default="", help="run only cases whose names contain one of these, by commas")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--accounting", type=Accounting, default=Accounting.PAPER)
    options = parser.parse_args()
    results = json.loads(options.out.read_text())["results"] if options.out.exists() else {}
    for name, (table, k, at_least, marginals, epsilon, rounds, queries, reference) in CASES.items():
        if not any(part in name for part in options.only.split(",")):
            continue
        codes = load(options.data, table)
        workload = paper_workload(codes, k, marginals, at_least=at_least)
        truth = exact(codes, workload)
        settings = rap.RapSettings(rounds=rounds, queries_per_round=queries)
        errors, seconds, steps = [], [], []
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            details: list[str] = []
            start = time.process_time()
            curator = seeded_curator(MemorySource(codes), epsilon=epsilon, seed=seed, accounting=options.accounting)
            result = rap.run(curator, workload, settings, seed=seed, progress=lambda p, to=details: to.append(p.detail))
            seconds.append(round(time.process_time() - start, 1))
            assert result.relaxed is not None
            errors.append(round(max_error(result.relaxed, workload, truth), 4))
            steps.append(sum(int(detail.split(" after ")[1].split()[0]) for detail in details))
        case = name if options.accounting == Accounting.PAPER else f"{name}-{options.accounting.value}"
        results[case] = {
            "queries": workload.queries,
            "accounting": options.accounting.value,
            "first_seed": options.first_seed,
            "initial_spread": settings.spread_for(workload),
            "zero_answers_max_error": round(max(float(fractions.max()) for fractions in truth), 4),
            "max_error_median": median(errors),
            "max_error": errors,
            "reference": reference,
            "cpu_seconds": seconds,
            "steps": steps,
            "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }
        print(case, results[case], flush=True)
        keep(options.out, results)


if __name__ == "__main__":
    main()
