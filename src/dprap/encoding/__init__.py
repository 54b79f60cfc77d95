"""Raw tables to small integer codes and back, exactly by the schema."""

from dprap.encoding.check import CheckReport, check
from dprap.encoding.codes import Codes, code_dtype
from dprap.encoding.decode import decode
from dprap.encoding.draft import draft_schema
from dprap.encoding.encode import check_columns, encode, encode_batch, encode_batches, encode_with_ids
from dprap.encoding.tables import open_table
from dprap.encoding.write import write_table

__all__ = [
    "CheckReport",
    "Codes",
    "check",
    "check_columns",
    "code_dtype",
    "decode",
    "draft_schema",
    "encode",
    "encode_batch",
    "encode_batches",
    "encode_with_ids",
    "open_table",
    "write_table",
]
