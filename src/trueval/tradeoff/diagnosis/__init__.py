"""Diagnosis: where quality is lost, what tuning recovers, and which queries lose it."""
