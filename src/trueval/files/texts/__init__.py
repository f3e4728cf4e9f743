"""Texts of documents and queries: where a collection keeps them, and how many of them are held without memory.

row is one text with its place; parts finds the files; rows reads them one after another, lines and parquet alike;
gather holds them, in memory where they are few and else in a file (store); sequence makes lists that hold nothing.
"""
