"""Conditions of the join: the query changes of the name and noise probes, applied to a collection's queries.

Four change any query. With a table of authors, the name ablations that apply to a query are added; remove_label and
author_position_shift concern the layout of documents, and are not included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from trueval.errors import PolicyError, nearest
from trueval.probes.ablations import CURLY, HYPHENS, mask_of, stress_unicode, tokens_of, without_diacritics
from trueval.probes.authors import plain
from trueval.probes.edits import near_miss
from trueval.probes.mentions import BOTH, INITIALS, INVERTED, WHOLE, Mention, Mentions, forms
from trueval.probes.probe_retrieval_correlation import QueryChange
from trueval.probes.query_noise import LEVELS, noisy

NOISE: Final = "noise "
# Conditions that need a table of authors.
OF_NAMES: Final = (
    "hard_name_mask",
    "gibberish_name",
    "edit_distance_near_miss",
    "initials_form",
    "name_order_inversion",
)
# Form of a mention → the form with initials, or with the family name first.
INITIALS_OF: Final = {WHOLE: INITIALS, INVERTED: BOTH}
INVERTED_OF: Final = {WHOLE: INVERTED, INITIALS: BOTH}
CASES: Final = (str.upper, str.lower, str.title)


def perturb_writing(text: str, number: int) -> str:
    """Change the case, straighten curly apostrophes, and replace hyphens by spaces.

    Args:
        number: selects the case: upper, lower or title in turn.

    >>> [perturb_writing("L’après-midi", number) for number in range(3)]
    ["L'APRÈS MIDI", "l'après midi", "L'Après Midi"]
    """
    return HYPHENS.sub(" ", CASES[number % len(CASES)](text).translate(CURLY))


def _writing_conditions() -> Iterator[QueryChange]:
    """The orthographic ablations, for any text."""
    yield QueryChange(
        "case_punct_upper", lambda text: perturb_writing(text, 0), "capitals, straight apostrophes, no hyphens"
    )
    yield QueryChange(
        "case_punct_lower", lambda text: perturb_writing(text, 1), "small letters, straight apostrophes, no hyphens"
    )
    yield QueryChange("strip_diacritics", without_diacritics, "no diacritical marks")
    yield QueryChange(
        "unicode_normalization_stress",
        stress_unicode,
        "characters in parts (NFD), narrow no-break spaces before : ; and !",
    )


class _Names:
    """The name ablations, for the names in a query."""

    def __init__(self, mentions: Mentions, language: str) -> None:
        self.mentions, self.language = mentions, language

    def __iter__(self) -> Iterator[QueryChange]:
        changes = {
            self.mask: "one mask for each author, so that a name says nothing",
            self.token: "a token for each author: no name, and the same one every time",
            self.near: "one letter of the name is another one",
            self.initials: "given names as initials",
            self.invert: "the family name first, with a comma",
        }
        for name, (change, about) in zip(OF_NAMES, changes.items(), strict=True):
            yield QueryChange(name, partial(self.mentions.replace, change=change), about)

    def mask(self, found: Mention, _: str) -> str:
        return mask_of(self.language, found.author)

    def token(self, found: Mention, _: str) -> str:
        return next(tokens_of(plain(self.mentions.authors[found.author].text)))

    def near(self, _: Mention, written: str) -> str:
        return near_miss(written, 1, self.mentions.names)

    def initials(self, found: Mention, written: str) -> str:
        return self._as(INITIALS_OF, found, written)

    def invert(self, found: Mention, written: str) -> str:
        return self._as(INVERTED_OF, found, written)

    def _as(self, other: Mapping[str, str], found: Mention, written: str) -> str:
        """A replacement name in the form of the original mention; unchanged without such a form."""
        return forms(self.mentions.authors[found.author]).get(other.get(found.form, ""), written)


def conditions(language: str, *, seed: int = 0, mentions: Mentions | None = None) -> Mapping[str, QueryChange]:
    """All conditions by name, mildest first.

    Args:
        mentions: finder of the names in a table of authors, for the name ablations; None to omit these.

    >>> list(conditions("en"))[:4]
    ['noise 1', 'noise 2', 'noise 3', 'noise 4']
    """

    def add_noise(level: int) -> QueryChange:
        def change(text: str) -> str:
            return noisy(text, level, language, seed=seed).text

        return QueryChange(f"{NOISE}{level}", change, f"chatter of level {level} around the query")

    names = () if mentions is None else _Names(mentions, language)
    every = [*(add_noise(level) for level in range(1, len(LEVELS))), *_writing_conditions(), *names]
    return {each.name: each for each in every}


def find_conditions(
    names: Sequence[str] | None, language: str, *, seed: int = 0, mentions: Mentions | None = None
) -> list[QueryChange]:
    """Look up conditions by name; all of them for None.

    Args:
        names: "noise 4", also as "noise-4" or "noise4".

    Raises:
        PolicyError: there is none of a name; the nearest is offered.

    >>> [each.name for each in find_conditions(["noise-4", "strip_diacritics"], "fr")]
    ['noise 4', 'strip_diacritics']
    """
    every = conditions(language, seed=seed, mentions=mentions)
    if names is None:
        return list(every.values())
    plain = {name.replace(" ", ""): name for name in every}
    found = []
    for name in names:
        known = plain.get(name.replace(" ", "").replace("-", ""))
        if known is None and name in OF_NAMES:
            raise PolicyError(f"{name} changes the names of authors. Give their table with --table, or leave it out.")
        if known is None:
            there = ", ".join(each.replace(" ", "-") for each in every)
            raise PolicyError(f"there is no condition {name!r}. There are: {there}.{nearest(name, plain)}")
        found.append(every[known])
    return found
