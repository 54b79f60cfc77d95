"""Tests and examples keep the ledgers of tables in memory in a folder of their own, not in the user's."""

from __future__ import annotations

import os
import tempfile

import pytest


@pytest.fixture(autouse=True, scope="session")
def _state_folder() -> object:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "DPRAP_STATE", folder)
        yield
