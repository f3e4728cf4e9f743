"""The compiled reader of regular TREC text; optional.

scan.py allocates memory and passes parts of the text; _scan.c is the pass over lines, with _fields.h (characters),
_decimals.h (numbers) and _columns.h (the zero-copy columns for polars).
"""
