"""Query noise: synthetic conversational text around a question, in five levels.

Our own templates are sampled by seed, independently for each part: a query has the same greeting at every level with a
greeting, so that levels differ only in what they add. The parts of each level are in `LEVELS`:

| level | around the question | in the question |
|---|---|---|
| 0 | nothing | nothing |
| 1 | a greeting | nothing |
| 2 | a greeting, a frame ("Quick question:"), thanks | 1 filler ("um,") |
| 3 | the same, a digression, an emoji | 2 fillers; typed on a phone |
| 4 | the same, 2 digressions, 3 emoji, words of another language | 3 fillers; typed on a phone; typos in 15 % of the
words of 5 letters and more; in one of three queries characters in parts, as some systems copy them (NFD) |

Typed on a phone: typographic apostrophes, the ellipsis character, and in French narrow no-break spaces before : ; ! and
?.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from math import factorial, prod
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from trueval.errors import InputError, nearest

Kind: TypeAlias = Literal["question", "greeting", "frame", "filler", "digression", "thanks", "emoji", "switch", "space"]
KNOWN: Final = "known"  # templates that the rules of denoise.py were written for
HELD_OUT: Final = "held-out"  # templates held out from them
BANKS: Final = (KNOWN, HELD_OUT)
LANGUAGES: Final = ("en", "fr")
PARTS: Final = ("greeting", "frame", "filler", "digression", "thanks", "emoji", "switch")
TYPOS: Final = 0.15  # share of long words that get a typo
LONG: Final = 5  # minimum length of a long word
IN_PARTS: Final = 1 / 3  # share of queries in NFD at level 4
SLOT: Final = re.compile(r"\{(\w+)\}")
WORD: Final = re.compile(r"[^\W\d_]+")
NARROW: Final = "\u202f"


class Level(NamedTuple):
    """The noise that a level adds.

    Attributes:
        counts: part → number of texts.
        phone: whether the text is written as typed on a phone.
        typos: whether words of the question get typos, and some queries are decomposed (NFD).
    """

    counts: Mapping[str, int]
    phone: bool = False
    typos: bool = False


_USUAL: Final = {"greeting": 1, "frame": 1, "thanks": 1}
LEVELS: Final[tuple[Level, ...]] = (
    Level({}),
    Level({"greeting": 1}),
    Level({**_USUAL, "filler": 1}),
    Level({**_USUAL, "filler": 2, "digression": 1, "emoji": 1}, phone=True),
    Level({**_USUAL, "filler": 3, "digression": 2, "emoji": 3, "switch": 1}, phone=True, typos=True),
)


class NoisePiece(NamedTuple):
    """A segment of a noisy text."""

    text: str
    kind: Kind


class Noisy(NamedTuple):
    """A question with noise.

    Attributes:
        pieces: segments in order; those of kind "question" are the question, with its typos.
    """

    pieces: tuple[NoisePiece, ...]

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def added(self) -> float:
        """Share of noise characters, spaces excluded."""
        sizes = [(len("".join(piece.text.split())), piece.kind == "question") for piece in self.pieces]
        total = sum(size for size, _ in sizes)
        return sum(size for size, asked in sizes if not asked) / total if total else 0.0


class NoiseTemplates(NamedTuple):
    """Templates of one bank and language.

    Attributes:
        parts: part → templates.
        slots: slot name → possible fillings.
    """

    parts: Mapping[str, tuple[str, ...]]
    slots: Mapping[str, tuple[str, ...]]

    def sizes(self, part: str) -> list[int]:
        """Number of distinct texts per template of a part, over all slot fillings."""
        return [prod(len(self.slots[slot]) for slot in SLOT.findall(each)) for each in self.parts[part]]


@cache
def templates(bank: str, language: str) -> NoiseTemplates:
    """Load the templates of a bank.

    Args:
        bank: "known" or "held-out".
        language: "en" or "fr".

    Raises:
        InputError: there is no such bank or language.

    >>> "Quick question:" in templates("known", "en").parts["frame"]
    True
    """
    for given, known, what in ((bank, BANKS, "bank of templates"), (language, LANGUAGES, "language of chatter")):
        if given not in known:
            raise InputError(f"{what} must be one of {', '.join(known)}. Got {given!r}.{nearest(given, known)}")
    file = files(__package__) / "data" / f"chatter.{bank}.{language}.toml"
    found = tomllib.loads(file.read_text(encoding="utf-8"))
    return NoiseTemplates(
        {part: tuple(found[part]) for part in PARTS}, {slot: tuple(each) for slot, each in found["slots"].items()}
    )


def variety(level: int, language: str, bank: str = KNOWN) -> int:
    """Number of distinct texts of one query at a level, without positions of fillers and typos.

    Several digressions, fillers or emoji of one text come from different templates.

    Args:
        level: 0 to 4.
        language: "en" or "fr".

    >>> variety(0, "en"), variety(1, "en") == sum(templates("known", "en").sizes("greeting"))
    (1, True)
    """
    found = templates(bank, language)
    return prod(_ways(found.sizes(part), count) for part, count in LEVELS[level].counts.items())


def _ways(sizes: Sequence[int], count: int) -> int:
    """Number of ordered choices from distinct templates: count! times the elementary symmetric polynomial of sizes.

    >>> _ways([2, 3], 1), _ways([2, 3], 2)
    (5, 12)
    """
    sums = [1, *[0] * count]
    for size in sizes:
        for chosen in range(count, 0, -1):
            sums[chosen] += size * sums[chosen - 1]
    return sums[count] * factorial(count)


def noisy(query: str, level: int, language: str, *, seed: int = 0, bank: str = KNOWN) -> Noisy:
    """A question with the noise of a level.

    Args:
        query: question, or keywords.
        level: 0 to 4; 0 leaves the query unchanged.
        language: language of the noise, "en" or "fr".
        seed: seed of all draws; those of a query do not depend on the other queries.

    Raises:
        InputError: the level, the language or the bank is unknown.

    >>> noisy("Are forests cool?", 1, "en").text.endswith(" Are forests cool?")
    True
    """
    if level not in range(len(LEVELS)):
        raise InputError(f"The level of noise must be from 0 to {len(LEVELS) - 1}. Got {level!r}.")
    found, chosen = templates(bank, language), LEVELS[level]
    draw = _Draw(found, seed, language, bank, query)
    around = {part: draw.some(part, count) for part, count in chosen.counts.items()}
    asked = draw.typos(query) if chosen.typos else query
    pieces = list(_arrange_pieces(around, draw.with_fillers(asked, around.get("filler", ()))))
    if chosen.phone:
        pieces = [NoisePiece(on_phone(piece.text, language), piece.kind) for piece in pieces]
    if chosen.typos and draw.rng("parts").random() < IN_PARTS:
        pieces = [NoisePiece(unicodedata.normalize("NFD", piece.text), piece.kind) for piece in pieces]
    return Noisy(tuple(pieces))


def on_phone(text: str, language: str) -> str:
    """A text as typed on a phone.

    >>> on_phone("Wait... what's up?", "en"), on_phone("C'est quoi ?", "fr") == "C\u2019est quoi\u202f?"
    ('Wait… what’s up?', True)
    """
    text = text.replace("'", "’").replace("...", "…")
    return re.sub(r" ([:;!?])", rf"{NARROW}\1", text) if language == "fr" else text


def _arrange_pieces(around: Mapping[str, Sequence[str]], asked: Sequence[NoisePiece]) -> Iterator[NoisePiece]:
    """The pieces in natural order, separated by spaces."""
    digressions, emoji = around.get("digression", ()), around.get("emoji", ())
    first: list[tuple[str, Kind]] = [(each, "greeting") for each in around.get("greeting", ())]
    first += [(each, "digression") for each in digressions[:1]]
    first += [(each, "frame") for each in around.get("frame", ())]
    last: list[tuple[str, Kind]] = [(each, "emoji") for each in emoji[:1]]
    last += [(each, "digression") for each in digressions[1:]]
    last += [(each, "switch") for each in around.get("switch", ())]
    last += [(each, "thanks") for each in around.get("thanks", ())]
    last += [(each, "emoji") for each in emoji[1:]]
    for text, kind in first:
        yield from (NoisePiece(text, kind), NoisePiece(" ", "space"))
    yield from asked
    for text, kind in last:
        yield from (NoisePiece(" ", "space"), NoisePiece(text, kind))


class _Draw:
    """Random choices for one query: each part has its own generator, so that levels share common parts."""

    def __init__(self, found: NoiseTemplates, seed: int, language: str, bank: str, query: str) -> None:
        self.found, self.about = found, (str(seed), language, bank, query)

    def rng(self, part: str) -> np.random.Generator:
        """A generator seeded by a hash of everything that determines the draw."""
        parts = "\0".join((*self.about, part)).encode("utf-8", "surrogatepass")
        return np.random.default_rng(int.from_bytes(hashlib.sha256(parts).digest()[:16], "big"))

    def some(self, part: str, count: int) -> tuple[str, ...]:
        """Texts of different templates; a larger number extends a smaller one."""
        rng, every = self.rng(part), self.found.parts[part]
        order = rng.permutation(len(every))[:count].tolist()
        return tuple(self._fill(every[place], self.rng(f"{part} {at}")) for at, place in enumerate(order))

    def _fill(self, template: str, rng: np.random.Generator) -> str:
        def fill(slot: re.Match[str]) -> str:
            choices = self.found.slots[slot[1]]
            return choices[int(rng.integers(len(choices)))]

        return SLOT.sub(fill, template)

    def typos(self, query: str) -> str:
        """The question with one wrong letter in some long words."""
        rng = self.rng("typos")

        def misspell(word: re.Match[str]) -> str:
            wrong, place = rng.random() < TYPOS, int(rng.integers(1, max(len(word[0]) - 2, 2)))
            slip = SLIPS[int(rng.integers(len(SLIPS)))]
            return slip(word[0], place) if wrong and len(word[0]) >= LONG else word[0]

        return WORD.sub(misspell, query)

    def with_fillers(self, asked: str, fillers: Sequence[str]) -> list[NoisePiece]:
        """The question with fillers before some words, the first before the first word."""
        words = re.split(r"(?<=\s)(?=\S)", asked)
        rng = self.rng("places")
        pieces: list[NoisePiece] = []
        places = [0, *(1 + rng.permutation(max(len(words) - 1, 1))).tolist()][: len(fillers)]
        for place, word in enumerate(words):
            for filler in (filler for filler, at in zip(fillers, places, strict=False) if at == place):
                pieces += [NoisePiece(filler, "filler"), NoisePiece(" ", "space")]
            pieces.append(NoisePiece(word, "question"))
        return pieces


SLIPS: Final[tuple[Callable[[str, int], str], ...]] = (
    lambda word, at: word[:at] + word[at + 1] + word[at] + word[at + 2 :],  # swap two letters
    lambda word, at: word[:at] + word[at + 1 :],  # drop a letter
    lambda word, at: word[:at] + word[at] + word[at:],  # double a letter
)
