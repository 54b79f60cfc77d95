"""The embedded example table: public, made up, of any size."""

from dprap.datasets.example import example, example_batches, example_schema

__all__ = ["example", "example_batches", "example_schema"]
