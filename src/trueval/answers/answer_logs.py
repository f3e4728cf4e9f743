"""Logs of answers: one JSON object a question, of our own keys or of those that other tools write.

    {"query": "q1", "question": "Who?", "answer": "Ada did [1].", "contexts": ["Ada did it."], "reference": "Ada did."}

Objects inside objects are read by dotted keys (`inputs.question`, `attributes.output.value`). An item of `contexts` is
a text, or an object with a text and maybe an id. What a log does not say is not known, and is never taken for empty:
measures that need it count such questions and bound their values.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from trueval.answers.answer import (
    IMPORTANCE,
    AnswerLog,
    Claim,
    LoggedAnswer,
    Passage,
    ReferenceClaim,
    cite,
    split_claims,
)
from trueval.errors import Place
from trueval.files import Source
from trueval.files.json.context_logs import UnreadLine, unread_lines
from trueval.files.json.jsonl_pairs import as_id
from trueval.files.json.jsonl_rows import Literal
from trueval.files.source.encoding import is_unicode
from trueval.files.source.source_bytes import read_content
from trueval.report.number_texts import count_phrase

# What each field is called: ours first, then Ragas, DeepEval, RAGChecker, TREC RAG, LangSmith, Phoenix (OpenInference).
ID_KEYS: Final = ("query_id", "qid", "question_id", "query-id", "topic_id", "reference_example_id", "context.span_id")
TEXT_KEYS: Final = (
    *("question", "user_input", "query_text", "topic", "query", "input", "inputs.question", "inputs.query"),
    *("inputs.input", "attributes.input.value", "input.value"),
)
ANSWER_KEYS: Final = (
    *("answer", "response", "actual_output", "prediction", "generated_answer", "output", "outputs.answer"),
    *("outputs.response", "outputs.output", "attributes.output.value", "output.value"),
)
REFERENCE_KEYS: Final = (
    *("reference", "references", "reference_answer", "ground_truth", "ground_truths", "expected_output", "gt_answer"),
    *("gold_answer", "reference_outputs.answer", "reference_outputs.response", "reference_outputs.output"),
)
CONTEXT_KEYS: Final = (
    *("contexts", "retrieved_contexts", "retrieval_context", "retrieved_context", "passages", "documents"),
    *("retrieved_documents", "source_documents", "outputs.contexts", "outputs.documents", "outputs.source_documents"),
    *("attributes.retrieval.documents", "retrieval.documents"),
)
CLAIM_KEYS: Final = ("claims", "answer_claims", "response_claims")
NUGGET_KEYS: Final = ("reference_claims", "nuggets", "gt_answer_claims")
PASSAGE_TEXTS: Final = (
    *("text", "content", "page_content", "pageContent", "document.content", "segment", "kwargs.page_content"),
)
PASSAGE_IDS: Final = (
    "id",
    "doc_id",
    "docid",
    "document_id",
    "chunk_id",
    "document.id",
    "metadata.id",
    "metadata.source",
)
MODEL_KEYS: Final = (
    *("model", "model_name", "outputs.model", "metadata.model", "metadata.ls_model_name"),
    *("extra.metadata.ls_model_name", "attributes.llm.model_name", "llm.model_name"),
)
PER_QUESTION: Final = "per_question"
ABSTAINED: Final = "abstained"
ANSWERABLE: Final = "answerable"
CLUSTER: Final = "cluster"
KEYS: Final = (
    f"Name the question one of {', '.join(TEXT_KEYS)}; the answer one of {', '.join(ANSWER_KEYS)}; the context one of "
    f"{', '.join(CONTEXT_KEYS)}; and the reference one of {', '.join(REFERENCE_KEYS)}."
)


class _Found(NamedTuple):
    key: str
    value: Any


def read_answers(source: Source, *, name: str | None = None) -> AnswerLog:
    """Read a log of answers.

    Args:
        source: a path, "-" for standard input, or an open file: JSON lines, or a list of objects.
        name: of the system; the file name without suffixes if None.

    Raises:
        InputError: a line is bad, or a question is there twice; with file, line and key.
    """
    content = read_content(source)
    found = answers_of(_questions(unread_lines(content)), content.source, name or content.name)
    if not found.answers:
        raise Place(content.source).error(f"no answer is in it. {KEYS}")
    return found


def _questions(rows: Iterator[UnreadLine]) -> Iterator[UnreadLine]:
    """The objects of questions: those of a list `per_question` each by itself, as mteb's AnswerEvaluator has them."""
    for row in rows:
        inside = row.values.get(PER_QUESTION) if isinstance(row.values, Mapping) else None
        if isinstance(inside, list):
            yield from (row._replace(values=each) for each in inside)
        else:
            yield row


