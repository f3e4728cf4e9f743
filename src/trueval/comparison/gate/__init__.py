"""Gates: check runs against limits and baselines, and whether there are enough queries to decide.

Verbs: gate, self_test, published.
"""
