"""JSON: one value for a whole file, or an object on each line.

document reads the former, jsonl_rows the latter; jsonl_pairs reads the small files that accompany runs and judgments,
which may also have an id and a value on each line; key_lines locates a key in a text, for error messages.
"""
