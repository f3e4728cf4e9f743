"""Indexes of this process and of engines: what a spec can name (trueval.retrieval.indexes.index has the role)."""
