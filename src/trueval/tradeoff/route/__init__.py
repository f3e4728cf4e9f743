"""Routing: which queries get more candidates, by rules learned from their signals."""
