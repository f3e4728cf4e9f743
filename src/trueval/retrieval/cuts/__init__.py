"""Cuts: contexts that end inside a tie group, the randomness this causes, and how ties propagate.

Verb: cuts.
"""
