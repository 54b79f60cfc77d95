"""The paper's experiments and comparisons with other methods.

NOT PRIVATE: noise is seeded and errors are exact.
"""

__version__ = "0.1.0"
