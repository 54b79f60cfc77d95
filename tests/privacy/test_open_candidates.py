"""Which marginals are open to each of several picks follows from columns and earlier picks
alone.
"""

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from dprap.privacy.open_candidates import Apart, OpenCandidates
from dprap.queries import Marginal

NAMES = "abcdef"
MARGINALS = [Marginal(columns) for size in (1, 2, 3) for columns in combinations(NAMES, size)]


def open_by_the_rule(candidates, apart, picked):
    """The rule, said slowly."""
    left = [place for place in range(len(candidates)) if place not in picked]
    if len(picked) >= apart.early_picks:
        left = [place for place in left if place not in apart.early] or left
    taken = {
        pair for place in picked for pair in combinations(sorted(candidates[place].columns), 2)
    }
    apart_from = [
        place
        for place in left
        if not taken & set(combinations(sorted(candidates[place].columns), 2))
    ]
    return apart_from or left


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_open_candidates_follow_the_rule(data):
    candidates = data.draw(
        st.lists(st.sampled_from(MARGINALS), min_size=2, max_size=12, unique=True)
    )
    places = st.integers(0, len(candidates) - 1)
    apart = Apart(data.draw(st.frozensets(places)), data.draw(st.integers(0, 4)))
    picked = data.draw(st.lists(places, max_size=len(candidates) - 1, unique=True))
    turns = OpenCandidates(candidates, apart)
    assert turns.open_after(picked).tolist() == open_by_the_rule(candidates, apart, picked)
    assert turns.open_after([]).tolist() == open_by_the_rule(candidates, apart, []), (
        "nothing is remembered"
    )
