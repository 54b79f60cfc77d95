"""Query families: which statistics a user may ask for."""

from dprap.queries.code_groups import Groups
from dprap.queries.custom import GRID, Custom
from dprap.queries.marginal import Marginal
from dprap.queries.prefix import Prefix
from dprap.queries.query import CellFamily, Family, Query
from dprap.queries.threshold import Threshold

__all__ = [
    "GRID",
    "CellFamily",
    "Custom",
    "Family",
    "Groups",
    "Marginal",
    "Prefix",
    "Query",
    "Threshold",
]
