"""Retrieval spans: the question, the documents and the end of a span that searched or reranked.

OpenInference    openinference.span.kind RETRIEVER or RERANKER, input.value, retrieval.documents.N.document.id
OpenTelemetry    gen_ai.retrieval.query.text, gen_ai.retrieval.documents [{"id": "d7", "score": 0.83}]
MLflow           mlflow.spanType, mlflow.spanInputs, mlflow.spanOutputs
Langfuse         type RETRIEVER, input, output
LangSmith        run_type retriever, inputs, outputs
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple

from trueval.files.json.jsonl_pairs import QUERY_KEYS, as_id
from trueval.files.json.log_keys import LIST_KEYS, METADATA_KEYS, TEXT_KEYS, LogEntry, read_entry
from trueval.files.memory.logs import plain
from trueval.files.traces.span_values import attributes_of, decode_text, look_up

KINDS: Final = frozenset(("RETRIEVER", "RERANKER", "RETRIEVAL"))
KIND_KEYS: Final = ("openinference.span.kind", "mlflow.spanType", "gen_ai.operation.name", "langfuse.observation.type")
OWN_KIND_KEYS: Final = ("span_kind", "span_type", "type", "run_type")
DOCUMENTS: Final = ("reranker.output_documents", "retrieval.documents", "gen_ai.retrieval.documents")
OUTPUTS: Final = ("mlflow.spanOutputs", "output.value")
OWN_OUTPUTS: Final = ("output", "outputs")
QUESTIONS: Final = ("gen_ai.retrieval.query.text", "reranker.query", "input.value", "mlflow.spanInputs")
OWN_QUESTIONS: Final = ("input", "inputs")
INSIDE_A_QUESTION: Final = (*QUERY_KEYS, "query_str", "str_or_query_bundle", "text")
QUERY_IDS: Final = ("query_id", "qid", "question_id")
ENDS: Final = ("end_time", "endTimeUnixNano", "end_time_unix_nano", "end_time_ns", "endTime", "end_timestamp")
PARTS: Final = ("id", "score", "content", "metadata")
MOST_EXACT: Final = 2**53  # a larger integer may equal another one as float64


class RetrievalSpan(NamedTuple):
    """What a span of a retriever or reranker says.

    Attributes:
        name: of the span.
        question: text of the query; "" where the span has none.
        query_id: id of the query that its metadata name; "" for none.
        end: when it ended, as a text that sorts; "" where it does not say.
        documents: as the span has them; None if it names no list.
    """

    name: str
    question: str
    query_id: str
    end: str
    documents: list[Any] | None


class PlainEntries(NamedTuple):
    """The documents of a list, best first.

    Attributes:
        ids: different texts.
        scores: finite, and integers only where a float holds them exactly.
    """

    ids: list[str]
    scores: list[float]


def read_span(span: Mapping[str, object]) -> RetrievalSpan | None:
    """What a span says; None for one that neither searched nor reranked."""
    attributes = attributes_of(span)
    kinds = (look_up(attributes, name) for name in KIND_KEYS)
    kind = next((each for each in (*kinds, *map(span.get, OWN_KIND_KEYS)) if isinstance(each, str)), "")
    is_retrieval = kind.strip('"').upper() in KINDS
    documents = _documents(attributes, span, is_retrieval=is_retrieval)
    if documents is None and not is_retrieval:
        return None
    end = next((value for name in ENDS if (value := span.get(name)) is not None), None)
    return RetrievalSpan(
        str(span.get("name", "")), _question(attributes, span), _query_id(attributes, span), _sortable(end), documents
    )


def entry_of(document: object) -> LogEntry | None:
    """A document of a span as an entry of a log; None for one without id and text."""
    if not isinstance(document, dict):
        return read_entry(plain(document), "documents")
    inner = document.get("document")
    found = inner if isinstance(inner, dict) else document
    doc_id, score = found.get("id"), found.get("score")
    if doc_id is None:
        doc_id = document.get("document.id")
    if score is None:
        score = document.get("document.score", document.get("score"))
    if type(doc_id) is str and doc_id and type(score) in (float, int):
        return LogEntry(doc_id, repr(score))  # in a tenth of the time
    content = next((found[name] for name in TEXT_KEYS if isinstance(found.get(name), str)), None)
    metadata = next((found[name] for name in METADATA_KEYS if found.get(name) is not None), None)
    item = {
        **{name: value for name, value in found.items() if not name.startswith("document.")},
        "id": doc_id,
        "score": score,
        "content": document.get("document.content") if content is None else content,
        "metadata": decode_text(document.get("document.metadata") if metadata is None else metadata),
    }
    return read_entry(plain({name: value for name, value in item.items() if value is not None}), "documents")


def plain_entries(documents: Sequence[Any]) -> PlainEntries | None:
    """The ids and scores of documents that have both and no surprise, as `entry_of` reads them; None for others."""
    try:
        inner = documents
        if documents and "document" in documents[0]:
            inner = [document["document"] for document in documents if type(document) is dict]
        ids, scores = [each["id"] for each in inner], [each["score"] for each in inner]
    except (KeyError, TypeError, IndexError):
        return None
    if not ids:
        return None if documents else PlainEntries([], [])
    if not (
        set(map(type, inner)) == {dict} and set(map(type, ids)) == {str} and set(map(type, scores)) <= {float, int}
    ):
        return None
    if (
        len(set(ids)) < len(documents)
        or "" in ids
        or (inner is documents and any("document" in each for each in inner))
    ):
        return None
    is_finite = math.isfinite(sum(scores))  # which NaN anywhere is not
    return PlainEntries(ids, scores) if is_finite and -MOST_EXACT < min(scores) <= max(scores) < MOST_EXACT else None


def _documents(attributes: Mapping[str, object], span: Mapping[str, object], *, is_retrieval: bool) -> list[Any] | None:
    found = next((each for path in DOCUMENTS if (each := _read_list(attributes, path)) is not None), None)
    if found is None:
        return _output(attributes, span) if is_retrieval else None
    if found and is_retrieval and not _has_id(found[0]):  # OpenInference leaves out the ids of LangChain
        output = _output(attributes, span)
        return output if output is not None and len(output) == len(found) else found
    return found


def _read_list(attributes: Mapping[str, object], path: str) -> list[Any] | None:
    found = decode_text(look_up(attributes, path))
    return found if isinstance(found, list) else _read_numbered_documents(attributes, path) or None


def _has_id(document: object) -> bool:
    if not isinstance(document, dict):
        return True
    inner = document.get("document")
    found = inner if isinstance(inner, dict) else document
    return found.get("id", document.get("document.id")) is not None


def _output(attributes: Mapping[str, object], span: Mapping[str, object]) -> list[object] | None:
    """The list in what a span gave back."""
    for value in (*(look_up(attributes, name) for name in OUTPUTS), *map(span.get, OWN_OUTPUTS)):
        found = decode_text(value)
        if isinstance(found, Mapping):
            found = next((found[key] for key in LIST_KEYS if isinstance(found.get(key), list)), None)
        if isinstance(found, list):
            return found
    return None


def _read_numbered_documents(attributes: Mapping[str, object], path: str) -> list[dict[str, object]]:
    """Documents whose parts are attributes of their own, PATH.0.document.id and so on."""
    found: list[dict[str, Any]] = []
    while True:
        keys = _keys(path, len(found))
        doc_id, score = attributes.get(keys["id"]), attributes.get(keys["score"])
        if type(doc_id) is str and doc_id and type(score) is float:  # all that counts, as `entry_of` says
            found.append({"id": doc_id, "score": score})
            continue
        document = {name: attributes[key] for name, key in keys.items() if key in attributes}
        if not document:
            return found
        found.append(document)


@lru_cache(4096)
def _keys(path: str, place: int) -> dict[str, str]:
    """The attributes of the parts of a document."""
    return {name: f"{path}.{place}.document.{name}" for name in PARTS}


def _question(attributes: Mapping[str, object], span: Mapping[str, object]) -> str:
    values = (*(look_up(attributes, name) for name in QUESTIONS), *map(span.get, OWN_QUESTIONS))
    return next((text for value in values if value is not None and (text := _text(decode_text(value)))), "")


def _text(value: object) -> str:
    """The question in what a span was given: a text, or an object that holds it."""
    if isinstance(value, Mapping):
        inner = (decode_text(value[name]) for name in INSIDE_A_QUESTION if value.get(name) is not None)
        return next((text for each in inner if (text := _text(each))), "")
    return value if isinstance(value, str) else ""


def _query_id(attributes: Mapping[str, object], span: Mapping[str, object]) -> str:
    """The id of the query in the metadata of a span, where a program that traces an evaluation writes it."""
    metadata = (decode_text(each) for each in (look_up(attributes, "metadata"), span.get("metadata")))
    for holder in (attributes, *metadata):
        for name in QUERY_IDS if isinstance(holder, Mapping) else ():
            value = holder.get(name)
            if value is not None and (found := as_id(plain(value))) is not None:
                return str(found)
    return ""


def _sortable(end: object) -> str:
    if isinstance(end, datetime):
        return end.isoformat()
    return "" if end is None else str(end).zfill(20)
