"""Maximum errors that others have published, to stand beside what was measured here.

Facts, with their source.
"""

from __future__ import annotations

FEM: dict[tuple[str, str, float], float] = {
    ("adult", "3way:64", 0.1): 0.166,
    ("adult", "3way:64", 0.25): 0.103,
    ("adult", "3way:64", 1.0): 0.0985,
    ("adult", "5way:64", 0.1): 0.150,
    ("adult", "5way:64", 1.0): 0.0935,
    ("loans", "3way:64", 0.1): 0.2735,
    ("loans", "3way:64", 0.25): 0.1863,
    ("loans", "3way:64", 0.5): 0.1873,
    ("loans", "5way:64", 0.1): 0.2233,
    ("loans", "5way:64", 0.25): 0.2074,
    ("loans", "5way:64", 0.5): 0.1691,
}
"""FEM with the best hyperparameters tried, from the result files that its authors publish with
their code (https://github.com/giusevtr/fem), which solves its integer programmes with Gurobi:
table, workload, ε to error.
"""

PAPER_GRID = tuple(
    (rounds, queries) for rounds in (2, 5, 10, 25, 50) for queries in (5, 10, 25, 50, 100)
)
"""(T, K) of the paper's table of hyperparameters: 25 pairs."""
