"""Checks of a table after reading, whatever its format.

duplicates finds repeated documents of a query; ids reports ids that look alike or contain invisible characters;
rank_order reports ranks that contradict scores.
"""
