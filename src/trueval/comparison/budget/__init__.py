"""The budget of doubt: what a mean or a difference varies by, and what shortens its interval for least.

Verb: budget.
"""
