"""Matrix products: a flag that says nothing is silent, a number that is not finite is not, and no
other way is used.
"""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import dprap
from dprap import products
from dprap.products import checked_once, product

# Integers, which set no flags, and the one place itself.
ELSEWHERE = {"privacy/exact_counts.py", "products.py"}


def _multiply_with_a_flag(
    left: np.ndarray, right: np.ndarray, out: np.ndarray | None = None
) -> np.ndarray:
    """What a library does that computes with what lies in its buffers, and throws the result
    away.
    """
    np.zeros(2) / np.zeros(2)
    return np.asarray(_MATMUL(left, right, out=out))


_MATMUL = np.matmul


def test_a_flag_without_a_wrong_number_is_no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products.np, "matmul", _multiply_with_a_flag)
    with pytest.warns(RuntimeWarning, match="invalid value"):  # so NumPy alone would warn
        _multiply_with_a_flag(np.eye(2), np.ones(2))
    assert product(np.eye(2), np.ones(2)).tolist() == [1, 1]


def test_a_wrong_number_is_a_warning() -> None:
    with pytest.warns(RuntimeWarning, match="not finite"):
        product(np.array([[np.inf, 1.0]]), np.array([0.0, 1.0]))
    with pytest.warns(RuntimeWarning, match="not finite"):
        product(np.full((2, 2), 1e300), np.full(2, 1e300))


def test_after_many_products_it_is_the_end_that_counts() -> None:
    found = np.ones(2)
    with checked_once(found):
        np.zeros(2) / np.zeros(2)
    with pytest.warns(RuntimeWarning, match="not finite"), checked_once(found):
        found[:] = np.zeros(2) / np.zeros(2)


def test_results_go_where_they_are_asked_for() -> None:
    out = np.empty(2)
    assert product(np.eye(2), np.array([3.0, 4.0]), out=out) is out
    assert out.tolist() == [3, 4]


def test_no_product_goes_another_way() -> None:
    root = Path(dprap.__file__).parent
    found = [
        f"{path.relative_to(root)}:{node.lineno}"
        for path in root.rglob("*.py")
        if str(path.relative_to(root)) not in ELSEWHERE and "relaxed/jax" not in str(path)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult))
        or (isinstance(node, ast.Attribute) and node.attr == "matmul")
    ]
    assert found == []
