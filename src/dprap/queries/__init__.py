"""Query families: which statistics a user may ask for."""

from dprap.queries.marginal import Marginal

__all__ = ["Marginal"]
