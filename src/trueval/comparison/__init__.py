"""Decisions between systems: intervals, tests, win probability over tie orders, verdicts."""
