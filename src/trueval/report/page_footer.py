"""Choices behind numbers, in words."""

from __future__ import annotations

import json
from collections.abc import Mapping

from trueval.policy.policy import OPTIONS
from trueval.report.number_texts import NOT_AVAILABLE

DEFAULTS: Mapping[str, str] = {"convention": "our own", "tie_precision": "as read", "depth": "no limit"}


def format_choice(value: object) -> str:
    """A choice as text; clusters are a count and a file.

    >>> format_choice({"count": 12, "source": "topics.tsv"})
    '12 (topics.tsv)'
    """
    if isinstance(value, Mapping):
        return f"{value['count']:,} ({value['source']})"
    return NOT_AVAILABLE if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def describe_choice(name: str, value: object) -> tuple[str, str, str]:
    """A choice of the policy in words: its name, its value and what it means.

    Args:
        name: attribute of the policy.
        value: value in the JSON.
    """
    # Results of a newer version may hold a choice that this one does not know: its name and value are shown alone.
    option = OPTIONS.get(name)
    meaning = option.about if option is not None else ""
    if option is not None and isinstance(value, str) and value in option.words:
        meaning += f": {option.words[value]}"
    if value is None:
        shown = DEFAULTS.get(name, "none")
    elif isinstance(value, bool):  # before the numbers: Python counts True as one of them
        shown = "yes" if value else "no"
    elif isinstance(value, float | int):
        shown = f"{value:g}"
    else:
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return name.replace("_", " "), shown, meaning
