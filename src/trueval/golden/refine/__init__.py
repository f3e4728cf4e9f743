"""Refinement: the best documents of a query in the order of a noisy judge, with few calls. Verb: refine."""