def answers_of(rows: Iterator[UnreadLine], source: str, name: str) -> AnswerLog:
    """Make a log of decoded objects.

    Args:
        source: the path.
        name: of the system.

    Raises:
        InputError: as in `read_answers`.
    """
    answers: dict[str, LoggedAnswer] = {}
    clusters: dict[str, str] = {}
    for row in rows:
        line = _Line(row)
        answer = line.answer()
        if answer.query in answers:
            raise row.place.error(f"question {answer.query!r} is there twice. Write one line for each question.")
        answers[answer.query] = answer
        cluster = line.optional_id(CLUSTER)
        if cluster is not None:
            clusters[answer.query] = cluster
    if clusters and len(clusters) < len(answers):
        absent = next(query for query in answers if query not in clusters)
        raise Place(source).error(f"question {absent!r} has no {CLUSTER}, and others have. Give it to all, or to none.")
    listed = tuple(answers.values())
    return AnswerLog(name, source, listed, clusters, (*_notes(listed),))


def _notes(answers: Sequence[LoggedAnswer]) -> Iterator[str]:
    """What the log lacks, and what is odd in it, with the number of questions and the first of them."""
    lacks = {
        "no context is given: measures of contexts are not known for": [a for a in answers if a.passages is None],
        "no reference is given: measures against it are not known for": [a for a in answers if not a.reference_claims],
        "the answer is empty in": [a for a in answers if not a.claims],
        "an answer cites a passage that was not given, which supports nothing, in": [
            a for a in answers if a.passages is not None and any(-1 in claim.citations for claim in a.claims)
        ],
    }
    for words, found in lacks.items():
        if found:
            told = count_phrase(len(found), "question", "questions")
            yield f"{words} {told} of {len(answers)}, such as {found[0].query!r}."


def row_of(answer: LoggedAnswer, cluster: str | None = None) -> dict[str, Any]:
    """An answer as an object of a log, by our own keys, which `read_answers` reads as it was.

    Args:
        cluster: of the question; None without one.
    """
    claims = [{"text": each.text, "citations": [at + 1 for at in each.citations]} for each in answer.claims]
    row = {
        "query_id": answer.query,
        "question": answer.question,
        "answer": answer.text,
        "claims": claims,
        "contexts": None if answer.passages is None else [each._asdict() for each in answer.passages],
        "reference": [*answer.references] or None,
        "nuggets": [nugget_row(each) for each in answer.reference_claims],
        ABSTAINED: answer.abstained,
        ANSWERABLE: answer.answerable,
        CLUSTER: cluster,
        "model": answer.model or None,
    }
    return {key: value for key, value in row.items() if value is not None}


def nugget_row(nugget: ReferenceClaim) -> dict[str, str]:
    """A nugget as logs and nuggetizer write it."""
    return {"text": nugget.text, **({"importance": nugget.importance} if nugget.importance else {})}


def read_nuggets(source: Source) -> dict[str, tuple[ReferenceClaim, ...]]:
    """Read nuggets of questions, one object a question, as nuggetizer and TREC RAG write them.

    Args:
        source: a path, "-" for standard input, or an open file: JSON lines, or a list of objects.

    Returns:
        Id of a question → its nuggets.

    Raises:
        InputError: a line is bad, or a question is there twice; with file, line and key.
    """
    found: dict[str, tuple[ReferenceClaim, ...]] = {}
    for row in unread_lines(read_content(source)):
        line = _Line(row)
        query = line.nuggets_of()
        if query in found:
            raise row.place.error(f"question {query!r} is there twice. Write one line for each question.")
        found[query] = line.nuggets() or ()
    return found


