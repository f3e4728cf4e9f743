"""Engine answers: the list of documents in what a retriever or an engine returns, whatever its shape.

    [("d7", 0.83), ...]   [Document(...), ...]   {"d7": 0.83}   {"documents": [...]}   {"hits": {"hits": [...]}}

What a document is, files/json/log_keys.py knows: an id, a pair, or an object of LangChain, LlamaIndex or Haystack.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, Final, NamedTuple

from trueval.errors import InputError
from trueval.files.json.jsonl_rows import INTEGER, Literal
from trueval.files.json.log_keys import LIST_KEYS, PARTS, TEXT_KEYS, keys_of, read_entry
from trueval.files.memory.logs import plain
from trueval.models.hosted.failures import CallError, FailureKind


class Fields(NamedTuple):
    """Where an answer has its list, and a document its id and score.

    Attributes:
        hits: path of the list, such as "result.points"; empty to find it.
        id: path of the id in a document, such as "payload.doc_id"; empty to find it.
        score: path of the score; with a minus before it, of a distance; empty to find it.
    """

    hits: str = ""
    id: str = ""
    score: str = ""

    def over(self, found: Fields) -> Fields:
        """These paths, and those of `found` where these are empty."""
        return Fields(*(own or other for own, other in zip(self, found, strict=True)))


# OpenSearch and Elasticsearch, Qdrant, Vespa, Solr, Azure AI Search.
SHAPES: Final = (
    Fields("hits.hits", "_id", "_score"),
    Fields("result.points", "id", "score"),
    Fields("root.children", "id", "relevance"),
    Fields("response.docs", "id", "score"),
    Fields("value", "id", "@search.score"),
)
LISTS: Final = (*LIST_KEYS, "hits", "results", "result", "points", "matches", "data", "items", "docs")
# Where engines say that an answer is of a part of the index, or of none, and what they say if it is whole.
WHOLE: Final[Mapping[str, object]] = {
    "timed_out": False,
    "_shards.failed": 0,
    "root.coverage.full": True,
    "root.errors": None,
    "responseHeader.partialResults": False,
}
# What is kept of a document without a text of its own; "lc" tells an object of LangChain from others.
KEPT: Final = frozenset((*PARTS, "kwargs", "lc"))

WRAPPERS: Final = frozenset(("node", "document", "kwargs"))


def documents_of(answer: object, fields: Fields = Fields()) -> list[object]:  # noqa: B008 - immutable
    """The documents of an answer, best first, as a row of a log has them: of JSON types, without their texts.

    Args:
        answer: what a retriever returned, or the JSON of an engine.
        fields: where the list, ids and scores are.

    Raises:
        InputError: there is no list, a document has no id, or a score is no number.
        CallError: the engine says that it did not search all of the index.

    >>> documents_of({"hits": {"hits": [{"_id": "d7", "_score": 2.5, "_source": {"text": "..."}}]}})
    [{'id': 'd7', 'score': 2.5}]
    >>> documents_of({"d7": 0.5}), documents_of([("d7", 0.5)])
    ([['d7', 0.5]], [['d7', 0.5]])
    """
    _refuse_partial(answer)
    hits, fields = _find_hits(answer, fields)
    if (plainly := _read_plainly(hits, fields)) is not None:
        return plainly
    return [_document(hit, place, fields) for place, hit in enumerate(hits, 1)]


def dig(value: object, path: str) -> Any:
    """The value at a path of keys, places of a list, or attributes; None where there is none.

    >>> dig({"payload": {"ids": ["d7"]}}, "payload.ids.0")
    'd7'
    """
    if isinstance(value, Mapping) and path in value:  # a key with a dot in it
        return value[path]
    for step in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, Sequence) and not isinstance(value, str):
            value = value[int(step)] if step.isdigit() and int(step) < len(value) else None
        else:
            value = getattr(value, step, None)
    return value


def _read_plainly(hits: Sequence[Any], fields: Fields) -> list[Any] | None:
    """Documents of objects with a text as id and a number as score, in a tenth of the time of `_document`.

    None where a hit needs a closer look, which also says what is wrong with it.
    """
    if bool(fields.id) != bool(fields.score) or not all(type(hit) is dict for hit in hits):
        return None
    try:
        ids = _values(hits, fields.id or "id")
        scores = _values(hits, fields.score.removeprefix("-") or "score")
    except (KeyError, TypeError):
        return None
    if not (set(map(type, ids)) <= {str} and set(map(type, scores)) <= {float, int}) or "" in ids:
        return None
    if not all(score == score for score in scores):
        return None
    if fields.id:
        sign = -1.0 if fields.score.startswith("-") else 1.0
        return [{"id": doc_id, "score": sign * score} for doc_id, score in zip(ids, scores, strict=True)]
    if all(len(hit) == 2 for hit in hits):
        return list(hits)
    if not all(map(WRAPPERS.isdisjoint, hits)):
        return None
    return [{"id": doc_id, "score": score} for doc_id, score in zip(ids, scores, strict=True)]


def _values(hits: Sequence[dict[str, Any]], path: str) -> list[Any]:
    """What is at a path of keys in each hit.

    Raises:
        KeyError: there is nothing in one of them, or a key with a dot, which `dig` prefers.
        TypeError: a step is not inside an object.
    """
    first, *steps = path.split(".")
    if steps and any(path in hit for hit in hits):
        raise KeyError(path)
    found = [hit[first] for hit in hits]
    for step in steps:
        found = [value[step] for value in found]
    return found


def _refuse_partial(answer: Any) -> None:
    for path, whole in WHOLE.items() if isinstance(answer, Mapping) else ():
        if path.partition(".")[0] not in answer:
            continue
        found = dig(answer, path)
        if found is not None and found != whole:
            raise CallError(FailureKind.BUSY, f"partial answer: {path} is {reprlib.repr(found)}")


def _find_hits(answer: Any, fields: Fields) -> tuple[Sequence[Any], Fields]:
    """The list of documents, and where these have ids and scores."""
    if fields.hits:
        hits: Any = dig(answer, fields.hits)
        if not _is_list(hits):
            raise InputError(
                f"hits must be the path of the list of documents. At {fields.hits!r} there is {_quote(hits)}, in an "
                f"answer of {keys_of(answer)}."
            )
        return list(hits), fields
    if isinstance(answer, Mapping):
        for shape in SHAPES:
            hits = dig(answer, shape.hits) if shape.hits.partition(".")[0] in answer else None
            if _is_list(hits) and all(isinstance(hit, Mapping) and dig(hit, shape.id) is not None for hit in hits[:1]):
                scored = bool(hits) and dig(hits[0], shape.score) is not None
                return hits, fields.over(shape if scored else shape._replace(score=""))
        if isinstance(answer.get("root"), Mapping) and "coverage" in answer["root"]:  # Vespa, where nothing was found
            return [], fields
        if answer and all(isinstance(value, Real) and not isinstance(value, bool) for value in answer.values()):
            return [[name, value] for name, value in answer.items()], fields
        found = next((answer[key] for key in LISTS if _is_list(answer.get(key))), None)
    elif _is_list(answer) or (isinstance(answer, Iterable) and not isinstance(answer, str | bytes)):
        found = list(answer)
    else:
        found = next((each for key in LISTS if _is_list(each := getattr(answer, key, None))), None)
    if found is None:
        raise InputError(
            f"an answer must be a list of documents, {{document: score}}, or an object with such a list under "
            f"{', '.join(LISTS[-8:])} or another name of logs. Got {_quote(answer)}. Name the path of the list as hits."
        )
    return found, fields


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple) or (hasattr(value, "tolist") and getattr(value, "ndim", 0) == 1)


def _document(hit: object, place: int, fields: Fields) -> Any:
    if fields.id or fields.score:
        is_whole = bool(fields.id and fields.score) or not isinstance(hit, Mapping)
        found = {} if is_whole else _numbers(_keep_fields(plain(hit), with_text=False))
        if fields.id:
            found["id"] = _id(dig(hit, fields.id), place, fields.id)
        if fields.score:
            found["score"] = _score(dig(hit, fields.score.removeprefix("-")), place, fields.score)
        return found
    if isinstance(hit, Mapping) and _is_plain(hit.get("id"), hit.get("score")) and WRAPPERS.isdisjoint(hit):
        return {"id": hit["id"], "score": hit["score"]}
    item = plain(hit)
    entry = read_entry(item, "documents")
    if entry is None:
        score = item[1] if isinstance(item, list) and len(item) == 2 else dig(item, "score")
        if isinstance(score, str) and not isinstance(score, Literal):
            _score(score, place, "score")
        raise InputError(
            f"document {place} of the answer must be an id, (id, score), or an object with an id, its own or in its "
            f"metadata. Got {_quote(item)}. Name the path of the id as id."
        )
    return _numbers(_keep_fields(item, with_text=entry.is_text))


def _is_plain(found: object, score: object) -> bool:
    return isinstance(found, str) and found != "" and type(score) in (int, float) and score == score


def _id(found: object, place: int, path: str) -> str:
    if isinstance(found, bool) or not isinstance(found, str | int) or found == "":
        raise InputError(
            f"id must be the path of a string or an integer. At {path!r} document {place} of the answer has "
            f"{_quote(found)}."
        )
    return str(found)


def _score(found: object, place: int, path: str) -> float:
    if isinstance(found, bool) or not isinstance(found, Real) or found != found:
        raise InputError(
            f"score must be the path of a number. At {path.removeprefix('-')!r} document {place} of the answer has "
            f"{_quote(found)}. Correct the engine, or name another path as score."
        )
    return -float(found) if path.startswith("-") else float(found)


def _keep_fields(item: object, *, with_text: bool) -> Any:
    """What names and scores a document: texts and payloads of thousands of answers would fill the memory."""
    if isinstance(item, list):
        return [_keep_fields(each, with_text=with_text) for each in item]
    if not isinstance(item, Mapping):
        return item
    return {
        name: _keep_fields(value, with_text=with_text)
        for name, value in item.items()
        if name in KEPT and (with_text or name not in TEXT_KEYS)
    }


def _numbers(item: object) -> Any:
    """The same with numbers in place of what `plain` wrote them as."""
    if isinstance(item, Literal):
        return int(item) if re.fullmatch(INTEGER, item) else float(item)
    if isinstance(item, list):
        return [_numbers(each) for each in item]
    return {name: _numbers(value) for name, value in item.items()} if isinstance(item, Mapping) else item


def _quote(value: object) -> str:
    if isinstance(value, Mapping):
        return keys_of(value)
    is_text = isinstance(value, str) and not isinstance(value, Literal)
    return f"the text {reprlib.repr(value)}" if is_text else "nothing" if value is None else reprlib.repr(value)
