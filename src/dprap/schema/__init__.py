"""What is publicly known about a table: columns, types, domains, bins, null policy and constraints."""

from dprap.schema.columns import Boolean, Categorical, Column, Date, Datetime, Integer, Number
from dprap.schema.constraints import CodeConstraint, DeterminedCodes, Determines, Forbid, ForbiddenCodes
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