class _Line:
    """One object of a log, by dotted keys."""

    def __init__(self, row: UnreadLine) -> None:
        self.place = row.place
        self.values = dict(_flat(row.values))

    def answer(self) -> LoggedAnswer:
        """The answer that the object holds."""
        query, question = self._question()
        passages = self._passages()
        count = len(passages or ())
        text, claims = self._answer(passages)
        own = self._first(CLAIM_KEYS)
        if own is not None:
            claims = tuple(self._claim(item, own.key, passages, 1) for item in self._items(own))
        references = self._references()
        nuggets = self.nuggets()
        if nuggets is None:
            sentences = split_claims(references[0], count) if references else ()
            nuggets = tuple(ReferenceClaim(each.text) for each in sentences)
        return LoggedAnswer(
            query,
            question,
            text,
            claims,
            references,
            nuggets,
            passages,
            self._flag(ABSTAINED),
            self._flag(ANSWERABLE),
            self._model(),
        )

    def nuggets(self) -> tuple[ReferenceClaim, ...] | None:
        """The nuggets that the object holds; None without any key of them."""
        given = self._first(NUGGET_KEYS)
        return None if given is None else tuple(self._nugget(item, given.key) for item in self._items(given))

    def nuggets_of(self) -> str:
        """The id of the question whose nuggets the object holds.

        Raises:
            InputError: there is none, or there are no nuggets.
        """
        key = next((key for key in (*ID_KEYS, "query") if self.values.get(key) is not None), None)
        query = None if key is None else self.optional_id(key)
        if query is None or self._first(NUGGET_KEYS) is None:
            keys = ", ".join(map(repr, self.values)) or "none"
            raise self.place.error(
                f'a line must be an object with the id of a question, such as "query_id", and "nuggets". Got the keys '
                f"{keys}. Correct it."
            )
        return query

    def optional_id(self, key: str) -> str | None:
        """The id under a key; None without one.

        Raises:
            InputError: it is no id.
        """
        value = self.values.get(key)
        if value is None:
            return None
        found = as_id(value)
        if found is None:
            raise self._refuse(key, "a string or an integer", value)
        return found

    def _model(self) -> str:
        found = (self.values.get(key) for key in MODEL_KEYS)
        return next((each for each in found if isinstance(each, str) and not isinstance(each, Literal)), "")

    def _question(self) -> tuple[str, str]:
        text = self._first(TEXT_KEYS)
        key = next((key for key in ID_KEYS if self.values.get(key) is not None), None)
        if key is None and text is not None and text.key == "question" and self.values.get("query") is not None:
            key = "query"  # beside a question, it is the id
        if text is None and key is None:
            keys = ", ".join(map(repr, self.values)) or "none"
            raise self.place.error(
                f"a line must be an object with a question and its answer. Got the keys {keys}. {KEYS}"
            )
        question = "" if text is None else self._text(text.key, text.value, blank=False)
        query = None if key is None else self.optional_id(key)
        return (question if query is None else query), question or str(query)

    def _answer(self, passages: tuple[Passage, ...] | None) -> tuple[str, tuple[Claim, ...]]:
        found = self._first(ANSWER_KEYS)
        if found is None:
            keys = ", ".join(map(repr, self.values))
            raise self.place.error(f'the answer is missing; where it is empty, write "". Got the keys {keys}. {KEYS}')
        if isinstance(found.value, list):  # TREC RAG: sentences with citations of `references`, from 0
            claims = tuple(self._claim(item, found.key, passages, 0) for item in found.value)
            return " ".join(claim.text for claim in claims), claims
        text = self._text(found.key, found.value)
        return text, split_claims(text, len(passages or ()))

    def _passages(self) -> tuple[Passage, ...] | None:
        found = self._first(CONTEXT_KEYS)
        if found is None:
            return None
        if isinstance(found.value, str) and not isinstance(found.value, Literal):
            return (Passage("1", self._text(found.key, found.value)),) if found.value.strip() else ()
        items = (self._passage(item, found.key, number) for number, item in enumerate(self._items(found), start=1))
        return tuple(items)

    def _passage(self, item: object, key: str, number: int) -> Passage:
        if not isinstance(item, Mapping):
            return Passage(str(number), self._text(key, item))
        inside = dict(_flat(item))
        text = next((inside[each] for each in PASSAGE_TEXTS if inside.get(each) is not None), None)
        if text is None:
            raise self._refuse(key, f"texts, or objects with a text under one of {', '.join(PASSAGE_TEXTS)}", item)
        id = next((inside[each] for each in PASSAGE_IDS if as_id(inside.get(each)) is not None), str(number))
        return Passage(str(id), self._text(key, text))

    def _references(self) -> tuple[str, ...]:
        found = self._first(REFERENCE_KEYS)
        if found is None or (found.key == "references" and isinstance(self.values.get("answer"), list)):
            return ()
        items = found.value if isinstance(found.value, list) else [found.value]
        texts = tuple(self._text(found.key, item) for item in items)
        return tuple(text for text in texts if text.strip())

    def _claim(self, item: object, key: str, passages: tuple[Passage, ...] | None, first: int) -> Claim:
        """A claim: a text, or an object with text and citations.

        Args:
            first: number of the first passage.
        """
        if not isinstance(item, Mapping):
            return Claim(self._text(key, item, blank=False))
        cited = item.get("citations") or ()
        ids = {passage.id: at for at, passage in enumerate(passages or (), start=1)}
        numbers = []
        for each in cited if isinstance(cited, list | tuple) else [cited]:
            if isinstance(each, Literal):
                if not each.isdigit():
                    raise self._refuse(f"{key}.citations", "numbers or ids of passages", each)
                numbers.append(int(each) + 1 - first)
            else:
                numbers.append(ids.get(each, -1) if isinstance(each, str) else -1)
        return Claim(self._text(f"{key}.text", item.get("text"), blank=False), cite(numbers, len(passages or ())))

    def _nugget(self, item: object, key: str) -> ReferenceClaim:
        if not isinstance(item, Mapping):
            return ReferenceClaim(self._text(key, item, blank=False))
        importance = item.get("importance") or ""
        if importance and importance not in IMPORTANCE:
            raise self._refuse(f"{key}.importance", " or ".join(IMPORTANCE), importance)
        return ReferenceClaim(self._text(f"{key}.text", item.get("text"), blank=False), importance)

    def _first(self, keys: Sequence[str]) -> _Found | None:
        return next((_Found(key, self.values[key]) for key in keys if self.values.get(key) is not None), None)

    def _items(self, found: _Found) -> list[object]:
        if not isinstance(found.value, list):
            raise self._refuse(found.key, "a list", found.value)
        return found.value

    def _text(self, key: str, value: object, *, blank: bool = True) -> str:
        if not isinstance(value, str) or isinstance(value, Literal) or not is_unicode(value):
            raise self._refuse(key, "a text", value)
        if not blank and not value.strip():
            raise self._refuse(key, "a text that is not empty", value)
        return value

    def _flag(self, key: str) -> bool | None:
        value = self.values.get(key)
        if value is not None and not isinstance(value, bool):
            raise self._refuse(key, "true or false", value)
        return value

    def _refuse(self, key: str, wanted: str, value: object) -> Exception:
        return self.place.error(f"{key} must be {wanted}. Got {reprlib.repr(value)}. Correct it, or leave it out.")


def _flat(values: object, before: str = "") -> Iterator[tuple[str, object]]:
    """Keys and values, of objects inside objects by dotted keys."""
    if not isinstance(values, Mapping):
        return
    for key, value in values.items():
        yield f"{before}{key}", value
        yield from _flat(value, f"{before}{key}.")
