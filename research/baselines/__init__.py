"""Baselines: other ways to rank by a judge, which a refinement must beat."""
