"""Tiles: the scores of some queries and adjacent documents, by NumPy and by torch."""
