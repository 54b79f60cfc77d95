"""Query families: which statistics a user may ask for.

query        one query of a family, and the kinds of families
marginal     every combination of values of k columns
code_groups  which codes of a column are counted together
plain        the one plain form of every family
threshold    at least t of k values
range        intervals along ordered columns, all prefixes among them
halfspace    random linear thresholds and prefixes of numeric columns, by the values of others
custom       functions of the user's own, from a row to values in [0, 1]
custom_values  their values at cells, on records and on probes
"""

from dprap.queries.code_groups import Groups
from dprap.queries.custom import Custom
from dprap.queries.custom_values import GRID
from dprap.queries.halfspace import Halfspace
from dprap.queries.marginal import Marginal
from dprap.queries.query import CellFamily, Family, Query, as_family, from_cells
from dprap.queries.range import Range
from dprap.queries.threshold import Threshold

__all__ = [
    "GRID",
    "CellFamily",
    "Custom",
    "Family",
    "Groups",
    "Halfspace",
    "Marginal",
    "Query",
    "Range",
    "Threshold",
    "as_family",
    "from_cells",
]
