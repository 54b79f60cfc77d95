"""The certificate speaks of what is published: the fitted answers and the table that is saved."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mechanisms.test_outline import SMALL
from tests.release.made import made_release, save_made_release

from dprap.accounting import Neighbors, Relation
from dprap.encoding import Codes, encode
from dprap.errors import SettingsError
from dprap.evaluate import exact_answers, published_answers
from dprap.privacy import Curator, Ledger
from dprap.queries import Custom, Family, Marginal, Range, Threshold
from dprap.release import Release, load
from dprap.release.answer_question import ask
from dprap.release.certified import accuracy, rounded_up, table_bound, table_digest
from dprap.release.table_answers import table_answers
from dprap.runs.describe import release_data, release_lines
from dprap.runs.execute import execute
from dprap.runs.options import RunOptions
from dprap.runs.plan import Plan, make_plan
from dprap.schema import Schema
from dprap.sources import MemorySource
from dprap.workload import Workload

SIZES = {"a": 3, "b": 4, "c": 2}
ROWS = 300
DOMAIN = Schema.from_domain(SIZES).domain


def both(row):  # type: ignore[no-untyped-def]
    return jnp.stack([row["a"][0] * row["c"][1], 0.3 * row["b"][2]])


FAMILIES: tuple[Family, ...] = (
    Marginal(("b", "a")),
    Threshold(("a", "b", "c"), 2),
    Range.prefixes(("a", "b"), ("b",)),
    Custom("both", ("a", "b", "c"), both),
)


def related_codes(rows: int = ROWS, seed: int = 0) -> Codes:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, rows)
    return Codes.of(
        DOMAIN, {"a": a, "b": (a + rng.integers(0, 2, rows)) % 4, "c": rng.integers(0, 2, rows)}
    )


def plan_of(
    method: str = "independent", relation: Relation = Relation.REPLACE, epsilon: float = 1.0
) -> Plan:
    families = (
        FAMILIES if method == "rap" else FAMILIES[:1] if method == "gaussian" else FAMILIES[:3]
    )
    return make_plan(
        Schema.from_domain(SIZES),
        RunOptions(
            epsilon=epsilon,
            delta=1e-6,
            neighbors=Neighbors(relation),
            workload=Workload(DOMAIN, families),
            method=method,
            settings=SMALL[method],
            intervals="no",
        ),
        records=ROWS,
    )


def largest_error_counts(release: Release, source: MemorySource, published: object) -> float:
    families = release.workload.families
    found = published_answers(published, families)  # type: ignore[arg-type]
    return max(
        float(np.abs(truth * source.rows - np.float64(release.rows) * share).max())
        for truth, share in zip(exact_answers(source, families), found, strict=True)
    )


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize(
    "method", [pytest.param(name, marks=[pytest.mark.slow] * (name == "rap")) for name in SMALL]
)
def test_the_bound_is_the_larger_error_of_the_fit_and_of_the_saved_table(
    method: str, relation: Relation, tmp_path: Path
) -> None:
    """At ε = 10⁴ the certificate has nearly no noise, so that it must agree with what a comparison
    with the truth finds.
    """
    source = MemorySource(related_codes())
    release = execute(plan_of(method, relation, 1e4), source, insecure_noise_seed=1).save(
        tmp_path / "r"
    )
    certificate = release.certificate
    assert certificate is not None
    assert certificate.stddev_counts < 0.2
    if method == "gaussian":
        expected = largest_error_counts(release, source, release.workload_shares)
        assert certificate.table_rows is certificate.table_digest is release.saved is None
    else:
        stored = encode(
            pyarrow.parquet.read_table(tmp_path / "r" / "synthetic.parquet"), release.schema
        )
        assert table_digest(stored) == certificate.table_digest
        expected = max(
            largest_error_counts(release, source, each) for each in (release.relaxed, stored)
        )
        assert stored.rows == certificate.table_rows == release.rows
        assert release.saved is not None
        assert release.saved.bound_counts == certificate.upper_bound_counts
    # six standard deviations
    assert certificate.noisy_max_error_counts == pytest.approx(expected, abs=1.2)
    again = load(tmp_path / "r")
    assert (again.certificate, again.saved, again.accuracy) == (
        certificate,
        release.saved,
        release.accuracy,
    )


@settings(deadline=None, max_examples=30)  # the first example compiles the custom function
@given(
    seed=st.integers(0, 1000), rows=st.integers(1, 50), together=st.sampled_from([0, 30, 1 << 24])
)
def test_answers_of_a_table_are_those_of_a_source(seed: int, rows: int, together: int) -> None:
    """However many families are counted together."""
    codes = related_codes(rows, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dprap.release.table_answers._TOGETHER", together)
        found = list(table_answers(codes, FAMILIES))
    expected = list(exact_answers(MemorySource(codes), FAMILIES))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_other_tables_have_a_bound_widened_by_their_distance_to_the_fit(tmp_path: Path) -> None:
    release = execute(plan_of("rap"), MemorySource(related_codes()), insecure_noise_seed=1)
    assert release.certificate is not None
    bound = release.certificate.upper_bound_counts
    assert release.table_bound() == release.table_bound(ROWS) == bound
    fitted = release.shares(release.workload)
    for rows, seed in ((40, None), (ROWS, 9), (1000, 0)):
        drawn = list(table_answers(release.codes(rows, seed=seed), release.workload.families))
        distance = (
            max(float(np.abs(a - b).max()) for a, b in zip(drawn, fitted, strict=True)) * ROWS
        )
        assert distance > 0
        assert release.table_bound(rows, seed=seed) == pytest.approx(bound + distance, rel=1e-5)
    saved = release.save(tmp_path / "few", rows=40)
    described = json.loads((tmp_path / "few" / "release.json").read_text())
    assert described["synthetic_rows"] == 40
    assert (
        described["synthetic_bound_counts"] == saved.saved.bound_counts == release.table_bound(40)
    )  # type: ignore[union-attr]
    wide = f"{rounded_up(described['synthetic_bound_counts'] / ROWS, 4):.4f}"
    assert f"and within {wide} by the synthetic table of 40 rows" in described["accuracy"]
    # a release that was read back has no functions of custom queries: the certified table is known,
    # others are not
    again = load(tmp_path / "few")
    assert again.accuracy == described["accuracy"]
    assert (again.table_bound(), again.table_bound(40)) == (bound, None)


def test_the_table_asked_for_is_the_one_certified() -> None:
    release = execute(
        plan_of(), MemorySource(related_codes()), insecure_noise_seed=1, table_rows=40
    )
    assert release.certificate is not None
    assert release.table_rows == release.certificate.table_rows == len(release.table()) == 40
    assert (
        table_bound(release, release.codes()).bound_counts == release.certificate.upper_bound_counts
    )
    assert "by the synthetic table of 40 rows" in (release.accuracy or "")


def test_a_resumed_run_speaks_of_the_table_that_was_certified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is killed after its certificate and goes on asking for other rows: those have a
    wider bound.
    """
    plan, source = plan_of(), MemorySource(related_codes())

    class Killed(BaseException):
        pass

    def killed(self: Curator) -> None:
        raise Killed

    def run(table_rows: int | None) -> Release:
        with Ledger(tmp_path / "ledger.jsonl", neighbors=plan.neighbors) as ledger:
            return execute(plan, source, ledger=ledger, run="one", table_rows=table_rows)

    with monkeypatch.context() as patched:
        patched.setattr(Curator, "finish", killed)
        with pytest.raises(Killed):
            run(None)
    release = run(40)
    assert release.privacy.rho_spent == float(plan.budget.rho)
    assert release.certificate is not None
    assert release.certificate.table_digest == table_digest(release.codes())
    assert release.table_rows == ROWS
    saved = release.save(tmp_path / "out", rows=40).saved
    assert saved is not None
    assert saved.rows == 40
    assert saved.bound_counts is not None
    assert saved.bound_counts > release.certificate.upper_bound_counts


