"""Standings: the sufficient statistic of every measure, and how it is counted."""
