"""Query families: which statistics a user may ask for.

query        one query of a family, and the kinds of families
marginal     every combination of values of k columns
code_groups  which codes of a column are counted together
plain        the one plain form of every family
threshold    at least t of k values
prefix       cumulative counts along ordered columns
custom       functions of the user's own, from a row to values in [0, 1]
"""

from dprap.queries.code_groups import Groups
from dprap.queries.custom import GRID, Custom
from dprap.queries.marginal import Marginal
from dprap.queries.prefix import Prefix
from dprap.queries.query import CellFamily, Family, Query, as_family
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
    "as_family",
]
