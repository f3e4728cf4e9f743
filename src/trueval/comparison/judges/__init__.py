"""Judge-proof verdicts: whether a difference holds for other judges, and for every judge with bounded errors.

Verbs: judge_verdicts, bounded_verdicts.
"""
