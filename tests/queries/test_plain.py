"""Plain forms: every family has one, comes back from it, and keeps the ledger's label."""

import json
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.privacy.steps import digest_of, label
from dprap.queries import Custom, Family, Halfspace, Marginal, Range, Threshold
from dprap.queries.custom import NamedCustom
from dprap.queries.plain import KINDS, as_plain, from_plain

DOMAIN = Domain.of({"a": 2, "b": 3, "c": 4})


def pair(row):
    return row["a"][:2]


# Each with its plain form and the label that ledgers have held from the first version on.
FORMS = [
    (Marginal(()), {"columns": []}, '["Marginal", []]'),
    (Marginal(("c", "a")), {"columns": ["c", "a"]}, '["Marginal", ["c", "a"]]'),
    (
        Marginal(("c", "a"), ((0, 2), None)),
        {"columns": ["c", "a"], "groups": [[0, 2], None]},
        '["Coarse", [[0, 2], null], ["c", "a"]]',
    ),
    (
        Marginal(("a", "b"), (None, ((1,), (0, 2)))),
        {"columns": ["a", "b"], "groups": [None, [[1], [0, 2]]]},
        '["Coarse", [null, [[1], [0, 2]]], ["a", "b"]]',
    ),
    (
        Threshold(("a", "b"), 1),
        {"columns": ["a", "b"], "at_least": 1},
        '["Threshold", 1, ["a", "b"]]',
    ),
    (
        Range.prefixes(("a", "b"), ("b",)),
        {"columns": ["a", "b"], "cumulative": ["b"]},
        '["Prefix", ["b"], ["a", "b"]]',
    ),
    (
        Range.prefixes(("a", "b"), ()),
        {"columns": ["a", "b"], "cumulative": []},
        '["Prefix", [], ["a", "b"]]',
    ),
    (
        Range(("a", "c"), {"c": "all", "a": "prefixes"}),
        {"columns": ["a", "c"], "ranges": {"a": "prefixes", "c": "all"}},
        '["Range", {"a": "prefixes", "c": "all"}, ["a", "c"]]',
    ),
    (
        Range(("c", "b"), {"c": [(1, 2), (0, 3)]}),
        {"columns": ["c", "b"], "ranges": {"c": [[1, 2], [0, 3]]}},
        '["Range", {"c": [[1, 2], [0, 3]]}, ["c", "b"]]',
    ),
    (
        Halfspace(("a", "c", "b"), by=("a",), count=5, seed=7, shape="prefix"),
        {
            "columns": ["a", "c", "b"],
            "halfspaces": {"count": 5, "by": ["a"], "seed": 7, "shape": "prefix"},
        },
        '["Halfspace", {"count": 5, "by": ["a"], "seed": 7, "shape": "prefix"}, ["a", "c", "b"]]',
    ),
    (
        Halfspace(("a", "b"), by=("a",), count=1, points=((-4, 0, None),)),
        {
            "columns": ["a", "b"],
            "halfspaces": {
                "count": 1,
                "by": ["a"],
                "seed": 0,
                "shape": "linear",
                "points": [[-4, 0, None]],
            },
        },
        (
            '["Halfspace", {"count": 1, "by": ["a"], "seed": 0, "shape": "linear", "points": [[-4,'
            ' 0, null]]}, ["a", "b"]]'
        ),
    ),
    (
        Custom("q", ("a",), pair),
        {"custom": "q", "columns": ["a"], "queries": 2},
        '["Custom", "q", ["a"]]',
    ),
    (
        NamedCustom.of("q", ("a",), 3),
        {"custom": "q", "columns": ["a"], "queries": 3},
        '["Custom", "q", ["a"]]',
    ),
]


def every_class() -> set[type]:
    """The classes of the union and all their subclasses in the package."""
    found: set[type] = set()
    left = list(get_args(Family))
    while left:
        kind = left.pop()
        found.add(kind)
        left += [each for each in kind.__subclasses__() if each.__module__.startswith("dprap")]
    return found


def test_every_family_of_the_package_has_a_form_and_is_tried_here():
    assert every_class() == set(KINDS) == {type(family) for family, *_ in FORMS}


@pytest.mark.parametrize(("family", "plain", "written"), FORMS, ids=lambda each: str(each)[:30])
def test_form_and_label_are_as_they_always_were(family, plain, written):
    assert json.dumps(as_plain(family, DOMAIN)) == json.dumps(plain)
    assert json.dumps(label(family)) == written
    assert digest_of([label(family)]) == digest_of([json.loads(written)])


@pytest.mark.parametrize(
    ("family", "plain"), [form[:2] for form in FORMS], ids=lambda each: str(each)[:30]
)
def test_families_come_back(family, plain):
    back = from_plain(json.loads(json.dumps(plain)), DOMAIN)
    if isinstance(family, Custom):
        assert back == NamedCustom.of(family.name, family.columns, family.size(DOMAIN))
    else:
        assert back == family
        assert type(back) is type(family)
    assert as_plain(back, DOMAIN) == plain


