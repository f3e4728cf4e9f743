"""Evaluation: what every measure of a run is worth under ties."""
