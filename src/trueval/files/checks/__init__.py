"""Checks of a table after reading, whatever its format.

duplicates finds a document twice in a query; ids remarks on those that look alike or hold what cannot be seen;
rank_order on ranks that contradict scores.
"""