def test_a_table_too_long_to_draw_unasked_is_not_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dprap.runs.execute.MOST_ROWS_HELD", ROWS - 1)
    release = execute(plan_of(), MemorySource(related_codes()), insecure_noise_seed=1)
    assert release.certificate is not None
    assert release.certificate.table_rows is None
    assert release.table_rows == ROWS
    assert (release.accuracy or "").endswith(
        "by the fitted answers; this does not cover the synthetic table"
    )
    assert (release.table_bound() or 0) > release.certificate.upper_bound_counts
    asked = execute(
        plan_of(), MemorySource(related_codes()), insecure_noise_seed=1, table_rows=ROWS - 1
    )
    assert asked.certificate is not None
    assert asked.certificate.table_rows == ROWS - 1


@pytest.mark.parametrize("table_format", ["parquet", "csv"])
def test_a_table_that_is_not_held_has_the_records_and_the_bound_of_one_that_is(
    table_format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = replace(
        execute(plan_of(), MemorySource(related_codes()), insecure_noise_seed=1, table_rows=50),
        drawn=None,
    )
    whole = release.save(tmp_path / "whole", rows=ROWS, format=table_format)
    monkeypatch.setattr("dprap.release.files.MOST_ROWS_HELD", ROWS - 1)
    streamed = release.save(tmp_path / "streamed", rows=ROWS, format=table_format)
    assert streamed.saved == whole.saved
    tables = [
        (tmp_path / name / f"synthetic.{table_format}").read_bytes()
        for name in ("whole", "streamed")
    ]
    assert tables[0] == tables[1]


def test_constraints_that_leave_no_record_do_not_lose_what_was_paid_for() -> None:
    flag = {"type": "boolean"}
    schema = Schema.of(
        {
            "columns": {"a": flag, "b": flag},
            "constraints": [{"type": "forbid", "where": {"b": [True, False]}}],
        }
    )
    plan = make_plan(schema, RunOptions(epsilon=1.0, delta=1e-6, method="independent"), records=50)
    codes = Codes.of(schema.domain, {"a": np.zeros(50, int), "b": np.zeros(50, int)})
    release = execute(plan, MemorySource(codes), insecure_noise_seed=1)
    assert release.certificate is not None
    assert release.certificate.table_rows is None
    with pytest.raises(SettingsError, match="constraints rule out"):
        release.table()


@pytest.mark.parametrize("relation", Relation)
def test_everything_a_person_reads_says_what_is_covered(relation: Relation, tmp_path: Path) -> None:
    source = MemorySource(related_codes())
    release = execute(plan_of(relation=relation), source, insecure_noise_seed=1).save(
        tmp_path / "r"
    )
    assert release.certificate is not None
    bound = release.certificate.upper_bound_counts
    covered = f"by the fitted answers and by the synthetic table of {release.rows:,} rows"
    described = json.loads((tmp_path / "r" / "release.json").read_text())
    data = release_data(release, "r")
    if relation is Relation.REPLACE:
        shown = (
            f"within {rounded_up(bound / ROWS, 4):.4f} of the truth (as a share of all records),"
            f" {covered}"
        )
        assert (
            described["certificate_share"]["upper_bound"]
            == data["certified_max_error"]
            == bound / ROWS
        )
    else:
        shown = f"within {rounded_up(bound, 1):,.1f} of the true count, {covered}"
        assert described["certificate_share"] is data["certified_max_error"] is None
    assert shown in described["accuracy"]
    assert any(
        line.startswith("accuracy: ") and shown in line for line in release_lines(release, "r", 1.0)
    )
    assert data["table"] == {"rows": release.rows, "bound_counts": bound}
    assert data["certified_max_error_counts"] == bound


def test_an_answer_says_whether_the_table_is_covered() -> None:
    release = made_release()
    assert release.certificate is not None

    def remark(changed: Release) -> str:
        (found,) = (
            line
            for line in ask(changed, "age in 0..3 and sex = F").lines()
            if line.startswith("certificate")
        )
        return found.removeprefix(
            "certificate: with 95% confidence, the count is within 40.0 of the truth"
        )

    assert remark(release) == ""
    certificate = replace(release.certificate, table_rows=1000, table_digest="ab" * 32)
    assert (
        remark(replace(release, certificate=certificate))
        == "; so is the count in the synthetic table of 1,000 rows"
    )
    saved = table_bound(release, release.codes(50))
    assert saved.bound_counts is not None
    assert (
        remark(replace(release, saved=saved))
        == "; the count in the synthetic table of 50 rows (scaled to 1,000 records) is within"
        f" {rounded_up(saved.bound_counts, 1):,.1f}"
    )
    assert remark(replace(release, saved=replace(saved, bound_counts=None))).startswith(
        "; this does not cover"
    )


def test_a_release_of_an_earlier_version_covers_its_fit_alone(tmp_path: Path) -> None:
    save_made_release(tmp_path / "r")
    path = tmp_path / "r" / "release.json"
    described = json.loads(path.read_text())
    for name in ("table_rows", "table_digest"):
        del described["certificate"][name]
    for name in ("accuracy", "synthetic_bound_counts"):
        del described[name]
    path.write_text(json.dumps(described))
    release = load(tmp_path / "r")
    assert (release.accuracy or "").endswith(
        "by the fitted answers; this does not cover the synthetic table"
    )
    assert release.table_rows == release.rows == 1000
    assert (release.table_bound() or 0) > 40.0


def test_without_a_certificate_nothing_is_bounded() -> None:
    release = replace(made_release(), certificate=None)
    assert release.accuracy is None
    assert release.table_bound() is None
    assert release_data(release, "r")["table"] is None


def test_printed_bounds_hold() -> None:
    assert (rounded_up(0.01231, 4), rounded_up(40.0, 1), rounded_up(40.01, 1)) == (
        0.0124,
        40.0,
        40.1,
    )


def test_a_share_is_off_by_no_more_than_all_records() -> None:
    release = made_release()
    certificate = replace(release.certificate, upper_bound_counts=24.5 * release.rows)
    stated = accuracy(replace(release, certificate=certificate))
    assert "is answered within 1.0000 of the truth (as a share of all records)" in stated
