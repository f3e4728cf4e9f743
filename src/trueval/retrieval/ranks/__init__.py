"""Ranks: lists of documents as numbers, which fusion, boosts and cuts share."""
