"""Answers: what a system said to each question, cut into claims, with what it read and what it should have said."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from trueval.retrieval.chunking.sentence_ends import sentence_spans

VITAL: Final = "vital"
OKAY: Final = "okay"
IMPORTANCE: Final = (VITAL, OKAY)
MARK: Final = re.compile(r"\s*\[(\d{1,4}(?:\s*[,;]\s*\d{1,4})*)\]")
FIRST_MARKS: Final = re.compile(rf"(?:{MARK.pattern})+")


class Passage(NamedTuple):
    """A passage of a context."""

    id: str
    text: str


class Claim(NamedTuple):
    """A statement of an answer.

    Attributes:
        text: without the marks of its citations.
        citations: indices of the cited passages, from 0; -1 for a passage that was not given.
    """

    text: str
    citations: tuple[int, ...] = ()


class ReferenceClaim(NamedTuple):
    """A statement that a good answer makes: a nugget, or a claim of the reference answer.

    Attributes:
        importance: "vital" or "okay"; "" if the log does not say.
    """

    text: str
    importance: str = ""


@dataclass(frozen=True)
class LoggedAnswer:
    """An answer, and what is known about its question.

    Attributes:
        query: id of the question.
        question: its text.
        text: the answer.
        claims: its statements, in order.
        references: reference answers; empty if the log has none.
        reference_claims: statements of the reference; empty if there is no reference.
        passages: the context, in the order of the prompt; None if the log does not say.
        abstained: whether the system said that it cannot answer; None if the log does not say.
        answerable: whether the question has an answer; None if the log does not say.
        model: name of the model that answered; "" if the log does not say.
    """

    query: str
    question: str
    text: str
    claims: tuple[Claim, ...]
    references: tuple[str, ...] = ()
    reference_claims: tuple[ReferenceClaim, ...] = ()
    passages: tuple[Passage, ...] | None = None
    abstained: bool | None = None
    answerable: bool | None = None
    model: str = ""


@dataclass(frozen=True)
class AnswerLog:
    """The answers of one system.

    Attributes:
        name: of the system.
        source: where they were read.
        answers: one for each question.
        clusters: id of a question → its cluster, where the log says; empty otherwise.
        notes: one-line remarks.
    """

    name: str
    source: str
    answers: tuple[LoggedAnswer, ...]
    clusters: Mapping[str, str]
    notes: tuple[str, ...] = ()

    @cached_property
    def query_ids(self) -> tuple[str, ...]:
        """Ids of the questions, in order."""
        return tuple(answer.query for answer in self.answers)


def split_claims(text: str, passages: int) -> tuple[Claim, ...]:
    """The sentences of a text as claims; numbers in square brackets cite passages, counted from 1.

    Marks after the full stop belong to the sentence before them.

    Args:
        passages: number of passages that were given.

    >>> for claim in split_claims("Paris is the capital [2]. It is large. [1, 9] Yes.", 2):
    ...     print(claim.text, claim.citations)
    Paris is the capital. (1,)
    It is large. (0, -1)
    Yes. ()
    """
    found: list[tuple[str, list[int]]] = []
    for start, end in sentence_spans(text):
        sentence = text[start:end]
        opening = FIRST_MARKS.match(sentence)
        if opening is not None and found:
            found[-1][1].extend(_numbers(opening.group()))
            sentence = sentence[opening.end() :].strip()
        if plain := MARK.sub("", sentence).strip():
            found.append((plain, _numbers(sentence)))
    return tuple(Claim(plain, cite(numbers, passages)) for plain, numbers in found)


def _numbers(text: str) -> list[int]:
    return [int(number) for marks in MARK.findall(text) for number in re.findall(r"\d+", marks)]


def cite(numbers: Sequence[int], passages: int) -> tuple[int, ...]:
    """Citations of passages counted from 1, each once.

    >>> cite([2, 2, 7], 3)
    (1, -1)
    """
    return tuple(dict.fromkeys(number - 1 if 1 <= number <= passages else -1 for number in numbers))
