"""Mechanisms: what is measured, in which order and for how much. They see a curator and nothing else."""
