"""Baselines: published ways to rank with a judge, to compare a refinement with."""
