"""Exact counting of a private table. Importing this package is the privilege of `dprap.privacy` and the entry points."""

from dprap.sources.memory import MemorySource
from dprap.sources.protocol import CellCounts, CountSource, RowSource

__all__ = ["CellCounts", "CountSource", "MemorySource", "RowSource"]
