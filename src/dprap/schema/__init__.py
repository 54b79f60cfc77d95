"""What is publicly known about a table: columns, types, domains, bins, null policy and constraints."""

from dprap.schema.column import Boolean, Categorical
from dprap.schema.constraints import CodeConstraint, DeterminedCodes, Determines, Forbid, ForbiddenCodes
from dprap.schema.numeric import Integer, Number
from dprap.schema.schema import Column, Schema
from dprap.schema.temporal import Date, Datetime

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
