"""Power: the differences that a number of queries can separate, and the queries that a difference needs.

Verb: power.
"""
