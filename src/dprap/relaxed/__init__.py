"""Relaxed data sets: evaluation, projection and rounding of rows that are product distributions."""

from dprap.relaxed.dataset import RelaxedDataset, initialise, shard_rows, uniform_weights
from dprap.relaxed.evaluate import answers, cell_table
from dprap.relaxed.projection import DivergedError, ProjectionResult, ProjectionSettings, project
from dprap.relaxed.rounding import round_rows
from dprap.relaxed.simplex import softmax, sparsemax

__all__ = [
    "DivergedError",
    "ProjectionResult",
    "ProjectionSettings",
    "RelaxedDataset",
    "answers",
    "cell_table",
    "initialise",
    "project",
    "round_rows",
    "shard_rows",
    "softmax",
    "sparsemax",
    "uniform_weights",
]
