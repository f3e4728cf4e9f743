"""Traces that the real packages make: OpenInference on LangChain, exported by the SDK of OpenTelemetry."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "openinference.instrumentation.langchain", reason="openinference is not installed: make integrations"
)
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
from openinference.instrumentation import using_metadata
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

from trueval.run import Run

QUERIES = {"q1": "what is lift?", "q2": "how do wings stall?"}


@pytest.mark.parametrize("indent", [None, 4])
def test_a_trace_is_read_back_to_what_was_retrieved(tmp_path: Path, indent: int | None) -> None:
    written = io.StringIO()
    provider = TracerProvider()
    exporter = ConsoleSpanExporter(out=written, formatter=lambda span: span.to_json(indent=indent) + "\n")
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
    store.add_documents([Document(id=f"d{place}", page_content=f"passage {place}") for place in range(9)])
    retriever = store.as_retriever(search_kwargs={"k": 5})
    instrumentor = LangChainInstrumentor()
    instrumentor.instrument(tracer_provider=provider, skip_dep_check=True)
    try:
        for query, text in QUERIES.items():
            with using_metadata({"query_id": query}):
                retriever.invoke(text)
    finally:
        instrumentor.uninstrument()
    path = tmp_path / "traces.jsonl"
    path.write_text(written.getvalue(), encoding="utf-8")
    run = Run.read(path)
    wanted = {query: [each.id for each in store.similarity_search(text, k=5)] for query, text in QUERIES.items()}
    assert {query: run.frame.filter(query_id=query)["doc_id"].to_list() for query in QUERIES} == wanted


def test_spans_of_gen_ai_are_read_back(tmp_path: Path) -> None:
    written = io.StringIO()
    provider = TracerProvider()
    provider.add_span_processor(
        SimpleSpanProcessor(ConsoleSpanExporter(out=written, formatter=lambda span: span.to_json(indent=None) + "\n"))
    )
    listed: list[dict[str, Any]] = [{"id": "d7", "score": 0.83}, {"id": "d2", "score": 0.83}]
    with provider.get_tracer("mine").start_as_current_span("retrieval store") as span:
        span.set_attribute("gen_ai.operation.name", "retrieval")
        span.set_attribute("gen_ai.retrieval.query.text", QUERIES["q1"])
        span.set_attribute("gen_ai.retrieval.documents", json.dumps(listed))
    path = tmp_path / "traces.jsonl"
    path.write_text(written.getvalue(), encoding="utf-8")
    rows = Run.read(path).frame.select("query_id", "doc_id", "score").rows()
    assert rows == [(QUERIES["q1"], each["id"], each["score"]) for each in listed]
