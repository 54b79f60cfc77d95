"""The studio as a steward uses it: from a raw CSV to a downloaded release, with a kill in the
middle, in Chromium.

`python -m tests.studio.pictures docs/studio` takes the pictures of the documentation.
"""

import csv
import http.server
import json
import os
import re
import signal
import threading
import time
import zipfile
from pathlib import Path

import pytest
from tests.studio.driving import Server, browsing, require_browser

from dprap.datasets import example, example_schema
from dprap.encoding.write_tables import write_table
from dprap.privacy import read_ledger
from dprap.release import load

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]
ADULT = (
    Path(os.environ.get("DPRAP_DATA", Path(__file__).parents[3] / "shared" / "data"))
    / "raw"
    / "adult-train.csv"
)


@pytest.fixture
def playwright():
    require_browser()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as found:
        yield found


@pytest.fixture
def server(tmp_path):
    require_browser()
    folder = tmp_path / "work"
    folder.mkdir()
    made = Server(folder)
    yield made
    if made.process.poll() is None:
        made.kill()


def step(page, name):
    page.get_by_role("navigation", name="Steps").get_by_role("link", name=name).click()


def bring(page, file):
    page.locator("#file").set_input_files(file)
    page.get_by_role("button", name="Copy into the studio").click()


def draft_and_vouch(page, watched):
    page.get_by_role("button", name="Propose a schema").click()
    page.wait_for_url("**/schema")
    watched.check(page)
    page.get_by_text("Accept all columns that are left").click()
    page.get_by_role("button", name="Accept all of them").click()
    assert "Say why this is public" in page.locator("#because-all-error").inner_text()
    page.locator("#because-all").fill("the code book of the register")
    page.get_by_role("button", name="Accept all of them").click()
    page.get_by_role("button", name="Accept and check the table").click()


def plan(page, *, method="independent"):
    page.get_by_role("link", name="Go on to the plan").click()
    page.locator("#kway").select_option("2")
    page.get_by_text("More", exact=True).click()
    page.locator("#method").select_option(method)
    page.locator("#table_format").select_option("csv")
    page.get_by_role("button", name="Keep this plan and go on").click()


def spend(page):
    page.get_by_label("Yes, spend it.").check()
    page.get_by_role("button", name="Start the run").click()


