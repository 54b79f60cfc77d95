"""Raw tables to small integer codes and back, exactly by the schema.

tables             tables of any kind as a stream of Arrow batches
csv_files          CSV files, all values as texts
csv_dialect        the form of a CSV file, recognised for a draft
untyped_files      JSON lines and Excel sheets as rows of values
csv_quotes         quotes in CSV files that would join records
frames             columns of pandas and polars frames as Arrow arrays
objects            columns without a type, placed value by value
column_codes       codes of a whole column, for every kind of Arrow array
policy             what a column gives to values that have no place of their own
encode_table       tables to codes
codes              the noun: one compact array of codes per column
decode             codes back to values in the declared types
write_tables       synthetic tables to files
check_table        all that stands between a table and a release, in one list
touched_values     how many values each policy would change, and why
recognise          what texts look like
recognise_names    what columns of texts are about: persons, identifiers, orders
draft              a first schema from data, refused until a person has reviewed it
draft_profile      one pass over a table for a draft
draft_columns      what a draft proposes for one column
draft_proposal     the nouns of a draft
draft_numbers      numbers: bounds, decimals, codes of missing values
draft_times        dates, times and durations
draft_bounds       bounds that look public
draft_constraints  constraints that hold in the data, as suggestions
"""

from typing import TYPE_CHECKING

from dprap.encoding.codes import Codes, code_dtype
from dprap.encoding.decode import decode, decode_chunks
from dprap.lazy_imports import imported_when_used

if TYPE_CHECKING:
    from dprap.encoding.check_table import CheckReport, check
    from dprap.encoding.draft import draft_schema
    from dprap.encoding.encode_table import (
        check_columns,
        encode,
        encode_batch,
        encode_batches,
        encode_with_ids,
    )
    from dprap.encoding.tables import open_table
    from dprap.encoding.write_tables import write_chunks, write_table

__all__ = [
    "CheckReport",
    "Codes",
    "check",
    "check_columns",
    "code_dtype",
    "decode",
    "decode_chunks",
    "draft_schema",
    "encode",
    "encode_batch",
    "encode_batches",
    "encode_with_ids",
    "open_table",
    "write_chunks",
    "write_table",
]

# A release needs codes and their values; everything that reads or writes tables waits until it is
# used.
__getattr__ = imported_when_used(
    __name__,
    {
        "CheckReport": "dprap.encoding.check_table",
        "check": "dprap.encoding.check_table",
        "check_columns": "dprap.encoding.encode_table",
        "draft_schema": "dprap.encoding.draft",
        "encode": "dprap.encoding.encode_table",
        "encode_batch": "dprap.encoding.encode_table",
        "encode_batches": "dprap.encoding.encode_table",
        "encode_with_ids": "dprap.encoding.encode_table",
        "open_table": "dprap.encoding.tables",
        "write_chunks": "dprap.encoding.write_tables",
        "write_table": "dprap.encoding.write_tables",
    },
)
