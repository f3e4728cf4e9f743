"""Retrieval: runs made from a corpus, by indexes and by fusion, with scores exact enough that their ties show."""
