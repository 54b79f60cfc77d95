"""Slow and obvious twins of the kernels in dprap.relaxed: loops over rows, columns and cells."""

from __future__ import annotations

from itertools import product

import numpy as np

from dprap.domain import Domain
from dprap.queries import Marginal, Prefix, Query, Threshold


def simplex_projection(values: np.ndarray) -> np.ndarray:
    """Euclidean projection of one vector onto the probability simplex, by trying every size of the support."""
    order = np.sort(values.astype(np.float64))[::-1]
    for size in range(len(order), 0, -1):
        threshold = (order[:size].sum() - 1) / size
        if order[size - 1] > threshold:
            return np.maximum(values - threshold, 0)
    raise AssertionError("a support of one always works")


def sparsemax(values: np.ndarray, domain: Domain) -> np.ndarray:
    result = np.empty(values.shape)
    for offset, size in zip(domain.offsets, domain.sizes, strict=True):
        for row in range(values.shape[1]):
            result[offset : offset + size, row] = simplex_projection(values[offset : offset + size, row])
    return result


def holds(query: Query, domain: Domain, record: tuple[int, ...]) -> bool:
    """Whether a record (codes of all columns of the domain) is counted by a query of cells."""
    family = query.family
    cell = np.unravel_index(query.index, domain.shape_of(family.columns)) if family.columns else ()
    codes = [record[domain.position(name)] for name in family.columns]
    if isinstance(family, Marginal):
        return all(code == wanted for code, wanted in zip(codes, cell, strict=True))
    if isinstance(family, Threshold):
        return sum(code == wanted for code, wanted in zip(codes, cell, strict=True)) >= family.at_least
    assert isinstance(family, Prefix)
    return all(
        code <= wanted if name in family.cumulative else code == wanted
        for name, code, wanted in zip(family.columns, codes, cell, strict=True)
    )


def relaxed_answer(query: Query, domain: Domain, probabilities: np.ndarray, weights: np.ndarray) -> float:
    """Expectation of a query over the product distributions: a sum over all records of the domain."""
    total = 0.0
    for record in product(*(range(size) for size in domain.sizes)):
        if holds(query, domain, record):
            coordinates = [offset + code for offset, code in zip(domain.offsets, record, strict=True)]
            total += float((np.prod(probabilities[coordinates].astype(np.float64), axis=0) * weights).sum())
    return total
