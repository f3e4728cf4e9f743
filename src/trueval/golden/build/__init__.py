"""Building a golden set, S1 to S6: pools, grades, pruning, refinement; its plan, stages and estimate.

Verbs: build, grade, refine_pools.
"""
