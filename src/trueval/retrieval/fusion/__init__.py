"""Fusion: combine several ranked lists of the same queries, with exact sums. Verb: fuse."""
