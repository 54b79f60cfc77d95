"""Nothing outside the folder, whatever a file is called; uploads in bounded memory."""

import hashlib
import os
import re
import time
import tomllib
import tracemalloc
from html.parser import HTMLParser
from pathlib import Path

import anyio
import pytest

import dprap.studio
from dprap.errors import SettingsError
from dprap.studio import uploads
from dprap.studio.file_names import split_name
from dprap.studio.notes import write_whole
from dprap.studio.tasks import last_task, start

PACKAGE = Path(dprap.studio.__file__).parent

HOSTILE = [
    "../../../etc/passwd.csv",
    "..\\..\\boot.csv",
    "/etc/cron.d/x.csv",
    "--help.csv",
    "-o.csv",
    ".hidden.csv",
    '"><script>alert(1)</script>.csv',
    "a\x00b.csv",
    "a\nb\r\nSet-Cookie: x=1.csv",
    "x" * 4000 + ".csv",
    "é" * 300 + ".csv",
    "*.csv",
    "[a-z].csv",
    "~root.csv",
    "$(touch x).csv",
    "postgresql://x@y/z.csv",
    "people.csv.dprap.csv",
    "\u202egnp.csv",
    "con.csv",
    "..csv",
    ".csv",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_name_becomes_a_harmless_one(browser, name):
    before = set(browser.folder.parent.iterdir())
    answered = browser.upload(name, b"a,b\n1,2\n")
    assert answered.status_code == 200
    assert "<script>alert" not in answered.text
    assert set(browser.folder.parent.iterdir()) == before
    (folder,) = [path for path in browser.folder.iterdir() if path.name != ".dprap-studio"]
    (file,) = folder.iterdir()
    assert file.read_bytes() == b"a,b\n1,2\n"
    assert file.name[0].isalnum()
    assert len(os.fsencode(file.name)) < 100
    assert file.stat().st_mode & 0o077 == 0
    assert folder.stat().st_mode & 0o077 == 0
    assert file.name not in answered.headers.get("location", "") + str(answered.url)


@pytest.mark.parametrize(("name", "content"), [("a.exe", b"x"), ("", b"x"), ("a.csv", b"")])
def test_what_is_no_table_is_refused_next_to_the_field(browser, name, content):
    answered = (
        browser.upload(name, content)
        if name
        else browser.client.post("/upload", files={"csrf": (None, browser.keys.form_token())})
    )
    assert answered.status_code == 422
    assert [path.name for path in browser.folder.iterdir()] == [".dprap-studio"]


def test_links_are_not_followed(browser, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.csv").write_text("a\nSECRET\n")
    (browser.folder / "link.csv").symlink_to(outside / "secret.csv")
    (browser.folder / "linked").symlink_to(outside)
    (browser.folder / "real.csv").write_text("a\n1\n")
    (browser.folder / "real.schema.yaml").symlink_to(outside / "secret.csv")
    assert [table.path.name for table in browser.workspace.tables()] == ["real.csv"]
    assert ">link" not in browser.get("/").text
    table = f"/table/{browser.key_of(browser.folder / 'real.csv')}"
    assert not browser.workspace.tables()[0].has_schema
    for page in ("table", "schema", "plan", "run", "release", "ledger"):
        assert "SECRET" not in browser.get(f"{table}/{page}").text
    release = browser.folder / "real-release"
    (browser.folder / "real-release.private").mkdir()
    release.symlink_to(outside)
    assert browser.workspace.runs(browser.workspace.tables()[0]) == []


def test_a_key_that_was_not_given_out_leads_nowhere(described):
    for key in ("..%2F..%2Fetc", "%2e%2e", "people.csv", "0" * 16, "%00"):
        assert described.get(f"/table/{key}/table").status_code == 404
    for name in ("../gate.py", "SOURCES.md", "%2e%2e/serve.py"):
        assert described.get(f"/static/{name}").status_code == 404


@pytest.mark.parametrize("name", ["notes.txt.gz", "a.tsv", "b.parquet", "c.CSV.GZ"])
def test_endings_of_tables_are_known(name):
    assert split_name(name) is not None


def test_an_upload_streams_in_bounded_memory(tmp_path, monkeypatch):
    chunk, count = b"0123456789,abcdefghij\n" * 3000, 1000  # 66 MB
    head = (
        b'--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\nok\r\n'
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="big.csv"\r\n\r\n'
    )

    async def sent():
        yield head
        for _ in range(count):
            yield chunk
        yield b"\r\n--x--\r\n"

    taken = uploads.Upload(
        lambda name, value: (name, value) == ("csrf", "ok"), lambda _: tmp_path / "big.csv"
    )
    tracemalloc.start()
    anyio.run(lambda: taken.take("multipart/form-data; boundary=x", sent()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "big.csv").stat().st_size == taken.written == len(chunk) * count
    assert peak < 4 << 20  # far below the file


def test_an_upload_has_limits(tmp_path, monkeypatch):
    async def sent(*parts, silence=0.0):
        for part in parts:
            yield part
            await anyio.sleep(silence)

    head = (
        b'--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\nok\r\n'
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
    )
    target = tmp_path / "a.csv"

    def take(chunks, largest=1 << 20):
        taken = uploads.Upload(lambda *_: True, lambda _: target, largest)
        anyio.run(lambda: taken.take("multipart/form-data; boundary=x", chunks))

    with pytest.raises(SettingsError, match="larger than"):
        take(sent(head, b"x" * (1 << 20), b"x", b"\r\n--x--\r\n"))
    with pytest.raises(SettingsError, match="whole"):
        take(sent(head, b"cut off"))
    monkeypatch.setattr(uploads, "LONGEST_SILENCE", 0.05)
    with pytest.raises(SettingsError, match="stopped"):
        take(sent(head, b"slow", silence=1.0))
    assert not target.exists()


def test_an_upload_that_is_cut_off_by_the_end_of_the_server_leaves_nothing(tmp_path):
    head = (
        b"--x\r\nContent-Disposition: form-data;"
        b' name="csrf"\r\n\r\nok\r\n--x\r\nContent-Disposition: form-data; name="file";'
        b' filename="a.csv"\r\n\r\nsome,private\n'
    )

    async def sent():
        yield head
        await anyio.sleep(60)

    async def stopped():
        taken = uploads.Upload(lambda *_: True, lambda _: tmp_path / "a.csv")
        with anyio.move_on_after(0.3):
            await taken.take("multipart/form-data; boundary=x", sent())

    anyio.run(stopped)
    assert list(tmp_path.iterdir()) == []


def test_what_the_studio_keeps_only_the_steward_can_read(described):
    described.get(f"{described.table}/plan")
    write_whole(described.folder / ".dprap-studio" / "x", b"")
    for path in (described.folder / ".dprap-studio").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_one_task_a_table_also_for_another_server(described):
    table = described.workspace.tables()[0]
    # any command: the lock is what counts
    start(described.workspace, table, "check", ["studio", "--help"])
    with pytest.raises(Exception, match="already"):
        start(described.workspace, table, "check", ["studio", "--help"])
    other = type(described.workspace)(described.folder)
    seen = last_task(other, table)
    assert seen is not None
    assert seen.is_running
    while last_task(other, table).is_running:
        time.sleep(0.05)
    assert "FOLDER" in last_task(other, table).result()


class _Words(HTMLParser):
    """Words that a template itself says, and attributes that a policy would refuse."""

    def __init__(self):
        super().__init__()
        self.found = []
        self.bad = []

    def handle_data(self, data):
        self.found.append(data)

    def handle_starttag(self, tag, attrs):
        self.bad += [(tag, name) for name, _ in attrs if name.startswith("on") or name == "style"]
        names = dict(attrs)
        if tag in ("style",) or (tag == "script" and "src" not in names):
            self.bad.append((tag, "inline"))
        self.bad += [
            (tag, value)
            for name, value in attrs
            if name in ("src", "href", "action") and "//" in (value or "")
        ]


def test_templates_hold_no_words_no_inline_script_and_no_foreign_address():
    for file in (PACKAGE / "templates").glob("*.html"):
        text = re.sub(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", "-", file.read_text(), flags=re.DOTALL)
        reader = _Words()
        reader.feed(text)
        assert reader.bad == [], file.name
        assert not re.search(r"[A-Za-z]{2,}", " ".join(reader.found)), (file.name, reader.found)


def test_every_text_is_used_and_every_text_that_is_used_exists():
    texts = tomllib.loads((PACKAGE / "texts" / "en.toml").read_text())
    sources = "\n".join(
        file.read_text() for file in [*PACKAGE.rglob("*.html"), *PACKAGE.rglob("*.py")]
    )
    for page, name in re.findall(r"\bt\.(\w+)\.(\w+)", sources):
        assert name in texts[page], (page, name)
        assert not hasattr(dict, name), f'write t.{page}["{name}"]: t.{page}.{name} is a method'
    families = ("state_", "type_", "unit_", "policy_", "verdict_", "stage_", "step_", "kway_")
    for page, entries in texts.items():
        for name in entries:
            used = re.search(rf"\b{page}\.{name}\b|[\"']{name}[\"']", sources)
            assert used or name.startswith(families), (page, name)


def test_every_stage_of_a_run_has_words():
    texts = tomllib.loads((PACKAGE / "texts" / "en.toml").read_text())["run"]
    told = {
        stage
        for file in PACKAGE.parent.rglob("*.py")
        for stage in re.findall(r"\bProgress\(\s*\"(\w+)\"", file.read_text())
    }
    assert {"measure", "fit", "intervals"} <= told
    assert {f"stage_{stage}" for stage in told} <= set(texts)


def test_vendored_files_are_what_they_say():
    stated = (PACKAGE / "static" / "SOURCES.md").read_text()
    assert hashlib.sha256((PACKAGE / "static" / "htmx.min.js").read_bytes()).hexdigest() in stated
    assert "Zero-Clause BSD" in (PACKAGE / "static" / "htmx.LICENSE.txt").read_text()


def test_the_form_of_a_csv_file_is_recognised_shown_and_corrected(browser):
    browser.upload(
        "stadt.csv", "Bericht 2024;\nStra\u00dfe;Gr\u00f6\u00dfe\nA;1\nB;2\nC;3\n".encode("cp1252")
    )
    (path,) = browser.folder.glob("*/stadt.csv")
    table = f"/table/{browser.key_of(path)}"
    page = browser.get(f"{table}/table").text
    assert "Straße" in page  # the encoding, the delimiter and the line above the header were seen
    assert '<option value=";" selected>' in page
    assert 'value="cp1252"' in page

    corrected = {"delimiter": ";", "encoding": "iso8859-15", "skip_lines": "2"}
    page = browser.post(f"{table}/form", corrected).text
    assert "Straße" not in page
    assert "--encoding=iso8859-15 --skip-lines=2" in page
    assert "no name" in browser.post(f"{table}/form", {"delimiter": ";", "skip_lines": "0"}).text
    assert "Straße" in browser.post(f"{table}/form", {}).text  # recognised anew

    for wrong, said in (
        ({"encoding": "latin-99"}, "is no character encoding"),
        ({"skip_lines": "-1"}, "Write a whole number"),
        ({"delimiter": ";;"}, "at most 1 character"),
    ):
        refused = browser.post(f"{table}/form", wrong)
        assert refused.status_code == 422
        assert said in refused.text
