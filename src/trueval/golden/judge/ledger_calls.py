"""Ledger calls as JSON lines; another ledger imports a call if its key matches its content."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from trueval.errors import Place
from trueval.golden.judge.judge import TASKS, JudgeAnswer, JudgeLabel, JudgeUsage, Question, key_for


class BilledUsage(NamedTuple):
    """Billed usage of one judge's answers to one task.

    Attributes:
        calls: number of calls with reported tokens.
        passages: number of passages in these calls.
        tokens_out: output tokens of these answers, including reasoning tokens.
    """

    calls: int
    passages: int
    tokens_out: int


def answer_of(call: Mapping[str, Any]) -> JudgeAnswer:
    """The answer of a recorded call.

    Args:
        call: call as returned by the ledger.
    """
    labels = tuple(None if label is None else JudgeLabel(*label) for label in call["labels"])
    usage = JudgeUsage(call["tokens_in"], call["tokens_out"], call["cost"])
    raw, problems = tuple(call["raw"]), tuple(call["problems"])
    return JudgeAnswer(
        labels, tuple(call["ranking"]), call["text"], raw, problems, call["model"], usage, call["seconds"]
    )


def question_of(call: Mapping[str, Any]) -> Question:
    """The question of a recorded call with its texts.

    Args:
        call: call as returned by the ledger.
    """
    return Question(call["task"], call["query"], tuple(call["passages"]), call["sample"])


def lines_in(path: Path) -> list[str]:
    """The lines of a file.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Place(str(path)).error(f"cannot be read ({error}). It must be an exported ledger.") from None


def read_call(line: str, place: Place) -> tuple[dict[str, object], list[tuple[str, str]]]:
    """Parse and check a call of an exported ledger, with its texts.

    Args:
        place: position of the line, for errors.

    Raises:
        InputError: it is not a call, or its key is not that of what it holds.
    """
    try:
        call = json.loads(line)
        if call["task"] not in TASKS or not isinstance(call["time"], str):
            raise ValueError(call["task"])
        question = question_of(call)
        key = key_for(call["identity"], question)
        answer = answer_of(call)
        if any(label is not None and not isinstance(label.grade, int) for label in answer.labels):
            raise ValueError(call["labels"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise place.error(f"not a call of a ledger ({error!r}). Export the ledger again.") from None
    if key.call != call["key"] or len(answer.labels) not in (0, len(question.passages)):
        raise place.error("the key is not that of what was asked: the line was changed. Export the ledger again.")
    texts = [(key.query, question.query), *zip(key.passages, question.passages, strict=True)]
    return {**call, "query": key.query, "passages": key.passages}, texts
