"""The grade descriptions that raters see: those that the judge was given, so that both use the same rubric.

An audit shows passages, or claims where audit.json of its collection says {"shows": "claims"}.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from trueval.errors import Place
from trueval.golden.judge.prompt import read_prompt

ABOUT: Final = "audit.json"  # of the folder of a collection
PASSAGES, CLAIMS = "passages", "claims"

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
# Of the labels of claims (prompts/support-0-3.v1.toml).
_CLAIMS: Final = {
    (1, 4): {
        4: "The text supports the claim in whole.",
        3: "It supports a part of the claim, and says nothing against the rest.",
        2: "It does not say whether the claim is true.",
        1: "It contradicts the claim: both cannot be true.",
    }
}


def read_shows(collection: str | None) -> str:
    """What the audit of a collection shows: "passages", or "claims".

    Args:
        collection: path or name of the collection.

    Raises:
        InputError: its audit.json says something else.
    """
    path = Path(collection or "") / ABOUT
    if collection is None or not path.is_file():
        return PASSAGES
    try:
        shows = json.loads(path.read_text(encoding="utf-8")).get("shows")
    except (ValueError, AttributeError):
        shows = None
    if shows not in (PASSAGES, CLAIMS):
        raise Place(str(path)).error(f'"shows" must be "{PASSAGES}" or "{CLAIMS}". Got {shows!r}.')
    return str(shows)


def anchors_of(task: str, scale: tuple[int, int], shows: str = PASSAGES) -> dict[int, str]:
    """Grade → its description; empty where the scale has none.

    Args:
        task: "grade", "order" or "answer".
        scale: lowest and highest grade.
        shows: "passages" or "claims".

    >>> anchors_of("grade", (0, 3))[0]
    'The passage has nothing to do with the query.'
    >>> anchors_of("grade", (0, 100))
    {}
    """
    if task == "answer":
        return dict(_ANSWERS.get(scale, {}))
    if task == "grade" and shows == CLAIMS:
        return dict(_CLAIMS.get(scale, {}))
    if task != "grade" or scale not in _PROMPTS:
        return {}
    found = _ANCHOR.findall(read_prompt(_PROMPTS[scale], "grade").text)
    return {int(grade): words for grade, words in found}
