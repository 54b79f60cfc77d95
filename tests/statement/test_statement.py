from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from tests.release.made import made_release
from tests.statement.registry_schema import REGISTRY_SCHEMA

from dprap.errors import SettingsError
from dprap.report.guarantee_texts import LANGUAGES, beliefs, language, plain_guarantee
from dprap.schema import Schema
from dprap.schema.file_layout import Csv
from dprap.schema.review_record import Vouch
from dprap.statement import About, statement_of, write_statement
from dprap.statement.dictionary import croissant, data_package

ABOUT = About(
    title="Register of employees",
    curator="Office of Examples",
    curator_type="Government",
    intended_use="Teaching",
    region="Nowhere",
    sector="Government",
    author="A. Steward",
    license="CC-BY-4.0",
    url="https://example.org/register",
)


@pytest.mark.slow
def test_the_registry_entry_is_valid() -> None:
    import jsonschema  # takes seconds to load

    entry = statement_of(made_release(), ABOUT)["registry"]
    jsonschema.Draft7Validator(REGISTRY_SCHEMA, format_checker=jsonschema.FormatChecker()).validate(
        entry
    )


def test_the_registry_entry_says_what_the_release_says() -> None:
    release = made_release()
    entry = statement_of(release, ABOUT)["registry"]
    loss = entry["deployment"]["privacy_loss"]
    assert loss["privacy_parameters"]["epsilon"] == release.privacy.epsilon
    assert loss["privacy_parameters"]["delta"] == release.privacy.delta
    assert loss["number_of_privacy_units"] == release.rows
    assert entry["url_slug"].startswith("register-of-employees-office-of-examples-")


def test_an_entry_is_never_made_up() -> None:
    release = made_release()
    assert statement_of(release)["registry"] is None
    assert About().missing == [
        "title",
        "curator",
        "curator_type",
        "intended_use",
        "region",
        "author",
    ]
    with pytest.raises(SettingsError, match="curator_type must be one of"):
        About(curator_type="Club")
    with pytest.raises(SettingsError, match="no entry 'titel'"):
        About.of({"titel": "x"})
    with pytest.raises(SettingsError, match="must be text"):
        About.of({"title": 3})


def test_what_the_guarantee_does_not_cover_is_said() -> None:
    found = statement_of(made_release(), ABOUT)
    text = json.dumps(found)
    for said in (
        "the refusal is not covered by the guarantee",
        "Not covered are entries of the schema that were read off the data",
        "Whether somebody explored the private table before is not known",
        "Releases made without that ledger are not in its sum",
    ):
        assert said in text
    assert "as it could if that person were not in the data" in text


def test_person_bounds_and_neighbours_reach_every_paper() -> None:
    release = made_release()
    privacy = replace(release.privacy, max_rows_per_person=5, relation="add-remove")
    found = statement_of(replace(release, privacy=privacy), ABOUT)
    loss = found["registry"]["deployment"]["privacy_loss"]
    assert loss["privacy_unit"] == "Person"
    assert "adding or removing all records of one person, at most 5" in loss["privacy_unit_details"]
    assert "number_of_privacy_units" not in loss
    text = json.dumps(found["sections"])
    assert "at most 5" in text
    assert "The number of records is protected." in text
    assert "Records of a person beyond 5 are not counted, or the run was refused." in text
    alone = json.dumps(statement_of(release, ABOUT)["sections"])
    assert "Whoever has several records in the table is protected less" in alone
    assert "none is off by more than 40.0 records, with 95% confidence" in text
    assert "% of all records" not in text
    units = [
        each["answer"] for each in found["nist_sp_800_226"] if each["layer"] == "Unit of privacy"
    ]
    assert any("Unbounded" in answer for answer in units)


def test_a_release_without_a_table_speaks_of_none() -> None:
    text = json.dumps(statement_of(made_release(relaxed=False), ABOUT)["sections"])
    assert "by the published answers; the method makes no table" in text
    for absent in ("synthetic table", "synthetic record", "the fit"):
        assert absent not in text


