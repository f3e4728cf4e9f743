"""Refinement: the best documents of a query in the order of a noisy judge, for few of its calls. Verb: refine."""
