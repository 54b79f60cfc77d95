"""Refinement is private: charged, with the sensitivities it claims, and nothing leaves but what was
paid for.
"""

from fractions import Fraction

import numpy as np
import pytest
from tests.privacy.replaying import WatchedSource, difference, taped_run
from tests.privacy.tables import codes_of

from dprap.accounting import Neighbors, Relation
from dprap.errors import LedgerError, SchemaError
from dprap.mechanisms.refinement.habits import class_marginal
from dprap.mechanisms.refinement.planning import plan_refinement
from dprap.mechanisms.refinement.search import Level, Search
from dprap.privacy import Curator, Ledger
from dprap.privacy.exact_counts import ExactAnswers
from dprap.queries import Marginal
from dprap.runs.execute import execute
from dprap.runs.options import RunOptions
from dprap.runs.plan import make_plan
from dprap.schema import Schema
from dprap.sources import MemorySource
from dprap.sources.recoding import Recoding

SCHEMA = Schema.of(
    {
        "columns": {
            "amount": {"type": "integer", "min": 0, "max": 49_999, "nullable": True},
            "day": {"type": "date", "min": "2020-01-01", "max": "2022-12-31"},
            "sex": {"type": "integer", "min": 0, "max": 1},
        }
    }
)
DOMAIN = SCHEMA.domain
RELATIONS = [Neighbors(relation, records) for relation in Relation for records in (1, 3)]


def usual_table() -> np.ndarray:
    """Records with a spike at zero, heaps and nulls; the last three alone have their amount and
    day.
    """
    generator = np.random.default_rng(3)
    amount = np.where(generator.random(400) < 0.4, 0, generator.integers(0, 90, 400) * 100)
    amount[:20] = 50_000  # null
    rows = np.stack(
        [amount, generator.integers(0, 700, 400), generator.integers(0, 2, 400)], axis=1
    )
    rows[-3:] = (49_999, 1095, 1)
    return rows


def neighbours(neighbors: Neighbors) -> dict[str, np.ndarray]:
    """The last records of the usual table changed, removed or followed by others."""
    rows, many = usual_table(), neighbors.max_rows_per_person
    odd = np.tile([31_337, 1000, 0], (many, 1))
    if neighbors.relation is Relation.REPLACE:
        return {
            "moved to an absent value": np.concatenate([rows[:-many], odd]),
            "moved to zero": _moved(rows, many),
        }
    return {"added": np.concatenate([rows, odd]), "removed": rows[:-many]}


def _moved(rows: np.ndarray, many: int) -> np.ndarray:
    changed = rows.copy()
    changed[-many:] = (0, 0, 0)
    return changed


def plan_of(neighbors: Neighbors, method: str = "independent", *, intervals: str = "no"):
    options = RunOptions(
        epsilon=10.0, delta=1e-5, neighbors=neighbors, kway=2, method=method, intervals=intervals
    )
    return make_plan(
        SCHEMA, options, records=len(usual_table()) if neighbors.rows_are_public else None
    )


@pytest.mark.parametrize(
    ("neighbors", "which"),
    [
        # with intervals a run is repeated, which takes longer
        pytest.param(each, which, marks=[pytest.mark.slow] if which == 0 and at else [])
        for at, each in enumerate(RELATIONS)
        for which in (0, 1)
    ],
    ids=str,
)
def test_neighbours_with_equal_noisy_results_look_alike(tmp_path, capfd, neighbors, which):
    plan = plan_of(neighbors, intervals="no" if which else "yes")
    first = taped_run(
        plan, WatchedSource(codes_of(DOMAIN, usual_table())), tmp_path / "first", capfd
    )
    other = list(neighbours(neighbors).values())[which]
    source = WatchedSource(codes_of(DOMAIN, other))
    second = taped_run(plan, source, tmp_path / "second", capfd, forced=first)
    assert difference(first, second) is None


@pytest.mark.parametrize("neighbors", RELATIONS, ids=str)
def test_what_is_measured_has_the_claimed_sensitivity(neighbors):
    """Every level, the classes of multiples, and marginals of coarser codes: none moves farther,
    and some as far.
    """
    amount = SCHEMA.fine_columns["amount"]
    search = Search(amount, amount.interval_levels())
    marginals = [class_marginal("amount", amount)]
    for _ in search.levels:
        starts = search.next_starts()
        marginals.append(search.marginal("amount", starts))
        search.found.append(Level(starts, np.where(np.arange(len(starts)) % 3, 0.0, 99.0), 1.0))
    coarse = recoding_of(np.array([0, 1, 500, 20_000]))
    reached = 0.0
    for other in neighbours(neighbors).values():
        pair = [MemorySource(codes_of(DOMAIN, rows)) for rows in (usual_table(), other)]
        fine = [ExactAnswers(source) for source in pair]
        coarser = [ExactAnswers(source.recoded(coarse)) for source in pair]
        both = [(fine, marginal) for marginal in marginals] + [
            (coarser, Marginal(("sex", "amount")))
        ]
        for (one, two), marginal in both:
            change = np.abs(one.marginal(marginal) - two.marginal(marginal))
            assert (change**2).sum() <= neighbors.marginal_l2_squared
            reached = max(reached, (change**2).sum() / neighbors.marginal_l2_squared)
    assert reached == 1


