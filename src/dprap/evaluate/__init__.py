"""A release against the private table. NOT PRIVATE: whoever sees these numbers learns about the records.

release:     the one door: everything below, of one release
errors:      error metrics over a workload
published:   answers as fractions, of the private table and of what was published
worst_cells: the worst answers of a published table, by name
values:      records by value, neither clipped nor binned
tables:      both tables by value: all comparisons together
columns:     distribution, moments, quantiles, zeros, nulls
pairs:       joint shares and correlation
subgroups:   errors among part of the records
models:      models trained on either table
nearest:     distances of published records to private ones
sdmetrics:   the scores of SDMetrics
"""

from dprap.evaluate.errors import Errors, FamilyErrors, compare, evaluate, family_errors
from dprap.evaluate.published import Published, exact_answers, published_answers
from dprap.evaluate.release import Evaluation, evaluate_release

__all__ = [
    "Errors",
    "Evaluation",
    "FamilyErrors",
    "Published",
    "compare",
    "evaluate",
    "evaluate_release",
    "exact_answers",
    "family_errors",
    "published_answers",
]
