"""Cuts: what the end of a context leaves to chance where it falls inside a tie group, and how ties propagate.

Verb: cuts.
"""
