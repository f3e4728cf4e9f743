"""Texts of documents and queries: their files in a collection, and storage for more texts than fit in memory.

text_row is one text with its position; text_files finds the files; text_rows reads them one after another, JSON lines
and parquet alike; text_mapping collects them, in memory if they are few and else in a file (text_store); lazy_list
makes lists whose items are computed on access.
"""
