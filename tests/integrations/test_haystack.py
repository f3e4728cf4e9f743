"""Retrievers of Haystack, asked live: the real package, its own in-memory store."""

from __future__ import annotations

import pytest

haystack = pytest.importorskip("haystack", reason="haystack-ai is not installed: make integrations")
from haystack import Document
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from trueval.errors import PolicyError
from trueval.retrieval.live.live import retrieve_live

QUERIES = {"q1": "wings lift", "q2": "stall"}


def test_documents_with_scores_are_the_run() -> None:
    store = InMemoryDocumentStore()
    texts = ["wings lift", "wings lift", "wings stall", "a stall", "rain"]
    store.write_documents([Document(id=f"d{place}", content=text) for place, text in enumerate(texts)])
    retriever = InMemoryBM25Retriever(store)
    found = retrieve_live(retriever, QUERIES, 3)
    for query, text in QUERIES.items():
        wanted = [(each.id, each.score) for each in retriever.run(query=text, top_k=3)["documents"]]
        assert found.run.frame.filter(query_id=query).select("doc_id", "score").rows() == wanted
    assert found.result.lists.tied_fraction > 0
    with pytest.raises(PolicyError, match=r"takes query_embedding.*Give a function of the text"):
        retrieve_live(InMemoryEmbeddingRetriever(store), QUERIES, 3)
