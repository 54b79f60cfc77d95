"""Relaxed data sets: evaluation, projection and rounding of rows that are product distributions."""
