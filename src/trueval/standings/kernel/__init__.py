"""The compiled kernel that counts scores passing bounds; optional.

passing.py allocates memory and prepares the bounds; _passing.c loops over the scores, with _row.h per format.
"""
