"""Retrievers of LangChain, asked live, and their documents: the real package, its own in-memory store."""

from __future__ import annotations

import pytest

langchain_core = pytest.importorskip("langchain_core", reason="langchain-core is not installed: make integrations")
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from trueval.retrieval.live.live import retrieve_live

QUERIES = {"q1": "what is lift?", "q2": "how do wings stall?"}


@pytest.fixture
def store() -> InMemoryVectorStore:
    found = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
    found.add_documents([Document(id=f"d{place}", page_content=f"passage {place}") for place in range(9)])
    return found


def test_a_retriever_of_a_store_is_told_k_and_lists_ids(store: InMemoryVectorStore) -> None:
    found = retrieve_live(store.as_retriever(), QUERIES, 5, repeats=2)
    for query, text in QUERIES.items():
        wanted = [document.id for document in store.similarity_search(text, k=5)]
        assert found.run.frame.filter(query_id=query)["doc_id"].to_list() == wanted
    assert found.result.changes is not None
    assert (found.result.changes.by_ties, found.result.changes.otherwise) == (0, 0)
    assert any("gives no scores" in note for note in found.result.notes)


def test_documents_with_scores_are_scored(store: InMemoryVectorStore) -> None:
    found = retrieve_live(store.similarity_search_with_score, QUERIES, 5)
    for query, text in QUERIES.items():
        wanted = [(document.id, score) for document, score in store.similarity_search_with_score(text, k=5)]
        assert found.run.frame.filter(query_id=query).select("doc_id", "score").rows() == wanted


def test_a_chain_is_a_retriever(store: InMemoryVectorStore) -> None:
    chain = RunnableLambda(str.upper) | store.as_retriever(search_kwargs={"k": 3})
    found = retrieve_live(chain, QUERIES, 5)
    assert found.result.lists.short == 2
    assert any("cannot be told how many documents" in note for note in found.result.notes)
