"""Standings of a whole corpus: scores come in tiles, are counted, and are gone; no list of documents is kept."""
