"""Hosted models: embedders and rerankers of paid services, called over the network."""
