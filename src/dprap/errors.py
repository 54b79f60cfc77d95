"""Every error dprap raises on purpose: one line that names the thing, says what is wrong and what to do.

Messages may quote public things (column names, domain sizes, limits) and never a private value.
"""


class DprapError(Exception):
    """Base of all errors meant for the user; the command line prints them without a traceback."""


class SchemaError(DprapError):
    """The schema is malformed, still a draft, or does not describe the table."""


class DataError(DprapError):
    """The private table breaks its schema. For the steward's eyes: raised before anything is spent."""


class WorkloadError(DprapError):
    """A workload, marginal or query that the schema cannot carry."""


class BudgetError(DprapError):
    """Privacy parameters that make no sense, or a charge that the budget or the ledger's cap refuses."""


class LedgerError(DprapError):
    """A ledger that is damaged, held by another process, or of another run."""


class SettingsError(DprapError):
    """A setting of a mechanism or of the command line that cannot be carried out."""
