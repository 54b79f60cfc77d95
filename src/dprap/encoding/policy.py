"""What a column's declared policy gives to values that have no place of their own: a code, or an
error.

Every engine asks here, so that all follow one policy and say the same. Messages name the column and
the kind of problem, never a value, a row or a count.
"""

from __future__ import annotations

from dprap.errors import DataError
from dprap.schema import Column
from dprap.schema.values import Unplaced


def unplaced_code(name: str, column: Column, reason: Unplaced) -> int:
    """The code of a value without a position; raises DataError where the column's policy has
    none.
    """
    return {
        Unplaced.MISSING: missing_code,
        Unplaced.UNREADABLE: unreadable_code,
        Unplaced.OUTSIDE: outside_code,
    }[reason](name, column)


def missing_code(name: str, column: Column) -> int:
    """The code of null and NaN."""
    if column.null_code is not None:
        return column.null_code
    if column.policy == "other" and column.other_code is not None:
        return column.other_code
    raise DataError(
        f"column {name!r}: has missing values (null or NaN). Declare nullable: true or fill them."
    )


def unreadable_code(name: str, column: Column) -> int:
    """The code of a value that is not of the column's type, such as letters where a number is
    declared.
    """
    if column.policy == "other" and column.other_code is not None:
        return column.other_code
    if column.policy != "error" and column.null_code is not None:
        return column.null_code
    raise DataError(
        f"column {name!r}: has values that {column.not_readable}. Correct them, list them in"
        " null_values, or declare nullable: true with out_of_domain: null."
    )


def outside_code(name: str, column: Column) -> int:
    """The code of a value that is of the right type and not in the domain, unless the policy moves
    it inside.
    """
    if column.policy == "other" and column.other_code is not None:
        return column.other_code
    if column.policy == "null" and column.null_code is not None:
        return column.null_code
    choices = " or ".join(policy for policy in column.policies if policy != "error")
    raise DataError(
        f"column {name!r}: has values {column.not_in_domain}. Extend the domain or declare"
        f" out_of_domain: {choices}."
    )
