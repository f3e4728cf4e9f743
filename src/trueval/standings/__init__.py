"""Standings: the one statistic behind every measure, and how it is counted."""
