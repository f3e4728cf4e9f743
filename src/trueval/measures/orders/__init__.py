"""Shared by families of measures: sums and probabilities over the orders of a tie group."""
