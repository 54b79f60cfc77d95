"""The column types: one class a file, which answers for all that depends on the type.

| module | what it holds |
|---|---|
| `base` | what every column declares, and the questions that each type answers |
| `listed` | what columns with a list of values have in common |
| `ordered` | values with an order: how they are placed in bins, refined and drawn |
| `interval_levels` | nested intervals of points, along which a run refines a column |
| `binned` | what columns with bins have in common, as constraints and questions see them |
| `shape` | the fine shape inside bins: histograms, rounding habits |
| `numeric` | what integers and numbers have in common |
| `calendar` | what dates and datetimes have in common |
| `categorical`, `boolean`, `integer`, `number`, `date`, `datetime` | the types |
"""

from typing import get_args

from dprap.schema.columns.boolean import Boolean
from dprap.schema.columns.categorical import Categorical
from dprap.schema.columns.date import Date
from dprap.schema.columns.datetime import Datetime
from dprap.schema.columns.integer import Integer
from dprap.schema.columns.number import Number

Column = Categorical | Boolean | Integer | Number | Date | Datetime
"""Any column type; `type` in the file says which."""

TYPE_NAMES: tuple[str, ...] = tuple(
    get_args(each.model_fields["type"].annotation)[0] for each in get_args(Column)
)
"""What `type` may be."""

__all__ = [
    "TYPE_NAMES",
    "Boolean",
    "Categorical",
    "Column",
    "Date",
    "Datetime",
    "Integer",
    "Number",
]
