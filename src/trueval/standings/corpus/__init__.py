"""Standings of a whole corpus: scores are counted tile by tile, and no list of documents is kept."""
