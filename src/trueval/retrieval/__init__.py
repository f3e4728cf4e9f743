"""Retrieval: runs made from a corpus, by indexes and fusion, with scores exact enough to show their ties."""