def wait_for_charges(folder, least):
    deadline = time.monotonic() + 60
    while not any(
        ledger.read_text().count('"kind": "charge"') >= least
        for ledger in folder.glob("*/*.dprap/ledger.jsonl")
    ):
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_from_a_raw_table_to_a_downloaded_release_with_a_kill_in_the_middle(
    playwright, server, tmp_path
):
    raw = tmp_path / "Personal <b>2024 & 'co'.csv"
    write_table(example(1_500), raw, example_schema())
    with browsing(playwright, server, accept_downloads=True) as watched:
        page = watched.open()
        assert "token" not in page.url
        watched.check(page)
        bring(page, raw)
        assert "PRIVATE" in page.locator("#preview").inner_text()
        watched.check(page)
        draft_and_vouch(page, watched)
        page.get_by_text("Every value fits. The table has 1,500 records.").wait_for()

        # a column's card, wrong and right; another window that is behind
        other = watched.context.new_page()
        other.goto(page.url)
        card = page.locator("#column-0")
        card.locator("summary").click()
        card.locator("[name=min]").fill("abc")
        card.get_by_role("button", name="Save", exact=True).click()
        assert "whole number" in page.locator("#c0-min-error").inner_text()
        watched.check(page)
        page.locator("#c0-min").fill("0")
        page.locator("#c0-max").fill("120")
        page.locator("#column-0").get_by_role("button", name="Save", exact=True).click()
        page.get_by_text("121 codes").wait_for()
        behind = other.locator("#column-1")
        behind.locator("summary").click()
        behind.get_by_role("button", name="Leave this column out").click()
        other.get_by_text("changed elsewhere in the meantime").wait_for()
        other.close()
        watched.console.clear()  # the browser notes the two refusals

        # the plan follows the slider, without touching data
        page.get_by_role("link", name="Go on to the plan").click()
        page.locator("#epsilon").fill("2")
        page.locator("#figures").get_by_text("ε = 2,").wait_for()
        page.locator("[data-pair=epsilon]").focus()
        page.keyboard.press("Home")
        page.locator("#figures").get_by_text("ε = 0.01,").wait_for()
        page.locator("#epsilon").fill("nonsense")
        page.locator("#figures").get_by_text("Write a number.").wait_for()
        page.locator("#epsilon").fill("2")
        page.locator("#kway").select_option("2")
        page.locator("#figures").get_by_text("ε = 2,").wait_for()
        watched.check(page)
        page.get_by_role("button", name="Keep this plan and go on").click()

        # the run: refused without a yes, then killed with the server, then resumed
        page.get_by_role("button", name="Start the run").click()
        assert "Say yes first" in page.locator("#agree-error").inner_text()
        watched.check(page)
        watched.console.clear()
        spend(page)
        # the run stands still after a few of its charges, while the page is looked at, the server
        # dies and another one takes over: else it is done in a second or two
        wait_for_charges(server.folder, 3)
        (task,) = server.folder.glob(".dprap-studio/*/task.json")
        run = json.loads(task.read_text())["pid"]
        os.kill(run, signal.SIGSTOP)
        page.locator("#progress").get_by_text(re.compile("Measuring|Finding|Choosing")).wait_for()
        watched.check(page)
        table = page.url
        page.close()
        server.kill()
        server.start()
        page = watched.open()
        page.goto(f"http://{watched.host}{re.sub('^http://[^/]*', '', table)}")
        watched.check(page)
        threading.Timer(1.0, os.kill, (run, signal.SIGCONT)).start()
        page.get_by_role("button", name="Pause").click()
        page.get_by_role("button", name="Resume").wait_for()
        (ledger,) = server.folder.glob("*/*.dprap/ledger.jsonl")
        (before,) = read_ledger(ledger).runs.values()
        assert 0 < before.spent_rho < before.planned_rho
        watched.check(page)
        watched.console.clear()  # a progress request met the dead server
        page.get_by_role("button", name="Resume").click()
        page.wait_for_url("**/release/*")

        # the release: questions in words and in parts, the report, the files
        page.locator("#question").fill("age in 30..39")
        page.locator("#by-0").select_option("sex")
        page.get_by_role("button", name="Ask").click()
        page.locator("#answer").get_by_text("female").wait_for()
        page.frame_locator("iframe").get_by_role("heading", name="Guarantee", exact=True).wait_for()
        watched.check(page)
        page.locator("#question").fill("mean age")
        page.get_by_role("button", name="Ask").click()
        page.locator("#answer").get_by_text("mean of age").wait_for()
        watched.check(page)
        page.locator("#question").fill("age ==== 3")
        page.get_by_role("button", name="Ask").click()
        page.locator("#question-error").wait_for()
        with page.expect_download() as downloading:
            page.get_by_role("link", name="All files in one archive").click()
        archive = zipfile.ZipFile(downloading.value.path())
        assert {"release/synthetic.parquet", "release/release.json"} <= set(archive.namelist())
        (out,) = server.folder.glob("*/*-release")
        assert load(out).privacy.epsilon == 2
        assert archive.read("release/release.json") == (out / "release.json").read_bytes()

        step(page, "Ledger")
        page.get_by_role("button", name="Verify the ledger").click()
        page.get_by_text("Intact: 1 runs").wait_for()
        watched.check(page)
        after = read_ledger(ledger)
        (run,) = after.runs.values()
        assert run.done
        assert run.spent_rho == run.planned_rho
        page.go_back()
        page.go_forward()

        assert watched.foreign == []
        assert watched.console == []
        # no value and no name of a file or column in an address
        for text in ("female", "Harbour", "Personal", "2024-", "30..39"):
            assert not any(text in address for address in watched.addresses), text
    output = server.stop()
    assert not any(text in output for text in ("Personal", "female", "Harbour"))
    assert server.process.returncode in (0, -2, 130)


