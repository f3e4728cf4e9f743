"""The compiled counts of scores that pass bounds; optional.

passing.py asks for memory and says which bounds; _passing.c goes over the scores, with _row.h for each format.
"""
