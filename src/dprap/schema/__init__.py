"""What is publicly known about a table: columns, types, domains, bins, null policy and constraints.

schema       the noun: read, written, changed and asked
declared     its settings, and what is refused
file_layout  how CSV and Excel files of the table are laid out
columns/     the column types: one class a file
constraints  what cannot occur, declared on values
code_constraints  the same in codes: broken records, impossible cells
relations    values that keep orders and sums, drawn inside their bins
discover     columns whose domain a run is to find
encodings    character encodings in which records do not depend on one another
values       what one value is, whichever library brought it
texts        one text, read strictly
digits       arrays of plain texts, read by whole-array operations
arrays       whole Arrow arrays as NumPy values
bins         edges of bins
value_sets   sets of raw values of one column
files        schema files, read strictly
number_format  how numbers are written as text
review       the review of a draft as an act
review_record  notes on a draft, and who vouches for what
imports/     what is already known elsewhere
exports      schemas for other tools
messages     one-line messages from the errors of pydantic
"""

from dprap.schema.code_constraints import CodeConstraint, DeterminedCodes, ForbiddenCodes
from dprap.schema.columns import Boolean, Categorical, Column, Date, Datetime, Integer, Number
from dprap.schema.constraints import Determines, Forbid
from dprap.schema.schema import Schema

__all__ = [
    "Boolean",
    "Categorical",
    "CodeConstraint",
    "Column",
    "Date",
    "Datetime",
    "DeterminedCodes",
    "Determines",
    "Forbid",
    "ForbiddenCodes",
    "Integer",
    "Number",
    "Schema",
]
