"""Exact counting of a private table. Importing this package is the privilege of `dprap.privacy` and the entry points.

protocol  what a count source offers: exact integer counts of marginals
open      the source for whatever the user hands over
memory    records in memory
files     CSV and Parquet files that need not fit in memory
locate    the files that a path, a folder or a glob means
postgres  records counted by a PostgreSQL server
sql       encoding as SQL expressions
catalog   words of PostgreSQL, each named with its schema
spark     records counted by Apache Spark
tally     the counting kernel: one pass over blocks of codes
unions    marginals that one count serves together
covers    few wide marginals that cover many
passes    how many passes keep the counters in memory
digest    a digest of records that does not depend on their order
"""

from dprap.sources.memory import MemorySource
from dprap.sources.protocol import CellCounts, CountSource, RowSource

__all__ = ["CellCounts", "CountSource", "MemorySource", "RowSource"]
