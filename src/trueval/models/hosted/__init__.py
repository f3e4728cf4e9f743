"""Hosted models: embedders and rerankers that run elsewhere, reached over the network and paid for."""
