"""The grade descriptions that raters see: those that the judge was given, so that both use the same rubric."""

from __future__ import annotations

import re
from typing import Final

from trueval.golden.judge.prompt import read_prompt

_PROMPTS: Final = {(1, 5): "grade-1-5", (0, 3): "grade-0-3"}
_ANCHOR: Final = re.compile(r"^(\d)  (\S.*)$", re.MULTILINE)
# P-B has no rubric for answers: these follow its rubric for passages (2.4).
_ANSWERS: Final = {
    (1, 5): {
        5: "Correct and complete: nothing is missing and nothing in it is wrong.",
        4: "Correct, and something small is missing or loosely said.",
        3: "Correct in part: a substantial part is missing, unclear or doubtful.",
        2: "Mostly wrong or beside the question, with something of use in it.",
        1: "Wrong, harmful, or no answer.",
    },
    (0, 3): {
        3: "Correct and complete.",
        2: "Correct, and something is missing or unclear.",
        1: "Mostly wrong or beside the question, with something of use in it.",
        0: "Wrong, or no answer.",
    },
}


def anchors_of(task: str, scale: tuple[int, int]) -> dict[int, str]:
    """Grade → its description; empty where the scale has none.

    Args:
        task: "grade", "order" or "answer".
        scale: lowest and highest grade.

    >>> anchors_of("grade", (0, 3))[0]
    'The passage has nothing to do with the query.'
    >>> anchors_of("grade", (0, 100))
    {}
    """
    if task == "answer":
        return dict(_ANSWERS.get(scale, {}))
    if task != "grade" or scale not in _PROMPTS:
        return {}
    found = _ANCHOR.findall(read_prompt(_PROMPTS[scale], "grade").text)
    return {int(grade): words for grade, words in found}
