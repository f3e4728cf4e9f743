"""People's labels correct a judge's: which labels count, designs of samples, corrected values, and audits to plan.

Verb: correct.
"""
