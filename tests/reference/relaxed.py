"""Slow and obvious twins of the kernels in dprap.relaxed: loops over rows, columns and cells."""

from __future__ import annotations

from itertools import product

import numpy as np

from dprap.domain import Domain
from dprap.queries import Marginal, Query, Range, Threshold


def simplex_projection(values: np.ndarray) -> np.ndarray:
    """Euclidean projection of one vector onto the probability simplex, by trying every size of the
    support.
    """
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
            result[offset : offset + size, row] = simplex_projection(
                values[offset : offset + size, row]
            )
    return result


def holds(query: Query, domain: Domain, record: tuple[int, ...]) -> bool:
    """Whether a record (codes of all columns of the domain) is counted by a query of cells."""
    family = query.family
    codes = [record[domain.position(name)] for name in family.columns]
    if isinstance(family, Range):
        return codes_in_ranges(family, domain, query.index, codes)
    cell = np.unravel_index(query.index, domain.shape_of(family.columns)) if family.columns else ()
    if isinstance(family, Marginal):
        return all(code == wanted for code, wanted in zip(codes, cell, strict=True))
    assert isinstance(family, Threshold)
    return sum(code == wanted for code, wanted in zip(codes, cell, strict=True)) >= family.at_least


def codes_in_ranges(family: Range, domain: Domain, index: int, codes: list[int]) -> bool:
    """Whether codes lie in the intervals of the query at an index, by listing all combinations in
    order.
    """
    every: list[list[tuple[int, int]]] = []
    for name, size in zip(family.columns, domain.shape_of(family.columns), strict=True):
        match family.along.get(name):
            case None:
                every.append([(code, code) for code in range(size)])
            case "prefixes":
                every.append([(0, code) for code in range(size)])
            case "all":
                every.append(
                    [(first, last) for first in range(size) for last in range(first, size)]
                )
            case listed:
                every.append(list(listed))
    wanted = list(product(*every))[index]
    return all(first <= code <= last for code, (first, last) in zip(codes, wanted, strict=True))


def relaxed_answer(
    query: Query, domain: Domain, probabilities: np.ndarray, weights: np.ndarray
) -> float:
    """Expectation of a query over the product distributions: a sum over all records of the
    domain.
    """
    total = 0.0
    for record in product(*(range(size) for size in domain.sizes)):
        if holds(query, domain, record):
            coordinates = [
                offset + code for offset, code in zip(domain.offsets, record, strict=True)
            ]
            total += float(
                (np.prod(probabilities[coordinates].astype(np.float64), axis=0) * weights).sum()
            )
    return total
