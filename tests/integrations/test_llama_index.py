"""Retrievers of LlamaIndex, asked live: the real package, its own in-memory index."""

from __future__ import annotations

import pytest

llama_index = pytest.importorskip("llama_index.core", reason="llama-index-core is not installed: make integrations")
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.schema import TextNode

from trueval.retrieval.live.live import retrieve_live

QUERIES = {"q1": "what is lift?", "q2": "how do wings stall?"}


def test_nodes_with_scores_are_the_run() -> None:
    """Its mock embedder gives every text the same vector, so that all of them tie."""
    nodes = [TextNode(id_=f"d{place}", text=f"passage {place}") for place in range(9)]
    index = VectorStoreIndex(nodes, embed_model=MockEmbedding(embed_dim=4))
    retriever = index.as_retriever(similarity_top_k=5)
    found = retrieve_live(retriever, QUERIES, 5, judgments={"q1": {"d0": 1}})
    for query, text in QUERIES.items():
        wanted = [(each.node_id, each.score) for each in retriever.retrieve(text)]
        assert found.run.frame.filter(query_id=query).select("doc_id", "score").rows() == wanted
    assert found.result.lists.tied_fraction == 1.0
    assert found.result.lists.may_end_inside == 2