def test_seeded_noise_is_said_first() -> None:
    release = made_release()
    found = statement_of(replace(release, privacy=replace(release.privacy, private=False)))
    assert found["guarantee"].startswith("NOT PRIVATE")
    guarantee = next(each for each in found["sections"] if each["title"] == "The guarantee")
    assert guarantee["text"][0].startswith("NOT PRIVATE")


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("relation", ["replace", "add-remove"])
@pytest.mark.parametrize("rows", [1, 7])
def test_every_translation_has_the_same_numbers(code: str, relation: str, rows: int) -> None:
    privacy = replace(
        made_release().privacy, epsilon=1.5, delta=1e-6, relation=relation, max_rows_per_person=rows
    )
    texts = language(code)
    said = plain_guarantee(privacy, texts)
    factor = "4.49"  # e^1.5 is 4.4817, and "at most 4.48 times" would not be true
    assert said.count(factor.replace(".", texts.decimal)) == 2
    assert f"1{texts.thousands}000{texts.thousands}000" in said
    assert (re.search(r"\b7\b", said) is not None) == (rows == 7)
    assert "{" not in said
    other = plain_guarantee(
        replace(privacy, relation="replace" if relation == "add-remove" else "add-remove"), texts
    )
    assert other != said
    assert [len(row) for row in beliefs(privacy, texts)] == [2, 2, 2, 2]


# What each language must say, as docs of `guarantee_texts` lists it: any table, any conclusion; at
# most and at least; the same conclusion; the chance of the whole; not much; at most of beliefs.
SAID = {
    "en": (
        *("any table", "any conclusion", "same conclusion", "at most {f} times as often"),
        *("at least 1/{f} as often", "in all", "learn much about one person"),
    ),
    "de": (
        *("eine beliebige Tabelle", "einen beliebigen Schluss", "derselbe Schluss"),
        *("höchstens {f}-mal so oft", "mindestens 1/{f}-mal so oft", "insgesamt", "nicht viel"),
    ),
    "fr": (
        *("une table quelconque", "une conclusion quelconque", "la même conclusion"),
        *("au plus {f} fois aussi souvent", "au moins 1/{f} fois aussi souvent"),
        *("probabilité totale", "pas apprendre grand-chose"),
    ),
    "es": (
        *("una tabla cualquiera", "una conclusión cualquiera", "la misma conclusión"),
        *("como máximo por {f}", "como mínimo por 1/{f}", "probabilidad total"),
        "no se puede averiguar mucho",
    ),
}
AT_MOST = {"en": "at most", "de": "höchstens", "fr": "au plus", "es": "como máximo"}
UNITS = {
    "en": ("one record", "all records of one person", "replaced by anything else", "added or"),
    "de": ("ein Datensatz", "alle Datensätze einer Person", "beliebige", "hinzugefügt oder"),
    "fr": ("un enregistrement", "tous les enregistrements d'une", "n'importe quel", "ajouté"),
    "es": ("un registro", "todos los registros de una", "cual", "se añadier"),
}
TOO_MUCH = r"anonym|anónim|safe|sicher\b|segura|nothing|nichts|rien|nada|impossib|unmöglich|imposib"


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_translation_says_what_is_promised_and_no_more(code: str) -> None:
    texts = language(code)
    privacy = replace(made_release().privacy, epsilon=1.5, delta=1e-6, max_rows_per_person=1)
    said = plain_guarantee(privacy, texts)
    factor = f"4{texts.decimal}49"
    for phrase in SAID[code]:
        assert phrase.format(f=factor) in said
    assert re.search(TOO_MUCH, said, re.IGNORECASE) is None
    assert AT_MOST[code] in texts.posterior
    assert AT_MOST[code] in texts.weak_conclusion
    assert "δ" in texts.caption
    record, person, any_other, added = UNITS[code]
    assert record in texts.one_record_replaced
    assert record in texts.one_record_added
    for many in (texts.one_person_replaced, texts.one_person_added):
        assert person in many
        assert f"({AT_MOST[code]} {{rows}})" in many
    assert any_other in texts.one_record_replaced
    assert any_other in texts.one_person_replaced
    assert added in texts.one_record_added
    assert added in texts.one_person_added


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("epsilon", [40.0, 709.0, 710.0, 5e8])
def test_a_factor_beyond_all_floats_is_a_power_of_ten(code: str, epsilon: float) -> None:
    privacy = replace(made_release().privacy, epsilon=epsilon)
    power = int(re.findall(r"10\^(\d+)", plain_guarantee(privacy, language(code)))[0])
    assert (power - 1) * math.log(10) < epsilon <= power * math.log(10)
    beliefs(privacy, language(code))


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 12.0, 40.0])
def test_printed_beliefs_are_bounds(code: str, epsilon: float) -> None:
    """What is printed is never below e^ε·p/(1 − p + e^ε·p), and says 100% only next to it."""
    texts = language(code)
    privacy = replace(made_release().privacy, epsilon=epsilon)
    for prior, posterior in beliefs(privacy, texts):
        odds = float(prior.rstrip("\u202f%")) / (100 - float(prior.rstrip("\u202f%")))
        exact = Fraction(math.exp(epsilon)) * Fraction(odds)
        exact = 100 * exact / (1 + exact)
        printed = Fraction(posterior.rstrip("\u202f%").replace(texts.decimal, "."))
        assert exact <= printed + Fraction(1, 10**12)
        assert printed - exact < Fraction(1, 10)
        assert printed < 100 or exact > Fraction("99.9999")


