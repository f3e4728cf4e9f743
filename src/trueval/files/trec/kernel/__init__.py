"""The compiled reader of regular TREC text; optional.

scan.py asks for memory and hands over parts of the text; _scan.c is the pass over lines, with _fields.h (characters),
_decimals.h (numbers) and _columns.h (what polars takes without a copy).
"""
