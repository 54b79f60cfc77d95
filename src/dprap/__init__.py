"""Publish statistics and a synthetic table under differential privacy."""

from dprap.version import __version__

__all__ = ["__version__"]