def recoding_of(starts: np.ndarray) -> Recoding:
    amount = SCHEMA.fine_columns["amount"]
    schema = SCHEMA.with_columns({"amount": amount.refined(starts, None, ())})
    codes = np.append(
        np.searchsorted(starts, np.arange(amount.regular), side="right") - 1, len(starts)
    )
    return Recoding(DOMAIN, schema, {"amount": codes})


def test_levels_are_partitions_that_refine_one_another():
    for column in SCHEMA.fine_columns.values():
        search = Search(column, column.interval_levels())
        before: set[int] = set()
        for _ in search.levels:
            starts = search.next_starts()
            assert starts[0] == 0
            assert before <= set(starts.tolist())
            before = set(starts.tolist())
            counts = np.zeros(len(starts) + column.nullable)
            counts[0] = 1e6
            search.found.append(Level(starts, counts, 1.0))
        assert 1 in before  # the first interval was refined down to its points


def test_the_plan_charges_what_the_run_spends(tmp_path):
    plan = plan_of(RELATIONS[0])
    source = MemorySource(codes_of(DOMAIN, usual_table()))
    with Ledger(tmp_path / "ledger.jsonl", neighbors=plan.neighbors) as ledger:
        release = execute(plan, source, ledger=ledger, run="one")
        again = execute(plan, source, ledger=ledger, run="one")  # replayed from the ledger
        assert float(ledger.state.spent_rho) == pytest.approx(float(plan.budget.rho))
    assert plan.refinement is not None
    charged = Fraction(sum(Fraction(column.rho) for column in release.refinement.values()))
    assert float(charged) == pytest.approx(float(plan.refinement.rho))
    assert plan.refinement.rho < plan.budget.rho / 4
    assert again.schema == release.schema
    assert again.measurements[0].counts.tolist() == release.measurements[0].counts.tolist()
    release.save(tmp_path / "release")
    from dprap.release import load

    loaded = load(tmp_path / "release")
    assert loaded.schema == release.schema
    assert loaded.refinement == release.refinement
    for name, size in zip(release.schema.domain.names, release.schema.domain.sizes, strict=True):
        assert size <= plan.refinement.domain.size(name)


def test_steps_after_recoding_name_the_codes():
    """A resumed run that found other intervals must not take the old results for its own."""
    plan = plan_of(RELATIONS[0])
    source = MemorySource(codes_of(DOMAIN, usual_table()))

    def digest_after(starts):
        curator = Curator(
            source, budget=plan.budget, neighbors=plan.neighbors, ledger=None, insecure_noise_seed=1
        )
        recoding = recoding_of(np.array(starts))
        curator.recode(recoding.schema, recoding.maps)
        curator.measure([Marginal(("sex",))], curator.remaining)
        return curator._steps._codes

    assert digest_after([0, 5]) == digest_after([0, 5]) != digest_after([0, 6])


def test_a_resumed_run_goes_on_with_the_same_codes_or_not_at_all(tmp_path):
    plan = plan_of(RELATIONS[0])
    source = MemorySource(codes_of(DOMAIN, usual_table()))
    sex = Marginal(("sex",))
    with Ledger(tmp_path / "ledger.jsonl", neighbors=plan.neighbors) as ledger:

        def after(starts):
            curator = Curator(
                source, budget=plan.budget, neighbors=plan.neighbors, ledger=ledger, run="one"
            )
            curator.measure([sex], curator.rho / 4)
            recoding = recoding_of(np.array(starts))
            curator.recode(recoding.schema, recoding.maps)
            assert curator.rho == curator.remaining == plan.budget.rho * 3 / 4
            return curator.measure([sex], curator.rho)[0].counts.tolist()

        first = after([0, 5])
        assert after([0, 5]) == first
        with pytest.raises(LedgerError, match="was something else"):
            after([0, 6])


def test_a_recoding_that_loses_a_code_is_refused():
    good = recoding_of(np.array([0, 5]))
    with pytest.raises(SchemaError, match="every code a new one"):
        Recoding(DOMAIN, good.schema, {"amount": good.maps["amount"][:-1]})
    for code in (-1, good.schema.domain.size("amount")):
        beyond = good.maps["amount"].copy()
        beyond[3] = code
        with pytest.raises(SchemaError, match="every code a new one"):
            Recoding(DOMAIN, good.schema, {"amount": beyond})
    with pytest.raises(SchemaError, match="does not say how"):
        Recoding(DOMAIN, good.schema, {})


def test_the_share_is_one_fourth_of_a_columns_part():
    plan = plan_refinement(SCHEMA, rho=Fraction(12), neighbors=RELATIONS[0], records=1000)
    assert plan is not None
    assert [column.rho for column in plan.columns] == [1, 1]
    for column in plan.columns:
        assert column.levels * column.level_rho + column.habits_rho == column.rho
