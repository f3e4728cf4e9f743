"""Latency: calls timed one at a time and under load, percentiles with intervals, and machine jitter."""
