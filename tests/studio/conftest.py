"""A studio in this process, and a browser of a kind: cookies, forms, no script."""

import re
import warnings
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="the studio's packages are not installed: dprap[studio]")
with warnings.catch_warnings():
    # Starlette's own client would rather have a package that is not out yet
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient

from dprap.datasets import example, example_schema
from dprap.encoding.write_tables import write_table
from dprap.studio.gate import Keys
from dprap.studio.routes import studio
from dprap.studio.workspace import Workspace

HOST = "127.0.0.1:8123"


class Browser:
    """Opens pages of a studio and sends their forms."""

    def __init__(self, folder: Path, *, known: bool = True) -> None:
        self.folder = folder
        self.keys = Keys()
        self.workspace = Workspace(folder)
        self.app = studio(self.workspace, self.keys, frozenset((HOST,)))
        self.client = self.new_client()
        if known:
            assert self.client.get(f"/?token={self.keys.token}").status_code == 200

    def new_client(self, **more):
        # an address that is not in the kernel's table, so that nobody knows its user
        return TestClient(self.app, base_url=f"http://{HOST}", client=("192.0.2.1", 9), **more)

    def get(self, path, **more):
        return self.client.get(path, **more)

    def post(self, path, form=None, *, token=None, **more):
        fields = {"csrf": self.keys.form_token() if token is None else token, **(form or {})}
        return self.client.post(path, data=fields, **more)

    def upload(self, name, content, *, token=None, path="/upload"):
        fields = {"csrf": (None, self.keys.form_token() if token is None else token)}
        return self.client.post(path, files=fields | {"file": (name, content)})

    def key_of(self, path):
        return self.workspace.key_of(path.resolve())


@pytest.fixture
def browser(tmp_path):
    return Browser(tmp_path)


@pytest.fixture
def described(browser):
    """A table with its reviewed schema; `browser.table` is its address."""
    path = browser.folder / "people.csv"
    write_table(example(300), path, example_schema())
    example_schema().save(browser.folder / "people.schema.yaml")
    browser.table = f"/table/{browser.key_of(path)}"
    return browser


def said(response):
    """The words of a page."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.text))
