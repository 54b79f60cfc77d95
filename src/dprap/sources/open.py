"""Choose the count source for whatever the user hands over."""

from __future__ import annotations

from typing import Any

from dprap.encoding import encode
from dprap.schema import Schema
from dprap.sources.memory import MemorySource
from dprap.sources.protocol import CountSource


def open_source(table: Any, schema: Schema) -> CountSource:
    """A count source over a table in memory or a file; the whole table is checked against the schema first."""
    return MemorySource(encode(table, schema))
