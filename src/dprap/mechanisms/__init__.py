"""Mechanisms: what is measured, in which order and for how much. They see a curator and nothing else."""

DEFAULT_METHOD = "adaptive"
"""The method unless another is named. It stands here because the command line must know it without loading any method."""
