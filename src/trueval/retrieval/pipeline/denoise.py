"""Rule-based denoising: the text around a question is removed, and the question stays unchanged.

The rules of data/denoise.toml match greetings, thanks, frames ("quick question:"), fillers between commas, emoji, and,
next to one of these, short first-person sentences that share no word with the question. They add no words, and never
remove everything: such a text stays unchanged. How much of questions they lose is measured (docs/probes.md).
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from trueval.retrieval.indexes.analysis import APOSTROPHES

SENTENCE_END: Final = re.compile(r"(?<![.!?])[.!?]++(?=\s|$)|\n+")
CLOSING: Final = (",", ".", ";", "?", "!")
WORD: Final = re.compile(r"[^\W_]+")
LONG: Final = 4  # letters of a word that two sentences must share to be about the same
ASIDE: Final = 14  # maximum words of a digression; longer sentences describe the need
GAP: Final = r"[\s,;:.!?\-–—…()]*"
# Emoji, with their variation selectors, joiners, skin tones and flags.
PICTURES: Final = re.compile(
    "[\U0001f000-\U0001faff\u2600-\u27bf\u2b00-\u2bff\u2190-\u21ff]|[\ufe0e\ufe0f\u200d\U0001f3fb-\U0001f3ff]"
)
EMOTICON: Final = re.compile(r"(?<!\S)(?:[:;=8x]['\-o^]?[)(dp|/\\*]+|<3+|\^[_.-]?\^|[)(]['\-]?[:;=])(?!\w)")


class TextSpan(NamedTuple):
    """A span of a text, from start up to but excluding end."""

    start: int
    end: int


class _Rules(NamedTuple):
    """The compiled rules of data/denoise.toml."""

    lead: re.Pattern[str]
    trail: re.Pattern[str]
    filler: re.Pattern[str]
    always: re.Pattern[str]
    personal: re.Pattern[str]
    aside: re.Pattern[str]


@cache
def _rules() -> _Rules:
    found = tomllib.loads((files(__package__) / "data" / "denoise.toml").read_text(encoding="utf-8"))
    any_of = {name: "|".join(f"(?:{each})" for each in found[name]) for name in found}
    goes_on = rf"(?:[^\w' ]|$|(?:{any_of['goes_on']})\b)"
    return _Rules(
        lead=re.compile(rf"{GAP}(?:(?:{any_of['lead']})(?![\w'])|(?:{any_of['polite']})(?= *{goes_on}))"),
        trail=re.compile(rf"(?<![\w'])(?:{any_of['trail']}){GAP}$"),
        filler=re.compile(rf", ?(?:{any_of['filler']})(?= ?[,?])|(?<=\s)(?:{any_of['filler']}) ?,"),
        always=re.compile(rf"(?<![\w'])(?:{any_of['always']})(?![\w'])"),
        personal=re.compile(rf"(?<![\w'])(?:{any_of['personal']})(?![\w'])"),
        aside=re.compile(rf"{GAP}(?:{any_of['aside']}){GAP}$"),
    )


def denoise(text: str) -> str:
    """Remove the noise around a question; unchanged where no rule applies, or nothing would remain.

    >>> denoise("Hi! Quick question: um, can forests regulate the climate? Thanks 🙏")
    'can forests regulate the climate?'
    >>> denoise("Merci !"), denoise("the climate of forests")
    ('Merci !', 'the climate of forests')
    """
    cut = find_noise_spans(text)
    if not cut:
        return text
    left, place = "", 0
    for span in (*cut, TextSpan(len(text), len(text))):
        part = text[place : span.start]
        place = span.end
        # A comma stays with the word before it.
        left += part if part[:1] in CLOSING else f" {part}"
    return re.sub(r"\s{2,}", " ", left).strip()


def find_noise_spans(text: str) -> tuple[TextSpan, ...]:
    """The spans that `denoise` removes, in order; empty where nothing would remain.

    >>> find_noise_spans("Hi! Why?"), find_noise_spans("Hi!")
    ((TextSpan(start=0, end=3),), ())
    """
    seen = _TextView.of(text)
    gone = _mark_removed(seen.view)
    left = "".join(" " if out else char for char, out in zip(seen.view, gone, strict=True))
    if not any(gone) or not WORD.search(left):
        return ()
    return tuple(_spans(seen, gone))


class _TextView(NamedTuple):
    """A text as the rules see it: one plain character per grapheme.

    Attributes:
        view: lower case, no accents, one kind of space and apostrophe; "." for three dots.
        starts: [view + 1] start of each character in the text.
    """

    view: str
    starts: Sequence[int]

    @classmethod
    def of(cls, text: str) -> _TextView:
        chars: list[str] = []
        starts: list[int] = []
        for place, char in enumerate(text):
            # A combining accent belongs to the letter before it, so composed and decomposed texts look the same.
            if chars and unicodedata.combining(char):
                continue
            chars.append(_plain(char))
            starts.append(place)
        return cls("".join(chars), (*starts, len(text)))


@cache
def _plain(char: str) -> str:
    if char in APOSTROPHES:
        return "'"
    if char.isspace():
        return "\n" if char in "\n\r\u2028\u2029" else " "
    if char == "…":
        return "."
    return unicodedata.normalize("NFD", char)[0].lower()[0]


def _mark_removed(view: str) -> list[bool]:
    """[character] whether the rules remove it."""
    rules, gone = _rules(), [False] * len(view)

    def take(start: int, end: int) -> None:
        gone[start:end] = [True] * (end - start)

    for pattern in (PICTURES, EMOTICON, rules.always):
        for found in pattern.finditer(view):
            take(*found.span())
    # An emoji ends a sentence that has no full stop.
    view = "".join("\n" if out else char for char, out in zip(view, gone, strict=True))
    sentences = [_Sentence.of(view, span) for span in _sentences(view)]
    for each in sentences:
        for span in each.cut:
            take(*span)
    # Without greeting or thanks, first-person sentences belong to the question.
    if any(gone):
        for each in _digressions(sentences):
            take(*each.span)
    return gone


class _Sentence(NamedTuple):
    """A sentence with its noise marked.

    Attributes:
        cut: spans of noise inside it.
        framed: whether it was announced as the question, by a colon after removed text.
    """

    span: TextSpan
    cut: tuple[TextSpan, ...]
    rest: str
    framed: bool

    @classmethod
    def of(cls, view: str, span: TextSpan) -> _Sentence:
        rules, start, end = _rules(), span.start, span.end
        cut, framed = [], False
        while (found := rules.lead.match(view, start, end)) and found.end() > start:
            after = re.compile(GAP).match(view, found.end(), end)
            stop = after.end() if after else found.end()
            framed = framed or ":" in view[found.end() : stop]
            cut.append(TextSpan(start, stop))
            start = stop
        trail = rules.trail.search(view[start:end])
        if trail and (
            trail.start() == 0 or view[start:end][: trail.start()].rstrip()[-1:] in {",", "-", ".", "?", "!"}
        ):
            cut.append(TextSpan(start + trail.start(), end))
            end = start + trail.start()
        cut += [TextSpan(*found.span()) for found in rules.filler.finditer(view, start, end)]
        rest = list(view[span.start : span.end])
        for begin, stop in cut:
            rest[begin - span.start : stop - span.start] = " " * (stop - begin)
        return cls(span, tuple(cut), "".join(rest), framed)

    @property
    def is_question(self) -> bool:
        """Whether it is a question, or was announced as one."""
        return bool(WORD.search(self.rest)) and (self.framed or "?" in self.rest)

    @property
    def words(self) -> set[str]:
        """Its long words, as an indication of its topic."""
        return {word for word in WORD.findall(self.rest) if len(word) >= LONG}


def _sentences(view: str) -> Iterator[TextSpan]:
    start = 0
    for found in SENTENCE_END.finditer(view):
        yield TextSpan(start, found.end())
        start = found.end()
    if start < len(view):
        yield TextSpan(start, len(view))


def _digressions(sentences: Sequence[_Sentence]) -> Iterator[_Sentence]:
    """First-person sentences next to a question with which they share no word."""
    full = [each for each in sentences if WORD.search(each.rest)]
    asked = [each for each in full if each.is_question]
    about = set().union(*(each.words for each in asked)) if asked else set()
    for each in full if len(full) > 1 else ():
        if each.is_question:
            continue
        if _rules().aside.match(each.rest) or (
            asked
            and len(WORD.findall(each.rest)) <= ASIDE
            and _rules().personal.search(each.rest)
            and not each.words & about
        ):
            yield each


def _spans(seen: _TextView, gone: Sequence[bool]) -> Iterator[TextSpan]:
    """The removed spans in the original text, with punctuation and spaces left over at its ends."""
    view = seen.view
    out = list(gone)
    for place in _from_ends(view, out):
        out[place] = True
    begin = None
    for place in range(len(view) + 1):
        if place < len(view) and out[place]:
            begin = place if begin is None else begin
        elif begin is not None:
            yield TextSpan(seen.starts[begin], seen.starts[place])
            begin = None


def _from_ends(view: str, out: Sequence[bool]) -> Iterator[int]:
    """Positions that can neither begin nor end a text once their neighbors are removed."""
    kept = [place for place in range(len(view)) if not out[place] and not view[place].isspace()]
    if kept and any(out[: kept[0]]):
        for place in kept:
            if view[place] not in ",;:.!?-–—)":
                break
            yield place
    if kept and any(out[kept[-1] :]):
        for place in reversed(kept):
            if view[place] not in ",;:-–—(":
                break
            yield place
