from tests.plugins.installing import install

__all__ = ["install"]
