"""Responses of a model, parsed strictly: an invalid part gives no grade, and a one-line reason.

The requested form (as a JSON schema, where the server supports one):

    grade    {"passages": [{"passage": 1, "reason": "...", "grade": 4}, ...]}
    order    {"order": [3, 1, 2]}
    rewrite  {"query": "..."}
    question {"question": "...", "answer": "..."}    both empty where the passages allow none
    nuggets  {"nuggets": ["...", ...]}               empty where the passages hold none

Passages are numbered from 1, as shown. An invalid entry affects only its own passage; a passage that appears twice has
no grade, since it is ambiguous.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from trueval.golden.judge.judge import NUGGETS, WRITING, JudgeLabel, Question
from trueval.golden.judge.prompt import Prompt, sendable

REASON: Final = 2_000  # maximum number of characters of a reason, and of the answer to a written question
ASKED: Final = 500  # maximum number of characters of a written question or a nugget: more is a copy of its passage
# Key of a response, by task; that of a written question otherwise.
_NAMES: Final = {"grade": "passages", "order": "order", "rewrite": "query", NUGGETS: "nuggets"}
_FENCE: Final = re.compile(r"\s*```(?:json)?\s*\n(.*?)\n?```\s*", re.DOTALL)


class ParsedResponse(NamedTuple):
    """The valid labels of a response, and the reason where some are invalid.

    Attributes:
        labels: [slot] labels, for a grading question; None if there is no valid one.
        order: slots, best first.
        text: reworded query; or a written question, and after a line feed its answer; or nuggets, one a line.
        problems: one line each; empty if everything is valid.
    """

    labels: tuple[JudgeLabel | None, ...] = ()
    order: tuple[int, ...] = ()
    text: str = ""
    problems: tuple[str, ...] = ()


def schema(question: Question, prompt: Prompt) -> dict[str, object]:
    """The JSON schema of a response; all keys required, no others allowed.

    Args:
        prompt: prompt with the scale.
    """
    places = {"type": "integer", "enum": list(range(1, len(question.passages) + 1))}
    if question.task == "order":
        return _object({"order": {"type": "array", "items": places}})
    if question.task == "rewrite":
        return _object({"query": {"type": "string"}})
    if question.task in WRITING:
        return _object({"question": {"type": "string"}, "answer": {"type": "string"}})
    if question.task == NUGGETS:
        return _object({"nuggets": {"type": "array", "items": {"type": "string"}}})
    grade = {"type": "integer", "enum": sorted(prompt.grades)}
    # The reason comes before the grade, since a model writes from left to right.
    entry = _object({"passage": places, "reason": {"type": "string"}, "grade": grade})
    return _object({"passages": {"type": "array", "items": entry}})


def _object(properties: Mapping[str, object]) -> dict[str, object]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def parse(text: str | None, question: Question, prompt: Prompt) -> ParsedResponse:
    """Parse a response.

    Args:
        text: response; None if the model gave none.
        question: the question to which this responds.
        prompt: prompt with the scale.
    """
    nothing = ParsedResponse((None,) * len(question.passages) if question.task == "grade" else ())
    try:
        fenced = _FENCE.fullmatch(text or "")
        found = json.loads(fenced.group(1) if fenced else text or "")
    except (ValueError, RecursionError):
        return nothing._replace(problems=("it is not JSON" if text else "it is empty",))
    name = _NAMES.get(question.task, "question")
    if not isinstance(found, Mapping) or name not in found:
        return nothing._replace(problems=(f"it must be a JSON object with the key {name!r}",))
    if question.task in WRITING:
        return _parse_written(found["question"], found.get("answer", ""))
    read = {"grade": _grades, "order": _order, "rewrite": _query, NUGGETS: _nuggets}[question.task]
    return read(found[name], question, prompt)


def _grades(found: object, question: Question, prompt: Prompt) -> ParsedResponse:
    count = len(question.passages)
    labels: list[JudgeLabel | None] = [None] * count
    if not isinstance(found, list):
        return ParsedResponse(tuple(labels), problems=("'passages' must be a list",))
    problems = []
    times = Counter(_passage(entry, count) for entry in found)
    for entry in found:
        passage = _passage(entry, count)
        if passage is None:
            problems.append(f"an entry is not about a passage from 1 to {count}")
        elif times[passage] == 1:
            label = _label(entry, prompt)
            labels[passage - 1] = label
            if label is None:
                low, high = prompt.scale
                problems.append(f"the grade of passage {passage} is not an integer from {low} to {high}")
    twice = [f"passage {each} appears {times[each]} times" for each in sorted(filter(None, times)) if times[each] > 1]
    absent = [f"passage {each} has no entry" for each in range(1, count + 1) if not times[each]]
    return ParsedResponse(tuple(labels), problems=(*dict.fromkeys(problems), *twice, *absent))


def _passage(entry: object, count: int) -> int | None:
    place = entry.get("passage") if isinstance(entry, Mapping) else None
    return place if type(place) is int and 1 <= place <= count else None


def _label(entry: Mapping[str, object], prompt: Prompt) -> JudgeLabel | None:
    grade, reason = entry.get("grade"), entry.get("reason", "")
    if type(grade) is not int or grade not in prompt.grades:  # neither "5" nor 5.0 nor true is a grade
        return None
    return JudgeLabel(prompt.grades[grade], sendable(reason[:REASON]) if isinstance(reason, str) else "")


def _order(found: object, question: Question, _: Prompt) -> ParsedResponse:
    count = len(question.passages)
    if not isinstance(found, list) or any(type(each) is not int for each in found):
        return ParsedResponse(problems=("'order' must be a list of integers",))
    if sorted(found) != list(range(1, count + 1)):
        return ParsedResponse(problems=(f"'order' must name each passage from 1 to {count} exactly once",))
    return ParsedResponse(order=tuple(each - 1 for each in found))


def _query(found: object, question: Question, _: Prompt) -> ParsedResponse:
    if not isinstance(found, str) or not found.strip():
        return ParsedResponse(problems=("'query' must be a text",))
    return ParsedResponse(text=" ".join(sendable(found).split()))


def _nuggets(found: object, _: Question, __: Prompt) -> ParsedResponse:
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        return ParsedResponse(problems=("'nuggets' must be a list of texts",))
    texts = [" ".join(sendable(each).split()) for each in found]
    if any(len(text) > ASKED for text in texts):
        return ParsedResponse(problems=(f"a nugget must have at most {ASKED} characters",))
    return ParsedResponse(text="\n".join(filter(None, texts)))


def _parse_written(asked: object, answer: object) -> ParsedResponse:
    if not isinstance(asked, str) or not isinstance(answer, str):
        return ParsedResponse(problems=("'question' and 'answer' must be texts",))
    texts = [" ".join(sendable(each).split()) for each in (asked, answer)]
    if len(texts[0]) > ASKED:
        return ParsedResponse(problems=(f"'question' must have at most {ASKED} characters",))
    return ParsedResponse(text="\n".join([texts[0], texts[1][:REASON]]) if texts[0] else "")


def merge_responses(first: ParsedResponse, second: ParsedResponse) -> ParsedResponse:
    """Merge two responses to one question: the first where valid, completed by the second.

    Args:
        first: first response.
        second: response after the model was told the errors.
    """
    if not first.labels:
        return second if not second.problems else first._replace(problems=second.problems)
    labels = tuple(one or other for one, other in zip(first.labels, second.labels, strict=True))
    return first._replace(labels=labels, problems=second.problems if None in labels else ())
