from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from tests.release.made import made_release
from tests.report.many import related_release

from dprap.errors import SettingsError
from dprap.evaluate import Errors, Evaluation
from dprap.release import Release
from dprap.report import evaluate_report, write_report
from dprap.report.budget_views import budget_parts
from dprap.report.column_views import axis_text, column_view
from dprap.report.html import Html, el
from dprap.report.pair_plots import _extent, _fitted
from dprap.report.pair_views import association, cramers_v
from dprap.schema import Schema
from dprap.schema.columns.binned import BinnedColumn
from dprap.sources import MemorySource

VOID = {"meta", "br", "hr", "wbr"}


class Checker(HTMLParser):
    """Checks that tags balance, and collects them with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def checked(path: Path) -> Checker:
    checker = Checker()
    checker.feed(path.read_text(encoding="utf-8"))
    checker.close()
    assert checker.open == []
    return checker


def written(release: Release, tmp_path: Path) -> Path:
    write_report(release, tmp_path / "report.html")
    return tmp_path / "report.html"


@pytest.mark.parametrize("columns", [1, 5, 30])
def test_the_page_is_whole_and_asks_for_nothing(tmp_path: Path, columns: int) -> None:
    release, _ = related_release(columns, relaxed_rows=50)
    path = written(release, tmp_path)
    page = checked(path)
    names = [tag for tag, _ in page.tags]
    assert "script" not in names
    assert "img" not in names
    assert "link" not in names
    text = path.read_text()
    assert "http://" not in text.replace("http-equiv", "")
    assert "https://" not in text
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.tags:
        target = attributes.get("href")
        assert target is None or target[1:] in ids
        for referred in (attributes.get("aria-labelledby") or "").split():
            assert referred in ids


def test_every_plot_has_a_name_a_description_and_a_table_beside_it(tmp_path: Path) -> None:
    release, _ = related_release(6, relaxed_rows=50)
    text = written(release, tmp_path).read_text()
    plots = re.findall(r"<svg[^>]*role=\"img\".*?</svg>", text)
    assert len(plots) == 6 + 3 + 6  # columns; budget, association, residuals; the strongest pairs
    for plot in plots:
        assert re.search(
            r"<title id=\"[^\"]+\">[^<]+</title><desc id=\"[^\"]+\">[^<]+</desc>", plot
        )
    assert text.count("<table>") >= 6 + 4
    assert text.count("<caption>") == text.count("<table>")


def test_the_public_page_never_says_not_private_and_the_other_one_on_every_plot(
    tmp_path: Path,
) -> None:
    release, truth = related_release(6, relaxed_rows=50)
    public = written(release, tmp_path).read_text()
    assert "NOT PRIVATE" not in public
    errors = {"relaxed": Errors(10, 0.1, 0.01, 0.02, 0.05)}
    evaluate_report(
        release, MemorySource(truth), tmp_path / "truth.html", Evaluation(errors, (), None)
    )
    text = (tmp_path / "truth.html").read_text()
    checked(tmp_path / "truth.html")
    assert "NOT PRIVATE" in text.splitlines()[0]
    assert re.search(r"<title>NOT PRIVATE", text)
    for plot in re.findall(r"<svg[^>]*role=\"img\".*?</svg>", text):
        assert re.search(r"<title id=\"[^\"]+\">NOT PRIVATE", plot)
        assert 'class="warning"' in plot
    assert 'class="truth"' in text
    assert "0.10000" in text


def test_a_release_with_seeded_noise_is_marked_too(tmp_path: Path) -> None:
    release = made_release()
    text = written(
        replace(release, privacy=replace(release.privacy, private=False)), tmp_path
    ).read_text()
    assert re.search(r"<title>NOT PRIVATE", text)
    assert "the noise came from a seed" in text


EVIL = "\"><script>alert(1)</script><img src=x onerror=alert(1)>&'--><!--"


def test_names_and_values_of_a_schema_never_become_markup(tmp_path: Path) -> None:
    schema = Schema.of(
        {
            "description": EVIL,
            "columns": {
                EVIL: {
                    "type": "categorical",
                    "values": [EVIL + str(code) for code in range(3)],
                    "other": EVIL,
                },
                "x" + EVIL: {"type": "boolean"},
            },
        }
    )
    plain, _ = related_release(2, relaxed_rows=20)
    assert plain.relaxed is not None
    made = made_release()
    sizes = schema.domain.onehot_size
    relaxed = type(plain.relaxed)(
        schema.domain,
        np.full((sizes, 2), 0.25, dtype=np.float32),
        np.array([0.5, 0.5], dtype=np.float32),
    )  # type: ignore[arg-type]
    workload = type(made.workload)(schema.domain, (type(made.workload.families[0])((EVIL,)),))
    facts = replace(made.facts, method=EVIL, settings={EVIL: EVIL}, version=EVIL, created=EVIL)
    release = replace(
        made, schema=schema, workload=workload, relaxed=relaxed, measurements=(), facts=facts
    )
    path = written(release, tmp_path)
    page = checked(path)
    assert not {tag for tag, _ in page.tags} & {"script", "img"}
    assert not any(key.startswith("on") for _, attributes in page.tags for key in attributes)
    assert "<!--" not in path.read_text()


def test_rows_of_many_columns_are_shown_turned(tmp_path: Path) -> None:
    """A line for each column fits on paper, however many columns there are."""
    for columns, header in ((12, '<th scope="col">age</th>'), (13, '<th scope="col">column</th>')):
        release, _ = related_release(columns, relaxed_rows=50)
        text = written(release, tmp_path).read_text(encoding="utf-8")
        sample = text[text.index('class="card sample"') :]
        sample = sample[: sample.index("</table>")]
        assert header in sample
        assert sample.count("<tr>") == (9 if columns == 12 else 14)


def test_settings_are_listed_one_by_one(tmp_path: Path) -> None:
    release = made_release()
    settings = {"rounds": None, "targets": (), "kl": 0.3, "rules": {"deep": {"one": 1}, "two": 2}}
    facts = replace(release.facts, settings=settings)
    text = written(replace(release, facts=facts), tmp_path).read_text(encoding="utf-8")
    run = text[text.index("All 3 settings of the method") :]
    for name, value in (("kl", "0.3"), ("rules.deep.one", "1"), ("rules.two", "2")):
        assert f'<th scope="row">{name}</th><td class="number">{value}</td>' in run
    assert "{" not in run
    assert "None" not in run


def test_methods_without_rows_get_a_page(tmp_path: Path) -> None:
    path = written(made_release(relaxed=False), tmp_path)
    checked(path)
    text = path.read_text()
    assert "holds answers, not data" in text
    assert "does not say anything about state of birth, hired" in text
    assert "by the published answers; the method makes no table" in text
    assert "Answers to" in text
    whole = written(made_release(), tmp_path).read_text()
    for absent in ("ynthetic table", "ynthetic row", "synthetic data", "release.table("):
        assert absent not in text
        assert absent in whole


def test_without_certificate_and_measurements(tmp_path: Path) -> None:
    path = written(replace(made_release(), certificate=None, measurements=()), tmp_path)
    checked(path)
    assert "without an accuracy certificate" in path.read_text()


def test_an_unwritable_place_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot write"):
        write_report(made_release(), tmp_path / "missing" / "report.html")


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "report.html.part").write_text("years of work")
    written(made_release(), tmp_path)
    assert (tmp_path / "report.html.part").read_text() == "years of work"
    (tmp_path / "report.html").unlink()
    (tmp_path / "report.html").mkdir()
    with pytest.raises(SettingsError, match="cannot write"):
        written(made_release(), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "report.html.part"]


def test_the_budget_adds_up() -> None:
    release = made_release()
    parts = budget_parts(release)
    assert sum(part.rho for part in parts) == pytest.approx(release.privacy.rho_planned)
    assert [part.name for part in parts] == [
        "measuring 1-way marginals",
        "measuring 2-way marginals",
        "measuring single queries",
        "the accuracy certificate",
    ]
    chosen = budget_parts(
        replace(release, privacy=replace(release.privacy, rho_planned=0.05, rho_spent=0.04))
    )
    assert chosen[0].name == "choosing what to measure"
    assert chosen[-1].name == "not spent"


def test_long_columns_are_drawn_together_without_losing_anything() -> None:
    release, _ = related_release(6, relaxed_rows=50)
    for name in release.schema.columns:
        view = column_view(release, name, None)
        assert view is not None
        assert len(view.bars) <= 42
        assert sum(bar.synthetic for bar in view.bars) == pytest.approx(1, abs=1e-4)
        assert sum(bar.measured or 0 for bar in view.bars) == pytest.approx(1, abs=0.1)


def test_association_of_equal_and_of_unrelated_columns() -> None:
    release, _ = related_release(5, relaxed_rows=400)
    assert release.relaxed is not None
    found = association(release.relaxed)
    np.testing.assert_allclose(found, found.T)
    assert (found >= 0).all()
    assert (found <= 1).all()
    assert cramers_v(np.diag([0.2, 0.3, 0.5])) == pytest.approx(1)
    assert cramers_v(np.outer([0.2, 0.8], [0.5, 0.25, 0.25])) == pytest.approx(0, abs=1e-9)
    assert cramers_v(np.array([[0.5, 0.5]])) == 0


def test_elements_escape_text_and_attributes() -> None:
    assert (
        el("p", "<b>", Html("<i></i>"), title='"<') == '<p title="&quot;&lt;">&lt;b&gt;<i></i></p>'
    )


def test_axes_of_times_are_as_fine_as_their_span() -> None:
    schema = Schema.of(
        {
            "columns": {
                "day": {"type": "date", "min": "2000-01-01", "max": "2020-12-31", "unit": "year"},
                "at": {
                    "type": "datetime",
                    "min": "2000-01-01T00:00:00",
                    "max": "2000-12-31T00:00:00",
                    "unit": "month",
                },
            }
        }
    )
    texts = []
    for name in ("day", "at"):
        column = schema.columns[name]
        assert isinstance(column, BinnedColumn)
        edges = column.bin_edges.astype(float).tolist()
        texts.append(axis_text(column, edges[0], edges))
    assert texts == ["2000", "2000-01"]


def test_turned_labels_of_wide_letters_are_cut_to_their_room() -> None:
    assert _extent("MMMM") > 6
    assert _fitted("Mecklenburg-Vorpommern", 14) != "Mecklenburg-Vorpommern"
    assert _extent(_fitted("Mecklenburg-Vorpommern", 14)) <= 14
    assert _fitted("Berlin", 14) == "Berlin"
