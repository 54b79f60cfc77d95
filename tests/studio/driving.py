"""A studio in a process of its own, and Chromium looking at it.

Everything that a page does wrong is noted.
"""

import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser") if (path := shutil.which(name))), None
)
WAIT = 120_000


def require_browser():
    """Skip where there is no Chromium, and fail where it was promised."""
    if CHROMIUM is None and not os.environ.get("DPRAP_REQUIRE_BROWSER"):
        pytest.skip("needs Chromium: run tests/studio/install, or make test-studio")
    assert CHROMIUM is not None, "Chromium is missing"


class Server:
    """`dprap studio FOLDER` as somebody starts it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", "from dprap.cli import main; main()", "studio", str(self.folder), "--no-browser"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.said = []
        for line in self.process.stdout:
            self.said.append(line)
            if found := re.search(r"http\S+token=\S+", line):
                self.address = found[0]
                return
        raise AssertionError("".join(self.said))

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        """Ctrl-C; returns everything it said."""
        self.process.send_signal(2)
        rest = self.process.stdout.read()
        self.process.wait(20)
        self.process.stdout.close()
        return "".join([*self.said, rest])


class Watched:
    """A browser context that notes what no page may do."""

    def __init__(self, context, server):
        self.server = server
        self.context = context
        self.foreign, self.console, self.titles, self.addresses = [], [], set(), set()
        context.on("request", self._request)
        context.on("page", self._page)

    def _request(self, request):
        host = re.match(r"http://([^/]*)", request.url)
        if not request.url.startswith("data:") and (host is None or host[1] != self.host):
            self.foreign.append(request.url)
        # without the port and the secret, in which any digits may stand
        path = request.url.split("/", 3)[-1]
        self.addresses.add(re.sub(r"token=[\w-]+", "", path))

    def _page(self, page):
        page.on(
            "console",
            lambda message: (
                message.type in ("error", "warning") and self.console.append(message.text)
            ),
        )
        page.on("pageerror", lambda error: self.console.append(str(error)))
        page.set_default_timeout(WAIT)

    @property
    def host(self):
        return re.match(r"http://([^/]*)", self.server.address)[1]

    def open(self):
        page = self.context.new_page()
        page.goto(self.server.address)
        return page

    def check(self, page):
        """axe-core finds nothing, and the title names no table.

        The report's frame is sandboxed, so axe-core cannot look inside; its try would be an error
        on the console.
        """
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(page, options={"iframes": False})
        assert found.violations_count == 0, found.generate_report()
        assert re.fullmatch(r"(\w+ · )?(dprap studio)|Refused", page.title()), page.title()


@contextmanager
def browsing(playwright, server, **more):
    """Chromium with one context."""
    browser = playwright.chromium.launch(
        executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
    )
    try:
        context = browser.new_context(**({"viewport": {"width": 1200, "height": 900}} | more))
        yield Watched(context, server)
    finally:
        browser.close()
