from tests.plugins.installing import install

__all__ = ["install"]

collect_ignore = ["dprap-pairs"]  # a project of its own, which the tests install
