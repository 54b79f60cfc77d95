"""What a step is about is kept as text: its digest is that of the plain data, as ever."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()  # Python writes NaN and infinities too
    | st.text(st.characters())  # surrogates, NUL, quotes
    | st.sampled_from([", ", "], [", '"', "\\"]),
    lambda inner: (
        st.lists(inner, max_size=9)
        | st.lists(inner, max_size=9).map(tuple)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=40,
)


@settings(deadline=None)
@given(terms=st.lists(PLAIN, max_size=4), entries=st.lists(PLAIN, max_size=9), text=st.text())
def test_so_it_is_of_odd_data_cut_anywhere(terms: list[Any], entries: list[Any], text: str) -> None:
    rho = Fraction(2**70 + 1, 3**50)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dprap.privacy.steps.MOST_NAMED", 3)  # every list is cut somewhere
        described = Described.of(entries)
        digest = _digest_of_step(text, terms, described, rho)
    assert digest == digest_of([text, [*terms, *entries], str(rho)])
    assert described.count == len(entries)


def test_a_plain_marginal_has_the_label_of_its_plain_form() -> None:
    assert label(Marginal(("a", "b"))) == ["Marginal", ["a", "b"]]
    assert label(Marginal(("a",), ((0, 2),))) == ["Coarse", [[0, 2]], ["a"]]
