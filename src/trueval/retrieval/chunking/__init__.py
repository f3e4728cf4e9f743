"""Chunking: documents cut into passages at sentence ends. Verb: chunk."""
