"""Key names in logs of RAG systems: our own, and those of LangChain, LlamaIndex, Ragas and Haystack.

A row of a log names a query, the documents that were retrieved for it, and perhaps those that should have been. A
document is an id, an id with a score, or an object that contains an id somewhere::

    LangChain    {"input": "...", "context": [{"id": null, "page_content": "...", "metadata": {"id": "d7"}}]}
    LlamaIndex   {"query": "...", "source_nodes": [{"node": {"id_": "d7", "metadata": {}}, "score": 0.83}]}
                 {"query": "...", "retrieved_ids": ["d7"], "expected_ids": ["d2"]}
    Ragas        {"user_input": "...", "retrieved_context_ids": ["d7"], "reference_context_ids": ["d2"]}
                 {"user_input": "...", "retrieved_contexts": ["text"], "reference_contexts": ["text"]}
    Haystack     {"query": "...", "documents": [{"id": "d7", "content": "...", "score": 0.83, "meta": {}}]}
"""

from __future__ import annotations

import hashlib
import reprlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from trueval.errors import Place
from trueval.files.columns import find_columns
from trueval.files.frame import Kind, value_column
from trueval.files.json.jsonl_pairs import DOC_KEYS, QUERY_KEYS, as_id
from trueval.files.json.jsonl_rows import Literal

# The first key present counts: ids rather than texts.
LIST_KEYS = (
    *("ids", "doc_ids", "retrieved_ids", "retrieved_doc_ids", "retrieved_chunk_ids", "retrieved_context_ids"),
    *("retrieved", "contexts", "documents", "retrieved_documents", "source_documents", "source_nodes", "nodes"),
    *("context", "retrieved_contexts"),
)
GOLD_KEYS = (
    *("gold", "gold_ids", "relevant_ids", "relevant_doc_ids", "relevant_chunk_ids", "expected_ids"),
    *("reference_context_ids", "reference_contexts"),
)
TEXT_LISTS = frozenset({"retrieved_contexts", "reference_contexts"})
# Lists under these keys contain ids in some logs and texts in others; a string of this many words is a text.
ID_OR_TEXT = frozenset({"retrieved", "contexts", "documents", "retrieved_documents", "context"})
WORDS_OF_A_TEXT = 8
OWN_ID_KEYS = (*DOC_KEYS, "node_id", "id_", "_id")
METADATA_KEYS = ("metadata", "meta", "extra_info")
METADATA_ID_KEYS = ("id", "doc_id", "document_id", "chunk_id", "node_id", "_id", "source")
# Places of scores in metadata; of several that match the order of the lists, the first counts.
EXTRA_SCORE_KEYS = ("relevance_score", "rerank_score", "score", "similarity_score", "similarity")
TEXT_KEYS = ("page_content", "pageContent", "text", "content")
# Attributes read from an object in memory, in addition to the keys of a row; missing ones are skipped.
PARTS = (*OWN_ID_KEYS, *METADATA_KEYS, *TEXT_KEYS, "node", "document", "source", *EXTRA_SCORE_KEYS)
ROW_KEYS = (*QUERY_KEYS, *LIST_KEYS, *GOLD_KEYS, "correct")
NAMES = (
    f"Name the query one of {', '.join(QUERY_KEYS)}; the list of what was retrieved one of {', '.join(LIST_KEYS)}; "
    f"and what should be retrieved one of {', '.join(GOLD_KEYS)}."
)


class LogEntry(NamedTuple):
    """One retrieved document.

    Attributes:
        doc_id: document id, or the id of its text.
        score: score as written; None if only the position is known.
        source: paper, site or file of origin; None if unknown.
        found: path of its id in the object, such as "metadata.id"; empty if it is the item itself or its own id.
        is_text: whether it has a text, but no id.
        extra: numbers that may be its score, as written, by path, such as "metadata.score".
    """

    doc_id: str
    score: str | None
    source: str | None = None
    found: str = ""
    is_text: bool = False
    extra: Mapping[str, str] = MappingProxyType({})


class LogLine(NamedTuple):
    """The content of one object in a log.

    Attributes:
        number: line number, or position from 1.
        query: query id.
        listed: all retrieved entries; None if not given.
        entries: each retrieved document once, at its first position.
        gold: document → grade as written.
        gold_is_text: whether the gold documents are texts.
        correct: correctness of the answer, as written; None if not given.
    """

    place: Place
    number: int
    query: str
    listed: list[LogEntry] | None
    entries: list[LogEntry]
    gold: dict[str, str]
    gold_is_text: bool
    correct: Any


def find_filled_key(row: Mapping[str, object], keys: Sequence[str]) -> str | None:
    """The first key of a row with a nonempty value, else the first key present.

    >>> find_filled_key({"retrieved_context_ids": [], "retrieved_contexts": ["a text"]}, LIST_KEYS)
    'retrieved_contexts'
    """
    there = [key for key in keys if row.get(key) is not None]
    return next((key for key in there if row[key]), there[0] if there else None)


