"""Computations shared by measures: sums and probabilities over the orders of a tie group."""
