from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.release.made import made_release, save_made_release

from dprap.accounting import Accounting, Budget, epsilon_from_rho
from dprap.accounting.measurement import Measurement, QueryMeasurement
from dprap.errors import DprapError, SettingsError, WorkloadError
from dprap.queries import Custom, Query
from dprap.release import Release, ReleaseError, load
from dprap.release.files import save_release
from dprap.release.privacy_statement import PrivacyStatement
from dprap.workload import Workload


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return save_made_release(tmp_path / "out")


@pytest.mark.parametrize("relaxed", [True, False])
def test_a_release_comes_back_as_it_was(tmp_path: Path, relaxed: bool) -> None:
    release = made_release(relaxed=relaxed)
    release.save(tmp_path / "deep" / "out")
    found = load(tmp_path / "deep" / "out")
    for field in ("schema", "workload", "privacy", "facts", "rows", "certificate"):
        assert getattr(found, field) == getattr(release, field)
    for ours, theirs in zip(release.measurements, found.measurements, strict=True):
        assert type(ours) is type(theirs)
        assert (ours.stddev_counts, ours.rho) == (theirs.stddev_counts, theirs.rho)
        if isinstance(ours, Measurement) and isinstance(theirs, Measurement):
            assert ours.marginal == theirs.marginal
            assert ours.counts.tolist() == theirs.counts.tolist()
    for ours, theirs in zip(
        release.shares(release.workload), found.shares(found.workload), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-7)
    assert not (tmp_path / "deep" / "out.part").exists()


def test_the_directory_holds_what_is_documented(saved: Path) -> None:
    names = {
        "release.json",
        "schema.yaml",
        "synthetic.parquet",
        "relaxed.npz",
        "measurements.parquet",
    }
    assert {path.name for path in saved.iterdir()} == names
    described = json.loads((saved / "release.json").read_text())
    assert described["format_version"] == 1
    assert described["private"] is True
    assert described["synthetic_rows"] == described["rows"] == 1000
    assert described["certificate_share"]["upper_bound"] == 0.04
    table = pa.parquet.read_table(saved / "synthetic.parquet")
    assert table.column_names == list(made_release().schema.columns)
    assert table.schema.field("hired").type == pa.date32()


def test_csv_and_number_of_rows(tmp_path: Path) -> None:
    made_release().save(tmp_path / "out", rows=37, format="csv")
    assert pa.csv.read_csv(tmp_path / "out" / "synthetic.csv").num_rows == 37
    assert load(tmp_path / "out").rows == 1000
    with pytest.raises(SettingsError, match="must be one of parquet, csv, not 'xlsx'"):
        made_release().save(tmp_path / "other", format="xlsx")


def test_an_existing_directory_is_left_alone(saved: Path) -> None:
    before = (saved / "release.json").read_bytes()
    with pytest.raises(SettingsError, match="exists already"):
        made_release(seed=1).save(saved)
    assert (saved / "release.json").read_bytes() == before


def test_a_name_that_no_system_takes_is_refused_in_a_line(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="too long"):
        made_release().save(tmp_path / ("x" * 300))


def test_a_failed_save_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dprap.release.files.pyarrow.parquet.write_table", full)
    with pytest.raises(DprapError, match="No space left on device"):
        save_release(made_release(), tmp_path / "out", rows=5, table_format="parquet", seed=None)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out.part").mkdir()
    (tmp_path / "out.part" / "stale").write_text("x")
    made_release().save(tmp_path / "out")
    assert not (tmp_path / "out" / "stale").exists()
    assert (tmp_path / "out.part" / "stale").read_text() == "x"
    assert {path.name for path in tmp_path.iterdir()} == {"out", "out.part"}


def _edit(saved: Path, change: dict[str, object]) -> None:
    path = saved / "release.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))


def _without(saved: Path, name: str) -> None:
    (saved / name).unlink()


def _rewrite_relaxed(saved: Path, factor: float) -> None:
    with np.load(saved / "relaxed.npz") as arrays:
        probabilities, weights = arrays["probabilities"] * factor, arrays["weights"]
    np.savez(saved / "relaxed.npz", probabilities=probabilities, weights=weights)


def _rewrite_measurements(saved: Path) -> None:
    table = pa.parquet.read_table(saved / "measurements.parquet")
    pa.parquet.write_table(
        table.set_column(1, "query", pa.array([None, None, 99, None])),
        saved / "measurements.parquet",
    )


def _rewrite_groups(saved: Path, groups: object) -> None:
    table = pa.parquet.read_table(saved / "measurements.parquet")
    families = table.column("family").to_pylist()
    families[3] = json.dumps({"columns": ["age", "hired"], "groups": groups})
    pa.parquet.write_table(
        table.set_column(0, "family", pa.array(families)), saved / "measurements.parquet"
    )


