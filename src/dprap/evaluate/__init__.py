"""Errors of a release against the private table. NOT PRIVATE: whoever sees these numbers learns about the records."""

from dprap.evaluate.errors import Errors, FamilyErrors, compare, evaluate, family_errors
from dprap.evaluate.published import Published, exact_answers, published_answers
from dprap.evaluate.release import evaluate_release

__all__ = [
    "Errors",
    "FamilyErrors",
    "Published",
    "compare",
    "evaluate",
    "evaluate_release",
    "exact_answers",
    "family_errors",
    "published_answers",
]
