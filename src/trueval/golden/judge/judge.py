"""Judges: the role that grades or orders passages for a query, with its questions and answers.

A question to a judge contains a few passages. It contains no ids, ranks, scores or sources, only texts. The answer goes
into the ledger (ledger.py) before it is used, under a key of everything that determines it, so that no question is paid
for twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from trueval.collection import text_hash

# Part of every key: another one asks all questions anew. 1: the first.
FORMAT: Final = 1

Task: TypeAlias = Literal["grade", "order", "rewrite"]
TASKS: Final[tuple[Task, ...]] = ("grade", "order", "rewrite")


class Question(NamedTuple):
    """A question to a judge.

    Attributes:
        task: "grade", a grade for each passage; "order", the passages, best first; "rewrite", the query in other words.
        query: text of the query.
        passages: in the order in which the judge sees them; their places are called slots, from 0.
        sample: the same question with another sample is asked again.
    """

    task: Task
    query: str
    passages: tuple[str, ...]
    sample: int = 0


class JudgeLabel(NamedTuple):
    """A judge's label of one passage in one answer.

    Attributes:
        grade: on the judge's own scale, mapped to the rubric.
        reason: in the judge's words; "" where it gives none.
    """

    grade: int
    reason: str = ""


class JudgeUsage(NamedTuple):
    """Resources used by an answer; None where unknown.

    Attributes:
        tokens_in: of the prompts, those of a repair too.
        cost: in the currency of the judge's prices.
    """

    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None


class JudgeAnswer(NamedTuple):
    """A judge's answer.

    Attributes:
        labels: [slot] of a question for grades; None for a passage without a valid grade.
        order: slots, best first, of a question for an order; empty where none is valid.
        text: of a question for other words; "" where none is valid.
        raw: what came back, word for word, a repair after the first.
        problems: what was not valid, one line each.
        model: that answered, by its own account.
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
    """The role that grades and orders passages: a model, labels of people, or a ledger.

    Attributes:
        name: how ledgers and judgments call it.
    """

    name: str

    def identity(self, task: Task) -> Mapping[str, Any]:
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
        call: hash of all that decides the answer.
        judge: hash of the judge's identity in this task.
        query: hash of the query's text.
        passages: [slot] hashes of their texts.
    """

    call: str
    judge: str
    query: str
    passages: tuple[str, ...]


def key_of(judge: Judge, question: Question) -> AnswerKey:
    """The key of a question to a judge.

    Args:
        judge: the judge to ask.
    """
    return key_for(judge.identity(question.task), question)


def key_for(identity: Mapping[str, Any], question: Question) -> AnswerKey:
    """The key of a question to the judge with this identity.

    Args:
        identity: of the judge, in the task of the question.
    """
    about = json.dumps([FORMAT, question.task, dict(identity)], sort_keys=True)
    asked = hashlib.sha256(about.encode()).hexdigest()
    query, passages = text_hash([question.query]), tuple(text_hash([text]) for text in question.passages)
    whole = json.dumps([asked, query, passages, question.sample])
    return AnswerKey(hashlib.sha256(whole.encode()).hexdigest(), asked, query, passages)
