"""Judges: the protocol of an object that grades, orders or asks about passages, with its questions and answers.

A question to a judge contains a few passages. It contains no ids, ranks, scores or sources, only texts. The answer goes
into the ledger (ledger.py) before it is used, under a key of everything that determines it, so that no question is paid
for twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from trueval.collection import text_hash

# Part of every key: raising it asks all questions anew. 1: first version.
FORMAT: Final = 1

Task: TypeAlias = Literal[
    "grade", "order", "rewrite", "question-one", "question-several", "question-none", "answer", "nuggets"
]
# Tasks that write a question about the passages they show.
WRITING: Final[tuple[Task, ...]] = ("question-one", "question-several", "question-none")
# The task of a generator, which is asked through the same ledger: an answer to the query from the passages, as text.
ANSWERING: Final[Task] = "answer"
# Statements of the passages that a good answer to the query makes.
NUGGETS: Final[Task] = "nuggets"
TASKS: Final[tuple[Task, ...]] = ("grade", "order", "rewrite", *WRITING, ANSWERING, NUGGETS)


class Question(NamedTuple):
    """A question to a judge.

    Attributes:
        task: "grade", a grade for each passage; "order", the passages, best first; "rewrite", a reworded query; of
            WRITING, a question that one passage, or only several together, or none of them answers; "answer", an
            answer to the query, from the passages if there are any; "nuggets", statements of the passages that a good
            answer to the query makes.
        query: text of the query, and for nuggets below it those that there are; where a question is written, words
            that it must not use, or "".
        passages: [slot] texts, in the order in which the judge sees them; slots count from 0.
        sample: number that distinguishes repetitions of the same question.
    """

    task: Task
    query: str
    passages: tuple[str, ...]
    sample: int = 0


class JudgeLabel(NamedTuple):
    """A judge's label of one passage in one answer.

    Attributes:
        grade: on the judge's own scale, mapped to the rubric.
        reason: the judge's reason; "" if it gives none.
    """

    grade: int
    reason: str = ""


class JudgeUsage(NamedTuple):
    """Resources used by an answer; None if unknown.

    Attributes:
        tokens_in: tokens of the prompts, including a repair.
        cost: cost in the currency of the judge's prices.
    """

    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None


class JudgeAnswer(NamedTuple):
    """A judge's answer.

    Attributes:
        labels: [slot] labels, for a grading question; None for a passage without a valid grade.
        order: slots, best first, for an ordering question; empty if none is valid.
        text: reworded query; or a written question, and after a line feed its answer; or the answer of a generator; or
            nuggets, one a line; "" if there is none.
        raw: verbatim response, followed by that of a repair; of a generator, by the moments of its tokens as JSON.
        problems: invalid parts, one line each.
        model: name of the model as reported by the server.
    """

    labels: tuple[JudgeLabel | None, ...] = ()
    order: tuple[int, ...] = ()
    text: str = ""
    raw: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    model: str = ""
    usage: JudgeUsage = JudgeUsage()
    seconds: float = 0.0


@runtime_checkable
class Judge(Protocol):
    """The protocol of a judge that grades and orders passages: a model, human labels, or a ledger.

    Attributes:
        name: name in ledgers and judgments.
    """

    name: str

    def identity(self, task: Task) -> Mapping[str, object]:
        """Everything that determines its answers to a task: model, parameters, prompt hash; JSON values."""
        ...

    def ask(self, question: Question) -> JudgeAnswer:
        """Answer a question.

        Raises:
            InputError: it cannot be asked at all: no key, no server, no money.
        """
        ...


class AnswerKey(NamedTuple):
    """The lookup key of an answer.

    Attributes:
        call: hash of everything that determines the answer.
        judge: hash of the judge's identity for this task.
        query: hash of the query text.
        passages: [slot] hashes of the passage texts.
    """

    call: str
    judge: str
    query: str
    passages: tuple[str, ...]


def key_of(judge: Judge, question: Question) -> AnswerKey:
    """The key of a question to a judge."""
    return key_for(judge.identity(question.task), question)


def key_for(identity: Mapping[str, object], question: Question) -> AnswerKey:
    """The key of a question to the judge with this identity.

    Args:
        identity: identity of the judge for the task of the question.
    """
    about = json.dumps([FORMAT, question.task, dict(identity)], sort_keys=True)
    asked = hashlib.sha256(about.encode()).hexdigest()
    query, passages = text_hash([question.query]), tuple(text_hash([text]) for text in question.passages)
    whole = json.dumps([asked, query, passages, question.sample])
    return AnswerKey(hashlib.sha256(whole.encode()).hexdigest(), asked, query, passages)
