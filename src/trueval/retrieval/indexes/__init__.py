"""Indexes of this process and of engines: what a spec can name (trueval.retrieval.index has the role)."""
