"""Packages put on the path as an installer would leave them: modules beside a dist-info folder with
entry points.
"""

import shutil
import sys
from pathlib import Path

import pytest

from dprap import plugins


class Installer:
    """Installs packages into a folder that is on the path while a test runs."""

    def __init__(self, folder: Path):
        self.folder = folder

    def __call__(self, package: str, entry_points: str, **modules: str) -> None:
        """Write the modules and the distribution's metadata, as pip would."""
        for module, text in modules.items():
            (self.folder / f"{module}.py").write_text(text)
        info = self.folder / f"{package.replace('-', '_')}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entry_points)
        plugins._entry_points.cache_clear()

    def remove(self, package: str) -> None:
        """Take the distribution's metadata away, as pip would."""
        shutil.rmtree(self.folder / f"{package.replace('-', '_')}-1.0.dist-info")
        plugins._entry_points.cache_clear()


@pytest.fixture
def install(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    plugins._entry_points.cache_clear()
    yield Installer(folder)
    plugins._entry_points.cache_clear()
    for name in set(sys.modules) - before:
        if (origin := getattr(sys.modules[name], "__file__", None)) and Path(origin).is_relative_to(
            folder
        ):
            del sys.modules[name]
