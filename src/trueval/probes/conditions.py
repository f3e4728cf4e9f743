"""Conditions of the join: ways to change the queries of a collection, as the probes of names and noise change theirs.

Of the ten ablations of names those are here that say something of any query. The others need an author in it: they
change the names that a table of authors has, where a query holds one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from trueval.errors import PolicyError, nearest
from trueval.probes.ablations import CURLY, HYPHENS, stressed, without_diacritics
from trueval.probes.chatter import LEVELS, noisy
from trueval.probes.joined import Condition

NOISE: Final = "noise "
CASES: Final = (str.upper, str.lower, str.title)


def perturbed(text: str, number: int) -> str:
    """A text in another case, curly apostrophes straight, and hyphens as spaces.

    Args:
        text: of a query.
        number: of the case: upper, lower or title in turn.

    >>> [perturbed("L’après-midi", number) for number in range(3)]
    ["L'APRÈS MIDI", "l'après midi", "L'Après Midi"]
    """
    return HYPHENS.sub(" ", CASES[number % len(CASES)](text).translate(CURLY))


def _written() -> Iterator[Condition]:
    """The ablations of writing, on any text."""
    yield Condition("case_punct_upper", lambda text: perturbed(text, 0), "capitals, straight apostrophes, no hyphens")
    yield Condition(
        "case_punct_lower", lambda text: perturbed(text, 1), "small letters, straight apostrophes, no hyphens"
    )
    yield Condition("strip_diacritics", without_diacritics, "no diacritical marks")
    yield Condition(
        "unicode_normalization_stress", stressed, "characters in parts (NFD), narrow no-break spaces before : ; and !"
    )


def conditions(language: str, *, seed: int = 0) -> Mapping[str, Condition]:
    """Every condition by its name, mildest first.

    Args:
        language: of the chatter, "en" or "fr".
        seed: of the chatter.

    >>> list(conditions("en"))[:4]
    ['noise 1', 'noise 2', 'noise 3', 'noise 4']
    """

    def chatter(level: int) -> Condition:
        def change(text: str) -> str:
            return noisy(text, level, language, seed=seed).text

        return Condition(f"{NOISE}{level}", change, f"chatter of level {level} around the query")

    every = [*(chatter(level) for level in range(1, len(LEVELS))), *_written()]
    return {each.name: each for each in every}


def find_conditions(names: Sequence[str] | None, language: str, *, seed: int = 0) -> list[Condition]:
    """Conditions by their names; all for None.

    Args:
        names: "noise 4", also as "noise-4" or "noise4".
        language: of the chatter.
        seed: of the chatter.

    Raises:
        PolicyError: there is none of a name; the nearest is offered.

    >>> [each.name for each in find_conditions(["noise-4", "strip_diacritics"], "fr")]
    ['noise 4', 'strip_diacritics']
    """
    every = conditions(language, seed=seed)
    if names is None:
        return list(every.values())
    plain = {name.replace(" ", ""): name for name in every}
    found = []
    for name in names:
        known = plain.get(name.replace(" ", "").replace("-", ""))
        if known is None:
            there = ", ".join(each.replace(" ", "-") for each in every)
            raise PolicyError(f"there is no condition {name!r}. There are: {there}.{nearest(name, plain)}")
        found.append(every[known])
    return found
