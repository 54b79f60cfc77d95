import json
import re

import pytest

from dprap.domain import Domain
from dprap.errors import WorkloadError
from dprap.queries import Custom, Marginal, Range, Threshold
from dprap.workload import Workload, all_kway, eligible, random_kway, weighted
from dprap.workload.files import read_workload, workload_entries

ADULT = Domain.of(
    {
        "age": 85,
        "workclass": 9,
        "fnlwgt": 100,
        "education-num": 16,
        "marital-status": 7,
        "occupation": 15,
        "relationship": 6,
        "race": 5,
        "sex": 2,
        "capital-gain": 100,
        "capital-loss": 100,
        "hours-per-week": 99,
        "native-country": 42,
        "income>50K": 2,
    }
)
SMALL = Domain.of({"a": 2, "b": 3, "c": 4})


@pytest.mark.parametrize(("k", "candidates", "queries"), [(3, 278, 458_996), (5, 156, 1_376_532)])
def test_the_papers_queries(k, candidates, queries):
    """Numbers of queries of the paper's workload on ADULT: 64 random marginals with at most n =
    48,842 cells.
    """
    assert len(eligible(ADULT, k, max_cells=48_842)) == candidates
    workload = random_kway(ADULT, k, 64, rows=48_842, seed=0)
    assert len(workload) == 64
    assert workload.queries == queries == sum(workload.sizes)
    assert random_kway(ADULT, k, 64, rows=48_842, seed=0) == workload
    assert random_kway(ADULT, k, 64, rows=48_842, seed=1) != workload


def test_all_kway():
    assert [str(marginal) for marginal in all_kway(SMALL, 2)] == ["a×b", "a×c", "b×c"]
    assert [str(marginal) for marginal in all_kway(SMALL, 2, max_cells=8)] == ["a×b", "a×c"]
    assert all_kway(SMALL, 3).queries == 24


@pytest.mark.parametrize("k", [0, 4, -1])
def test_bad_k(k):
    with pytest.raises(WorkloadError, match="k must be"):
        all_kway(SMALL, k)


@pytest.mark.parametrize(
    ("k", "limit", "advice"),
    [
        (3, 23, "has 24. Ask for 2-way marginals by --kway 2, raise the limit by --max-cells 24,"),
        (2, 5, "has 6. Ask for 1-way marginals by --kway 1, raise the limit by --max-cells 6, or"),
        (1, 1, "has 2. Raise the limit by --max-cells 2, or give columns fewer codes."),
    ],
)
def test_nothing_fits(k, limit, advice):
    with pytest.raises(WorkloadError, match=rf"no {k}-way .* {re.escape(advice)}"):
        all_kway(SMALL, k, max_cells=limit)


@pytest.mark.parametrize("marginals", [0, 4])
def test_too_many_or_too_few(marginals):
    with pytest.raises(WorkloadError, match="Ask for 1 to 3"):
        random_kway(SMALL, 2, marginals, rows=100)


@pytest.mark.parametrize(
    "family", [Marginal, lambda c: Threshold(c, 1), lambda c: Range.prefixes(c, c[:1])]
)
def test_a_billion_cells_are_refused(family):
    domain = Domain.of({"x": 1000, "y": 1000, "z": 1000})
    with pytest.raises(WorkloadError, match="1,000,000,000 cells"):
        Workload(domain, (family(domain.names),))


def test_a_custom_query_reads_records_so_cells_do_not_matter():
    domain = Domain.of({"x": 1000, "y": 1000, "z": 1000})
    assert Workload(domain, (Custom("x0", domain.names, lambda row: row["x"][0]),)).queries == 1


@pytest.mark.parametrize(
    ("families", "weights", "message"),
    [
        ((), (), "empty"),
        ((Marginal(("a",)),), (1.0, 2.0), "2 weights"),
        ((Marginal(("a",)),), (0.0,), "positive"),
        ((Marginal(("a",)),), (float("nan"),), "positive"),
        ((Marginal(("a",)), Marginal(("a",))), (), "twice"),
        ((Marginal(("nobody",)),), (), "'nobody'"),
        ((Marginal(("a",)), Marginal(())), (), "names no column"),
        ((Range((), {}),), (), "names no column"),
        ((Marginal(("a",), ((0, 1),)),), (), "has groups"),
    ],
)
def test_bad_workloads(families, weights, message):
    with pytest.raises(WorkloadError, match=message):
        Workload(SMALL, families, weights)


def test_closure():
    workload = Workload(SMALL, (Marginal(("c", "a")), Threshold(("a", "b"), 1)))
    assert [str(marginal) for marginal in workload.closure()] == ["a", "b", "c", "a×b", "a×c"]
    assert [str(marginal) for marginal in workload.closure(smallest=2)] == ["a×b", "a×c"]
    assert str(workload.closure(smallest=0)[0]) == "total"


def test_only_marginals():
    assert Workload(SMALL, (Marginal(("a",)),)).marginals == (Marginal(("a",)),)
    with pytest.raises(WorkloadError, match="marginals only"):
        _ = Workload(SMALL, (Threshold(("a", "b"), 1),)).marginals


@pytest.mark.parametrize("as_json", [True, False])
def test_files_round_trip(tmp_path, as_json):
    workload = weighted(
        SMALL,
        [
            (Marginal(("a", "c")), 2.0),
            (Threshold(("a", "b"), 1), 1.0),
            (Range.prefixes(("a", "c"), ("c",)), 0.5),
        ],
    )
    path = tmp_path / "workload"
    if as_json:
        path.write_text(json.dumps({"marginals": workload_entries(workload)}))
    else:
        path.write_text(
            "- {columns: [a, c], weight: 2}\n- {columns: [a, b], at_least: 1}\n"
            "- {columns: [a, c], cumulative: [c], weight: 0.5}\n"
        )
    assert read_workload(path, SMALL) == workload


def test_a_plain_list_of_columns(tmp_path):
    path = tmp_path / "workload.yaml"
    path.write_text("- [a, b]\n- [c]\n")
    assert read_workload(path, SMALL).families == (Marginal(("a", "b")), Marginal(("c",)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{a: 1}",
        "- 3",
        "- [nobody]",
        "- []",
        "- {columns: [], weight: 2}",
        "- {columns: [], cumulative: []}",
        "- {columns: a}",
        "- {columns: [a], colour: red}",
        "- {columns: [a], weight: heavy}",
        "- {columns: [a], weight: -1}",
        "- {columns: [a, a]}",
        "- {columns: [a], at_least: 2}",
        "- {columns: [a], at_least: many}",
        "- {columns: [a], at_least: null}",
        "- {columns: [a], at_least: true}",
        "- {columns: [a], cumulative: [b]}",
        "- {columns: [a], cumulative: a}",
        "- {columns: [a], cumulative: 3}",
        "- {columns: [a, b], at_least: 1, cumulative: [a]}",
        "- {columns: [a], groups: [[0, 1]]}",
        "- {columns: [a], groups: [null]}",
        "- {columns: [a], custom: q, queries: 1}",
        "- [a",
        "\x00",
    ],
)
def test_bad_files(tmp_path, text):
    path = tmp_path / "workload.yaml"
    path.write_text(text)
    with pytest.raises(WorkloadError):
        read_workload(path, SMALL)


def test_unreadable_files(tmp_path):
    with pytest.raises(WorkloadError, match="cannot be read"):
        read_workload(tmp_path / "absent.yaml", SMALL)
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(WorkloadError, match="is not UTF-8"):
        read_workload(binary, SMALL)
