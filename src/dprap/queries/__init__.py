"""Query families: which statistics a user may ask for."""

from dprap.queries.coarse import Coarse, Groups
from dprap.queries.custom import GRID, Custom
from dprap.queries.marginal import Marginal
from dprap.queries.prefix import Prefix
from dprap.queries.query import CellFamily, Family, Partition, Query
from dprap.queries.threshold import Threshold

__all__ = [
    "GRID",
    "CellFamily",
    "Coarse",
    "Custom",
    "Family",
    "Groups",
    "Marginal",
    "Partition",
    "Prefix",
    "Query",
    "Threshold",
]