def test_two_windows_start_one_run_and_bad_inputs_are_told_at_each_step(
    playwright, server, tmp_path
):
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("a,b\n1\n2,3,4\n")
    empty = tmp_path / "empty.csv"
    empty.write_bytes(b"")
    with browsing(playwright, server) as watched:
        page = watched.open()
        bring(page, empty)
        assert "empty" in page.locator("#file-error").inner_text()
        watched.check(page)
        bring(page, wrong)
        page.get_by_text("The file cannot be read").wait_for()
        watched.check(page)
        step(page, "Schema")
        page.get_by_text("No schema yet").wait_for()
        watched.check(page)
        step(page, "Plan")
        page.get_by_text("A plan needs a schema.").wait_for()
        watched.check(page)
        step(page, "Run")
        page.get_by_text("There is no plan yet").wait_for()
        step(page, "Release")
        page.get_by_text("No release yet").wait_for()
        watched.check(page)
        step(page, "Ledger")
        page.get_by_text("Nothing was spent").wait_for()
        watched.check(page)

        page.get_by_role("link", name="All tables").click()
        page.get_by_role("button", name="Use the example").click()
        step(page, "Schema")
        schema = tmp_path / "known.yaml"
        schema.write_text("columns: {age: {type: integer, min: 10, max: 2}}\n")
        page.locator("#import > summary").click()
        page.locator("#schema-file").set_input_files(schema)
        page.get_by_role("button", name="Import", exact=True).click()
        assert "min" in page.locator("#schema-file-error").inner_text()
        example_schema().save(schema)
        page.locator("#schema-file").set_input_files(schema)
        page.get_by_role("button", name="Import", exact=True).click()
        page.get_by_text("Accepted. 14 columns").wait_for()
        page.locator("#constraints summary").click()
        page.locator("#column_a").select_option("age")
        page.locator("#values_a").fill("16..20")
        page.locator("#column_b").select_option("marital")
        page.locator("#values_b").fill("widowed")
        page.locator("#constraints details button").click()
        page.get_by_text("Not together: age = 16..20 with marital = widowed").wait_for()

        page.get_by_role("link", name="Go on to the plan").click()
        # the number of records is not known yet
        page.get_by_role("button", name="Keep this plan and go on").click()
        assert "delta must be given" in page.locator("#delta-error").inner_text()
        watched.check(page)
        page.locator("#records").fill("20000")
        page.locator("#target").select_option("income")
        page.get_by_text("More", exact=True).click()
        page.locator("#method").select_option("independent")
        page.get_by_role("button", name="Keep this plan and go on").click()
        second = watched.context.new_page()
        second.goto(page.url)
        for each in (page, second):
            each.get_by_label("Yes, spend it.").check()
        page.get_by_role("button", name="Start the run").click()
        second.get_by_role("button", name="Start the run").click()
        second.get_by_text(re.compile("already|changed since|under way")).first.wait_for()
        page.wait_for_url("**/release/*")
        (ledger,) = server.folder.glob("*/*.dprap/ledger.jsonl")
        assert len(read_ledger(ledger).runs) == 1
        assert watched.foreign == []


@pytest.mark.skipif(
    not ADULT.exists(), reason="needs raw/adult-train.csv in the data folder: set DPRAP_DATA"
)
def test_raw_adult(playwright, server):
    with browsing(playwright, server) as watched:
        page = watched.open()
        bring(page, ADULT)
        draft_and_vouch(page, watched)
        page.get_by_text("Every value fits").wait_for()
        plan(page)
        spend(page)
        page.wait_for_url("**/release/*")
        (table,) = server.folder.glob("*/*-release/synthetic.csv")
        with table.open(newline="") as rows:
            assert sum(1 for _ in csv.reader(rows)) > 30_000
        assert watched.foreign == []
        # a reason was left out, on purpose
        assert [line for line in watched.console if "422" not in line] == []


def test_a_hostile_page_gets_nothing(playwright, server, tmp_path):
    """A page on another port of this machine, in the steward's own browser, with the steward's
    cookies.
    """
    tried = """<!doctype html><title>x</title><form id=f method=post action="{to}/example"></form>
    <iframe src="{to}/" onload="window.framed=1"></iframe><img src="{to}/static/icon.svg" onload="window.seen=1">
    <script>window.got=[];for(const path of ['/', '/static/studio.js'])
    fetch('{to}'+path,{{credentials:'include'}}).then(r=>r.text()).then(t=>got.push(t.length),()=>got.push(-1));</script>"""
    to = re.match(r"http://[^/]*", server.address)[0]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(tried.format(to=to).encode())

        def log_message(self, *_):
            pass

    hostile = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=hostile.serve_forever, daemon=True).start()
    try:
        with browsing(playwright, server) as watched:
            watched.open()
            page = watched.context.new_page()
            page.goto(f"http://127.0.0.1:{hostile.server_port}/")
            deadline = time.monotonic() + 20
            while page.evaluate("window.got.length") < 2 and time.monotonic() < deadline:
                page.wait_for_timeout(100)
            assert page.evaluate("window.got") == [-1, -1]
            assert page.evaluate("window.seen") is None
            framed = next(frame for frame in page.frames if frame != page.main_frame)
            assert "Use the example" not in framed.content()
            page.evaluate("document.getElementById('f').submit()")
            page.get_by_text("does not come from a page of this studio").wait_for()
            assert [path.name for path in server.folder.iterdir()] == [".dprap-studio"]
    finally:
        hostile.shutdown()
        hostile.server_close()
