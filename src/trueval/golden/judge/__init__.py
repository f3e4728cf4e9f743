"""Judges: who grades and orders passages, the calls that ask them, and the ledger by which nothing is asked twice."""
