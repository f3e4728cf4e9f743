"""Evaluation: the values of measures for a run, exact under ties."""
