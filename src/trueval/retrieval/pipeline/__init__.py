"""Pipelines: embed, retrieve, fuse, deduplicate, boost and rerank, with the cached candidates of every stage.

Verb: retrieve.
"""