def test_a_statement_has_the_table_that_it_speaks_of() -> None:
    weak = replace(made_release(), privacy=replace(made_release().privacy, epsilon=10.0))
    section = statement_of(weak, language="de")["sections"][1]
    assert "Die Tabelle sagt" in section["text"][0]
    answers = [each["answer"] for each in statement_of(weak)["nist_sp_800_226"]]
    assert all(answer[0].isupper() and answer.endswith(".") for answer in answers)
    assert [row[0] for row in section["table"]["rows"]] == [
        "1\u202f%",
        "10\u202f%",
        "50\u202f%",
        "90\u202f%",
    ]


def test_what_nobody_stated_is_left_out(tmp_path: Path) -> None:
    release = made_release()
    texts = {path.name: path.read_text("utf-8") for path in write_statement(release, tmp_path)}
    for name, text in texts.items():
        assert "not stated" not in text, name
        assert not re.search(r"\bby\W+None\b|: None\b|>None<", text), name
    found = statement_of(release)
    assert found["citation"].startswith("Differentially private release (")
    assert found["sections"][0]["text"][1] == (
        "The papers do not say who publishes it and what it is meant for."
    )
    assert "creator" not in croissant(release, About(), table="synthetic.csv")
    assert "contributors" not in data_package(release, About(), table="synthetic.csv")
    stated = statement_of(release, ABOUT)["sections"][0]["text"]
    assert stated[0].endswith("published by Office of Examples.")
    assert not any("do not say" in text for text in stated)


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_weak_promise_is_not_praised(code: str) -> None:
    """At ε = 10, 1% can become 99.6%: nobody may read then that little can be learned."""
    privacy = made_release().privacy
    strong, weak = (
        plain_guarantee(replace(privacy, epsilon=epsilon), language(code))
        for epsilon in (1.0, 10.0)
    )
    assert language(code).conclusion in strong
    assert language(code).conclusion not in weak
    assert language(code).weak_conclusion in weak


def test_an_unknown_language_names_those_there_are() -> None:
    with pytest.raises(SettingsError, match="en, de, fr, es"):
        language("la")


def test_metadata_name_every_column_once() -> None:
    release = made_release()
    names = list(release.schema.columns)
    package = data_package(release, ABOUT, table="synthetic.csv")
    assert [field["name"] for field in package["resources"][0]["schema"]["fields"]] == names
    assert package["resources"][0]["format"] == "csv"
    fields = croissant(release, ABOUT, table="synthetic.csv")["recordSet"][0]["field"]
    assert [field["name"] for field in fields] == names
    assert {field["source"]["fileObject"]["@id"] for field in fields} == {"synthetic.csv"}
    odd = ["pay (EUR)", "pay/EUR", "Größe"]
    schema = Schema.of({"columns": {name: {"type": "boolean"} for name in odd}})
    fields = croissant(replace(release, schema=schema), ABOUT, table="t.csv")["recordSet"][0][
        "field"
    ]
    # readers of Croissant refuse blanks in an identifier
    assert [field["@id"] for field in fields] == [
        "synthetic/pay-EUR",
        "synthetic/pay-EUR-2",
        "synthetic/Größe",
    ]
    assert [field["name"] for field in fields] == odd


@pytest.mark.parametrize(
    ("stated", "written"),
    [
        ("CC-BY-4.0", {"name": "CC-BY-4.0", "title": "CC-BY-4.0"}),
        ("Open Data, ours", {"name": "Open-Data-ours", "title": "Open Data, ours"}),
        ("https://example.org/l", {"path": "https://example.org/l"}),
    ],
)
def test_a_licence_has_a_name_or_an_address(stated: str, written: dict[str, str]) -> None:
    """A data package with a title alone is refused by Frictionless' own checks."""
    package = data_package(made_release(), replace(ABOUT, license=stated), table="synthetic.csv")
    assert package["licenses"] == [written]


