"""Correction of a judge's labels by people's: which labels count, sampling designs, corrected values, and audit plans.

Verb: correct.
"""
