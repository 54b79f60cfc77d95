"""A release against the private table.

NOT PRIVATE: whoever sees these numbers learns about the records.

against_truth:       the one door: everything below, of one release
error_metrics:       error metrics over a workload
answer_shares:       answers as fractions, of the private table and of what was published
worst_cells:         the worst answers of a published table, by name
records_by_value:    records by value, neither clipped nor binned
table_comparison:    both tables by value: all comparisons together
column_differences:  distribution, moments, quantiles, zeros, nulls
pair_differences:    joint shares and correlation
subgroups:           errors among part of the records
models:              models trained on either table
nearest:             distances of published records to private ones
sdmetrics:           the scores of SDMetrics
"""

from dprap.evaluate.against_truth import Evaluation, evaluate_release
from dprap.evaluate.answer_shares import Published, exact_answers, published_answers
from dprap.evaluate.error_metrics import Errors, FamilyErrors, compare, evaluate, family_errors

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
