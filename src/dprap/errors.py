"""Every error dprap raises on purpose: one line that names the thing, says what is wrong and what
to do.

Messages may quote public things (column names, domain sizes, limits) and never a private value.
"""

from collections.abc import Iterable

# So many names that there are stand in a message about one that there is not.
_LISTED = 12


def one_line(text: str) -> str:
    r"""A text that is safe to show: names from a file may hold line breaks, or signs that command a
    terminal.

    >>> print(one_line("column 'a\nb' \x1b[2J"))
    column 'a\nb' \x1b[2J
    """
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )


def meant(name: str, known: Iterable[str], what: str) -> str:
    """What may have been meant by a name that there is not: a near one, or the first of all.

    >>> meant("sexx", ["age", "sex"], "Its columns are")
    "Did you mean 'sex'?"
    >>> meant("Größe", ["age", "sex"], "Its columns are")
    'Its columns are: age, sex.'
    """
    import difflib  # only where something is wrong

    names = list(known)
    folded = {each.casefold(): each for each in names}
    near = difflib.get_close_matches(name.casefold(), folded, n=1)
    if near:
        return f"Did you mean {folded[near[0]]!r}?"
    return f"{what}: {', '.join(names[:_LISTED])}{', …' if len(names) > _LISTED else ''}."


class DprapError(Exception):
    """Base of all errors meant for the user; the command line prints them without a traceback."""

    def __str__(self) -> str:
        return one_line(super().__str__())


class SchemaError(DprapError):
    """The schema is malformed, still a draft, or does not describe the table."""


class DataError(DprapError):
    """The private table breaks its schema.

    For the steward's eyes: raised before anything is spent.
    """


class WorkloadError(DprapError):
    """A workload, marginal or query that the schema cannot carry."""


class BudgetError(DprapError):
    """Privacy parameters that make no sense, or a charge that the budget or the ledger's cap
    refuses.
    """


class LedgerError(DprapError):
    """A ledger that is damaged, held by another process, or of another run."""


class SettingsError(DprapError):
    """A setting of a mechanism or of the command line that cannot be carried out."""


class ImpossibleTableError(SettingsError):
    """Every synthetic record that was drawn breaks a constraint of the schema, so that there is no
    table.
    """


class NotFittedError(DprapError, ValueError, AttributeError):
    """A Synthesizer was asked for rows before it was fitted; a ValueError too, as scikit-learn's
    is.
    """
