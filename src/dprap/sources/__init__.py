"""Exact counting of a private table.

Importing this package is the privilege of `dprap.privacy` and the entry points.

protocol         what a count source offers: exact integer counts of marginals
checked          what files, DuckDB and Spark share: records checked once, counted in passes
recoding         records under a coarser schema
open             the source for whatever the user hands over
memory           records in memory
table_files      CSV and Parquet files that need not fit in memory
read_files       files as encoded records, batch by batch
unknown_columns  one pass over columns that are not known
locate           the files that a path, a folder or a glob means
duckdb           tables of DuckDB databases
touched_values   what policies touch in a whole data set
postgres         records counted by a PostgreSQL server
sql              encoding as SQL expressions
sql_counts       one SQL query that counts many marginals
catalog          words of PostgreSQL, each named with its schema
spark            records counted by Apache Spark
spark_tables     what Spark hands to its workers, and how they make codes of it
digest           a digest of records that does not depend on their order
"""

from dprap.sources.memory import MemorySource
from dprap.sources.protocol import CountSource, RowSource

__all__ = ["CountSource", "MemorySource", "RowSource"]
