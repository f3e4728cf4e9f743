"""Validation: agreement with people, robustness to adversarial passages, and whether conclusions survive a judge's
labels. Verbs: agree, stress.
"""
