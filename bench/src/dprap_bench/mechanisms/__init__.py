"""Baselines as plug-in mechanisms: like dprap's own they see a curator and nothing else."""
