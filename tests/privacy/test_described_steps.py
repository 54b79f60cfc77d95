"""What a step is about is kept as text: its digest is that of the plain data, as ever."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dprap.privacy.steps import MOST_NAMED, Described, _digest_of_step, digest_of, label
from dprap.queries import Marginal

MANY = 2 * MOST_NAMED + 7
LABELS: list[Any] = [label(Marginal((f"c{number}", "größe"))) for number in range(MANY)]


@pytest.mark.parametrize("count", [0, 1, MOST_NAMED, MOST_NAMED + 1, MANY])
@pytest.mark.parametrize(
    "terms",
    [
        {},
        {"picks": 3, "score": [64, 0, list(range(MANY)), [], 0.5, tuple(range(MANY))]},
        {"excluded": list(range(MANY)), "apart": [[1, 2], 3], "codes": "x", "none": None},
    ],
)
def test_the_digest_of_a_step_is_that_of_its_plain_data(count: int, terms: dict[str, Any]) -> None:
    described = Described.of(iter(LABELS[:count]))
    rho = Fraction(1, 3)
    whole = ["select", [*terms.values(), *LABELS[:count]], str(rho)]
    assert _digest_of_step("select", terms.values(), described, rho) == digest_of(whole)
    assert (described.count, described.first) == (count, LABELS[:count][:MOST_NAMED])


def test_a_plain_marginal_has_the_label_of_its_plain_form() -> None:
    assert label(Marginal(("a", "b"))) == ["Marginal", ["a", "b"]]
    assert label(Marginal(("a",), ((0, 2),))) == ["Coarse", [[0, 2]], ["a"]]