def test_metadata_of_a_csv_file_say_how_values_are_written() -> None:
    columns = {
        "born": {
            "type": "date",
            "min": "1950-01-01",
            "max": "2000-12-31",
            "unit": "year",
            "format": "%d.%m.%Y",
        },
        "paid": {
            "type": "number",
            "min": 0,
            "max": 9,
            "decimals": 2,
            "format": {"decimal": ",", "suffix": "€"},
        },
        "sex": {
            "type": "categorical",
            "values": ["F", "M"],
            "nullable": True,
            "null_values": ["k.A."],
        },
    }
    schema = Schema.of({"columns": columns, "csv": {"delimiter": ";"}})
    release = replace(made_release(), schema=schema)
    resource = data_package(release, ABOUT, table="synthetic.csv")["resources"][0]
    assert resource["dialect"] == {"delimiter": ";"}
    born, paid, sex = resource["schema"]["fields"]
    assert born["format"] == "%d.%m.%Y"
    assert (paid["decimalChar"], paid["bareNumber"]) == (",", False)
    assert sex["missingValues"] == ["", "k.A."]
    plain = data_package(release, ABOUT, table="synthetic.parquet")["resources"][0]
    assert "dialect" not in plain
    assert "encoding" not in plain
    form = {"quote": "'", "encoding": "cp1252", "skip_lines": 2}
    old = replace(release, schema=schema.model_copy(update={"csv": Csv(**form)}))
    resource = data_package(old, ABOUT, table="synthetic.csv")["resources"][0]
    assert resource["encoding"] == "cp1252"
    assert resource["dialect"] == {"delimiter": ",", "quoteChar": "'", "headerRows": [3]}
    assert "format" not in plain["schema"]["fields"][0]


def test_the_statement_names_who_vouches_for_the_schema() -> None:
    release = made_release()
    vouch = Vouch(by="A. Lee", because="the law", settings=("values",), on="2026-01-31")
    name = next(iter(release.schema.columns))
    vouched = replace(release, schema=release.schema.model_copy(update={"vouched": {name: vouch}}))
    texts = {
        section["title"]: section["text"] for section in statement_of(vouched, ABOUT)["sections"]
    }
    said = " ".join(texts["Who answers for the schema"])
    assert f"A. Lee vouches that values of {name!r}" in said
    assert "not taken from the data" not in said


def test_metadata_have_the_digest_of_the_table(tmp_path: Path) -> None:
    """Croissant's own checks refuse a file without one."""
    (tmp_path / "synthetic.csv").write_bytes(b"a\n1\n")
    write_statement(made_release(), tmp_path, ABOUT, table=tmp_path / "synthetic.csv")
    digest = hashlib.sha256(b"a\n1\n").hexdigest()
    described = json.loads((tmp_path / "croissant.json").read_text())
    assert described["distribution"][0]["sha256"] == digest
    assert described["distribution"][0]["contentUrl"] == "synthetic.csv"
    assert described["@context"]["citeAs"] == "cr:citeAs"
    assert (
        json.loads((tmp_path / "datapackage.json").read_text())["resources"][0]["hash"]
        == f"sha256:{digest}"
    )


def test_the_papers_are_written_and_escaped(tmp_path: Path) -> None:
    about = replace(ABOUT, title="<script>x</script>")
    files = write_statement(made_release(), tmp_path / "papers", about, language="de")
    assert {path.name for path in files} == {
        "statement.html", "statement.json", "datapackage.json", "croissant.json", "registry.yaml",
    }  # fmt: skip
    page = (tmp_path / "papers" / "statement.html").read_text()
    assert "<script" not in page
    assert 'lang="de"' in page
    assert (
        yaml.safe_load((tmp_path / "papers" / "registry.yaml").read_text())["deployment"]["basic"][
            "name"
        ]
        == about.title
    )
    without = write_statement(made_release(), tmp_path / "other")
    assert "registry.yaml" not in {path.name for path in without}


def test_a_folder_that_nobody_named_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    release = made_release()
    assert release.statement()[0] == Path("statement/statement.html")
    assert release.statement(title="Again")[0].exists()  # papers of dprap are replaced
    note = tmp_path / "statement" / "notes.txt"
    note.write_text("mine")
    with pytest.raises(SettingsError, match="statement exists already and holds other files"):
        release.statement()
    assert release.statement("statement")  # it was named
    assert note.read_text() == "mine"
    for path in (tmp_path / "statement").iterdir():
        path.unlink()
    assert release.statement()
    (tmp_path / "statement" / "statement.json").unlink()
    with pytest.raises(SettingsError, match="Name a folder"):
        release.statement()  # a data package of somebody else


def test_a_report_of_something_else_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    release = made_release()
    assert release.report() == Path("report.html")
    assert release.report() == Path("report.html")
    (tmp_path / "report.html").write_text("<h1>Quarterly report</h1>")
    with pytest.raises(SettingsError, match=r"is not a report of dprap\. Name a file"):
        release.report()
    assert release.report("report.html").stat().st_size > 10_000  # it was named
