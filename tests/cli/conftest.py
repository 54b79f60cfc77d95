from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.driving import write_inputs


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """A folder with a private table and its schema."""
    write_inputs(tmp_path)
    return tmp_path
