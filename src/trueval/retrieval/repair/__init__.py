"""Repair of the first K: which documents of a run must be scored again in float32, and those alone."""