def test_two_families_never_share_a_form():
    assert len({json.dumps(plain) for _, plain, _ in FORMS}) == len(FORMS)


@pytest.mark.parametrize("kind", get_args(Family))
def test_a_subclass_is_not_taken_for_its_family(kind):
    other = type("Twice", (kind,), {})
    family = other.__new__(other)
    for form in (as_plain, label):
        with pytest.raises(WorkloadError, match="class Twice has no plain form"):
            form(family)


def test_what_is_no_family_has_no_form():
    with pytest.raises(WorkloadError, match="class dict has no plain form"):
        as_plain({"columns": ["a"]})


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        (["a"], "mapping with a list of columns"),
        ({"columns": "a"}, "mapping with a list of columns"),
        ({"columns": ["nobody"]}, "'nobody'"),
        ({"columns": ["a", "a"]}, "twice"),
        ({"columns": ["a"], "colour": 1}, "beside its columns"),
        ({"columns": ["a"], 3: 1}, "beside its columns"),
        ({"columns": ["a"], "at_least": True}, "not a whole number"),
        ({"columns": ["a"], "at_least": 1, "cumulative": []}, "not both"),
        ({"columns": ["a"], "at_least": 1, "groups": [None]}, "beside its columns"),
        ({"columns": ["a"], "cumulative": "a"}, "not a list of columns"),
        ({"columns": ["a"], "cumulative": ["b"]}, "not among its columns"),
        ({"columns": ["a"], "ranges": ["a"]}, "not a mapping"),
        ({"columns": ["a"], "ranges": {"b": "all"}}, "not among its columns"),
        ({"columns": ["a"], "ranges": {"a": "some"}}, "first code, last code"),
        ({"columns": ["a"], "ranges": {"a": []}}, "first code, last code"),
        ({"columns": ["a"], "ranges": {"a": [[1, 0]]}}, "first code, last code"),
        ({"columns": ["a"], "ranges": {"a": [[0, True]]}}, "first code, last code"),
        ({"columns": ["a"], "ranges": {"a": [[0, 2]]}}, "'a' has 2 codes"),
        ({"columns": ["a"], "halfspaces": 3}, "have a count"),
        ({"columns": ["a"], "halfspaces": {"by": []}}, "have a count"),
        ({"columns": ["a"], "halfspaces": {"count": 1, "colour": 1}}, "have a count"),
        ({"columns": ["a"], "halfspaces": {"count": True}}, "from 1 to 1,000,000"),
        ({"columns": ["a"], "halfspaces": {"count": 1, "seed": -1}}, "seed"),
        ({"columns": ["a"], "halfspaces": {"count": 1, "shape": "round"}}, "'linear' or 'prefix'"),
        ({"columns": ["a"], "halfspaces": {"count": 1, "by": ["a"]}}, "need a numeric column"),
        ({"columns": ["a"], "halfspaces": {"count": 1, "by": ["b"]}}, "not among theirs"),
        ({"columns": ["a"], "halfspaces": {"count": 1, "points": [[0]]}}, "'a' has 2 codes"),
        ({"columns": ["a"], "halfspaces": {"count": 1, "points": [[0, 1 << 20]]}}, "within"),
        ({"columns": ["a"], "halfspaces": {"count": 1, "points": []}}, "0 columns, and 1"),
        ({"columns": ["a"], "groups": {}}, "not a list with the groups"),
        ({"columns": ["a"], "groups": []}, "one list of groups for each"),
        ({"columns": ["a"], "groups": ["01"]}, "whole numbers"),
        ({"columns": ["a"], "groups": [[0, 2]]}, "'a' has 2 codes"),
        ({"columns": ["a"], "custom": "q"}, "number of its queries"),
        ({"columns": ["a"], "custom": "q", "queries": -1}, "number of its queries"),
        ({"columns": ["a"], "custom": "q", "queries": "2"}, "number of its queries"),
        ({"columns": [], "custom": "q", "queries": 1}, "at least one column"),
    ],
)
def test_forms_that_are_none_are_refused(plain, message):
    with pytest.raises(WorkloadError, match=message):
        from_plain(plain, DOMAIN)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 5)
    | st.floats()
    | st.sampled_from(["a", "b", "c", ""]),
    lambda each: st.lists(each, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [
        "columns",
        "groups",
        "at_least",
        "cumulative",
        "ranges",
        "halfspaces",
        "custom",
        "queries",
        "weight",
    ]
)


@settings(deadline=None)
@given(st.dictionaries(KEYS, JSON | st.lists(st.sampled_from("abc"), max_size=3), max_size=4))
def test_anything_else_is_a_family_that_fits_or_one_error(plain):
    try:
        family = from_plain(plain, DOMAIN)
    except WorkloadError:
        return
    assert from_plain(as_plain(family, DOMAIN), DOMAIN) == family
    assert family.size(DOMAIN) >= 0
