"""Fusion: several ranked lists of the same queries made one, with exact sums. Verb: fuse."""
