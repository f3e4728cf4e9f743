"""What a table is checked for once it is read, whatever its format.

duplicates finds a document twice in a query; ids remarks on those that look alike or hold what cannot be seen;
rank_order on ranks that contradict scores.
"""
