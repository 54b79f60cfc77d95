"""What a file may ask of the machine that reads it.

A schema, a workload or a release may come from a stranger, or be damaged. A small file can ask for
any amount of memory: a zip archive of zeros unpacks to a thousand times its size, and a header of a
few bytes announces 10^12 numbers. Every reader therefore compares what a file announces with these
limits before it reads on. All of them are far above what dprap writes, so whoever meets one has a
damaged file, a hostile file or a question to ask.
"""

from __future__ import annotations

# A column of a million values, which is the most that a schema takes, with 60 bytes for each.
MAX_DOCUMENT_BYTES = 64 << 20

# Schemas, workloads and release.json nest to seven levels; a reader that recurses needs a few
# hundred to fail.
MAX_DOCUMENT_DEPTH = 32

# Every whole number below it can be turned into a float. What a number may be is for its reader to
# say.
MAX_WHOLE_NUMBER = 1 << 1000

# Counts up to it are exact as floats, in which shares and noisy counts are computed. No table has
# more records.
MAX_RECORDS = 1 << 53

# Codes of all columns of a schema together: sixteen columns of the most that one may have, with
# half a GiB of bin edges.
MAX_SCHEMA_CODES = 1 << 24

# Numbers of an archive of a release: 250 million probabilities. The largest that the benchmarks
# made has 16 million.
MAX_ARCHIVE_BYTES = 1 << 30

# A release has one measurement for each marginal or query that was measured; `rap` measures some
# thousand queries.
MAX_MEASUREMENTS = 1 << 20

# Noisy counts of all measurements together: 1 GiB of floats, a hundred marginals of the largest
# default size.
MAX_MEASURED_COUNTS = 1 << 27

# Cells of one family of queries in a release. Its answers are 8 GiB, which is what `--max-cells`
# may ask for too.
MAX_FAMILY_CELLS = 1 << 30

# Rows of a table that is made in memory. A column takes a byte or more for each, so that any schema
# needs gigabytes.
MAX_ROWS_IN_MEMORY = 1_000_000_000

# Seeds of public randomness: what both NumPy and JAX take.
MAX_SEED = (1 << 63) - 1