def looks_like_row(row: object) -> bool:
    """Tell whether an object is a row of a log: a query, a list of documents, and no single document.

    >>> looks_like_row({"question": "q", "relevant_ids": ["d"]}), looks_like_row({"q": {"d": 1}})
    (True, False)
    """
    if not isinstance(row, Mapping):
        return False
    # A row of a run may contain a list too, but it names a single document. Keys that begin with mteb_ describe a file.
    plain = [str(k) for k, v in row.items() if not isinstance(v, (dict, list)) and not str(k).startswith("mteb_")]
    lists = any(isinstance(row.get(key), list) for key in LIST_KEYS)
    lists = lists or any(isinstance(row.get(key), (list, dict)) for key in GOLD_KEYS)
    return lists and bool(plain) and "doc_id" not in find_columns(plain, "run")


def text_id(text: str) -> str:
    r"""The id of a document that is known by its text only; white space of any length counts as one space.

    >>> text_id("one  text\n") == text_id("one text") != text_id("One text")
    True
    """
    return f"text-{hashlib.sha256(' '.join(text.split()).encode()).hexdigest()[:16]}"


def read_entry(item: object, key: str) -> LogEntry | None:
    """Read one retrieved document.

    Args:
        item: item of the list, with numbers as written.
        key: key of the list.

    Returns:
        None for an unknown form.
    """
    score = None
    if isinstance(item, list) and len(item) == 2:  # as returned by LangChain's similarity_search_with_score
        item, score = item
    if isinstance(item, str) and not isinstance(item, Literal) and _is_text(item, key):
        entry = LogEntry(text_id(item), None, is_text=True) if item.strip() else None
    elif isinstance(item, Mapping):
        entry = _of_object(item)
    else:
        doc_id = as_id(item)
        entry = None if doc_id is None else LogEntry(doc_id, None)
    if entry is None or (score is not None and not isinstance(score, Literal)):
        return None
    return entry if score is None else entry._replace(score=str(score))


def _is_text(item: str, key: str) -> bool:
    return key in TEXT_LISTS or (key in ID_OR_TEXT and len(item.split()) >= WORDS_OF_A_TEXT)


def _of_object(item: Mapping[str, object]) -> LogEntry | None:
    """An object with an id, its own or in its metadata, or with a text; scores are next to it or in it."""
    score, inner = item.get("score"), _unwrap_document(item)
    score = inner.get("score") if score is None else score
    metadata: Mapping[str, Any] = next((inner[key] for key in METADATA_KEYS if isinstance(inner.get(key), Mapping)), {})
    source = next((each for each in (item.get("source"), inner.get("source")) if each is not None), None)
    if (score is not None and not isinstance(score, Literal)) or (source is not None and as_id(source) is None):
        return None
    source = as_id(metadata.get("source")) if source is None else as_id(source)
    numbers = None if score is None else str(score), source
    extra = _extra_scores(item, inner, metadata)
    for name, holder, keys in (("", inner, OWN_ID_KEYS), ("metadata.", metadata, METADATA_ID_KEYS)):
        key = next((key for key in keys if holder.get(key) is not None), None)
        if key is not None:
            doc_id = as_id(holder[key])
            return None if doc_id is None else LogEntry(doc_id, *numbers, f"{name}{key}" if name else "", extra=extra)
    text = next((inner[key] for key in TEXT_KEYS if isinstance(inner.get(key), str)), "")
    return LogEntry(text_id(text), *numbers, is_text=True, extra=extra) if text.strip() else None


def _extra_scores(
    item: Mapping[str, object], inner: Mapping[str, object], metadata: Mapping[str, object]
) -> dict[str, str]:
    """Numbers of an object that may be its score though they are not called so, or are in its metadata."""
    return {
        f"{name}{key}": str(holder[key])
        for key in EXTRA_SCORE_KEYS
        for name, holder in (("", item), ("", inner), ("metadata.", metadata))
        if isinstance(holder.get(key), Literal) and (name or key != "score")
    }


def _unwrap_document(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """The document itself: NodeWithScore and some hits wrap it, and LangChain's JSON has it under kwargs."""
    for wrapper in ("node", "document", "kwargs"):
        named = any(item.get(key) is not None for key in OWN_ID_KEYS) and "lc" not in item  # there "id" names a class
        if isinstance(item.get(wrapper), Mapping) and not named:
            item = item[wrapper]
    return item


def refuse_unknown(row: object, kind: Kind, place: Place) -> None:
    """Refuse an object with lists that is neither a row of a table nor one of a log, by its keys.

    Raises:
        InputError: it is one.
    """
    if not isinstance(row, Mapping) or not any(isinstance(value, list) for value in row.values()):
        return
    if not {"query_id", "doc_id"} <= find_columns([str(key) for key in row], kind).keys():
        noun = "a run" if kind == "run" else "judgments"
        raise place.error(
            f"neither a row of {noun} nor of a log of contexts. Got {keys_of(row)}. A row names "
            f"query_id, doc_id and {value_column(kind)}. In a log: {NAMES}"
        )


def keys_of(row: object) -> str:
    """The keys of a row, or a description of another value, for a message.

    >>> keys_of({"question": "q", "hits": []}), keys_of([1])
    ("the keys 'question', 'hits'", '[1]')
    """
    if not isinstance(row, Mapping):
        return reprlib.repr(row)
    return f"the keys {', '.join(repr(str(key)) for key in row)}" if row else "no keys"
