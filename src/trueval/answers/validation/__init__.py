"""Validation: whether what changes nothing of what an answer says moves a judge of claims. Verb: stress_answers."""
