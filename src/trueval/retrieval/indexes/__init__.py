"""Indexes: in-process and engine indexes that a spec can name; trueval.retrieval.indexes.index defines the protocol."""
