"""The list of mutants does not rot: each has its place in the code, and tests that exist.

That the tests notice the mutants is shown by `make mutants`, which takes minutes.
"""

from __future__ import annotations

import ast
from collections import Counter
from functools import cache

import pytest
from tests.mutants.catalogue import ROOT, Mutant, read_mutants

MUTANTS = read_mutants()


def test_every_part_of_the_promise_has_mutants() -> None:
    parts = Counter(mutant.part for mutant in MUTANTS)
    assert len(parts) == 7
    assert min(parts.values()) >= 15
    assert [
        name for name, times in Counter(each.name for each in MUTANTS).items() if times > 1
    ] == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_has_its_place_and_its_tests(mutant: Mutant) -> None:
    changed = mutant.of(_text(mutant.file))
    assert changed != _text(mutant.file)
    ast.parse(changed)
    assert mutant.tests
    for test in mutant.tests:
        path, *names = test.partition("[")[0].split("::")
        assert names, "a test is named exactly, not by its file"
        inside: ast.Module | ast.ClassDef = _parsed(path)
        for name in names:
            found = [each for each in inside.body if getattr(each, "name", None) == name]
            assert found, test
            inside = found[0]  # type: ignore[assignment]


@cache
def _text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def _parsed(path: str) -> ast.Module:
    return ast.parse(_text(path))
