"""Query families: which statistics a user may ask for."""

from dprap.queries.custom import GRID, Custom
from dprap.queries.family import Family, LinearFamily
from dprap.queries.marginal import Marginal
from dprap.queries.prefix import Prefix
from dprap.queries.query import CellFamily, Query
from dprap.queries.threshold import Threshold

__all__ = ["GRID", "CellFamily", "Custom", "Family", "LinearFamily", "Marginal", "Prefix", "Query", "Threshold"]