DAMAGES = {
    "no description": (lambda p: _without(p, "release.json"), "is not a release"),
    "another version": (
        lambda p: _edit(p, {"format_version": 2}),
        "was written by another version",
    ),
    "unknown field": (lambda p: _edit(p, {"extra": 1}), "extra"),
    "negative rows": (lambda p: _edit(p, {"rows": 0}), "rows"),
    "no workload": (lambda p: _edit(p, {"workload": []}), "workload"),
    "unknown column": (
        lambda p: _edit(p, {"workload": [{"columns": ["nope"]}]}),
        "'nope' is not in the schema",
    ),
    "contradiction": (lambda p: _edit(p, {"private": False}), "contradicts itself"),
    "unknown accounting": (
        lambda p: _edit(
            p,
            {
                "privacy": {
                    **json.loads((p / "release.json").read_text())["privacy"],
                    "accounting": "free",
                }
            },
        ),
        "accounting must be one of",
    ),
    "not JSON": (lambda p: (p / "release.json").write_text("{"), "damaged"),
    "no relaxed rows": (lambda p: _without(p, "relaxed.npz"), "relaxed.npz is missing"),
    "no measurements": (lambda p: _without(p, "measurements.parquet"), "measurements.parquet"),
    "no schema": (lambda p: _without(p, "schema.yaml"), "schema.yaml"),
    "half an archive": (
        lambda p: (p / "relaxed.npz").write_bytes((p / "relaxed.npz").read_bytes()[:80]),
        "damaged",
    ),
    "text for rows": (lambda p: (p / "relaxed.npz").write_bytes(b"no"), "damaged"),
    "no distributions": (lambda p: _rewrite_relaxed(p, 1.1), "does not hold distributions"),
    "NaN": (lambda p: _rewrite_relaxed(p, float("nan")), "does not hold distributions"),
    "query out of range": (_rewrite_measurements, "does not fit it"),
    "a group beyond the codes": (
        lambda p: _rewrite_groups(p, [[0, 99], None]),
        "no group starts at 99",
    ),
    "groups of one column": (lambda p: _rewrite_groups(p, [[0, 2]]), "one list of groups for each"),
    "no groups": (lambda p: _rewrite_groups(p, 7), "damaged"),
    "half a table": (lambda p: (p / "measurements.parquet").write_bytes(b"PAR1"), "damaged"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_release_is_refused_in_one_line(saved: Path, damage: str) -> None:
    inflict, message = DAMAGES[damage]
    inflict(saved)  # type: ignore[no-untyped-call]
    with pytest.raises(DprapError) as raised:
        load(saved)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_pickle_is_never_opened(saved: Path) -> None:
    np.savez(
        saved / "relaxed.npz", probabilities=np.array([print], dtype=object), weights=np.ones(1)
    )
    with pytest.raises(ReleaseError, match="damaged"):
        load(saved)


def test_custom_queries_are_stored_by_name_and_answered_when_given_again(tmp_path: Path) -> None:
    def first_age(row: dict[str, jnp.ndarray]) -> jnp.ndarray:
        return row["age"][:2]

    query = Custom("young", ("age",), first_age)
    plain = made_release()
    release: Release = replace(
        plain,
        workload=Workload(plain.schema.domain, (*plain.workload.families, query)),
        measurements=(*plain.measurements, QueryMeasurement(Query(query, 1), 12.5, 3.0, 0.001)),
    )
    release.save(tmp_path / "out")
    found = load(tmp_path / "out")
    assert found.workload.queries == release.workload.queries
    assert str(found.measurements[-1].query.family) == "young(age)"  # type: ignore[union-attr]
    with pytest.raises(WorkloadError, match="does not store the function of custom query 'young'"):
        found.shares(found.workload.families[-1])
    np.testing.assert_allclose(found.shares(query)[0], release.shares(query)[0])


def test_methods_without_rows_say_so(tmp_path: Path) -> None:
    made_release(relaxed=False).save(tmp_path / "out")
    found = load(tmp_path / "out")
    assert not list((tmp_path / "out").glob("synthetic.*"))
    with pytest.raises(SettingsError, match="gives answers, not rows"):
        found.table(5)
    shutil.rmtree(tmp_path / "out")


def test_the_guarantee_in_words() -> None:
    statement = made_release().privacy
    assert statement.sentence().startswith(
        "(1, 1e-06)-differentially private with respect to replacing one record"
    )
    several = replace(statement, relation="add-remove", max_rows_per_person=3)
    assert "adding or removing all (up to 3) records of one person" in several.sentence()
    assert replace(statement, private=False).sentence().startswith("NOT PRIVATE")


@pytest.mark.parametrize("accounting", Accounting)
@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_the_guarantee_does_not_contradict_itself(accounting: Accounting, epsilon: float) -> None:
    """The ρ that is given as the reason leads to the ε that is promised; where it does not, the
    sentence says so.
    """
    budget = Budget.of(epsilon=epsilon, delta=2.5e-9, accounting=accounting)
    rho = float(budget.rho)
    statement = PrivacyStatement(
        epsilon, 2.5e-9, rho, rho / 2, "replace", 1, accounting.value, private=True
    )
    sentence = statement.sentence()
    if accounting is Accounting.EXACT and epsilon == 1:
        alone = epsilon_from_rho(rho, 2.5e-9)
        assert alone > 1.03
        assert "by the privacy loss of the whole run (exact accounting)" in sentence
        assert (
            f"{rho:.4g}-zCDP is true as well, but would by itself give ε = {alone:.4g}" in sentence
        )
    else:
        by = Accounting.PAPER if accounting is Accounting.PAPER else Accounting.TIGHT
        assert epsilon_from_rho(rho, 2.5e-9, by) == pytest.approx(epsilon, rel=1e-9)
        assert f"because the run is {rho:.4g}-zCDP" in sentence
        assert ("paper's formula" if by is Accounting.PAPER else "tight accounting") in sentence


@pytest.mark.parametrize("most_held", [10**7, 60])
def test_writing_a_table_tells_how_many_rows_are_done(tmp_path, monkeypatch, most_held):
    """Whether the table is in memory or drawn chunk by chunk."""
    monkeypatch.setattr("dprap.release.draw_records.WRITTEN_ROWS", 40)
    monkeypatch.setattr("dprap.release.files.MOST_ROWS_HELD", most_held)
    told = []
    made_release().save(
        tmp_path / "out", rows=100, watch=lambda done, rows: told.append((done, rows))
    )
    assert told == [(40, 100), (80, 100), (100, 100)]
    assert pyarrow.parquet.read_metadata(tmp_path / "out" / "synthetic.parquet").num_row_groups == 3
