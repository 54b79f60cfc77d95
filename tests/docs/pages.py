"""The pages of the documentation and the scripts that make some of them."""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def docs_script(name: str) -> types.ModuleType:
    """A script of the folder docs, as a module."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where its dataclasses look for their module
    spec.loader.exec_module(module)
    return module
