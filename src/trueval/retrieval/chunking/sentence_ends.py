"""Sentences: where they end, in English, French and other languages that write a full stop.

A sentence ends after . ! ? or … and closing quotes and brackets, before a blank and what can begin another one; not
after an abbreviation, an initial or the number of a list. Chinese and Japanese marks end one without a blank. An empty
line, and a line that begins with a bullet or a heading, always begins another one.
"""

from __future__ import annotations

import re
from typing import Final

Span = tuple[int, int]

CLOSING: Final = "\"'”’»)\\]"
OPENING: Final = "\"'“‘«(\\["
END: Final = re.compile(
    rf"(?P<stop>[.!?…]+[{CLOSING}]*(?:\s*»)?)(?=\s+[{OPENING}]*\s?[^\W_a-zà-öø-ÿ])"  # before what is no small letter
    r"|[。！？]+[」』）]*"
    r"|\n[ \t]*\n\s*"
    r"|\n(?=[ \t]*(?:[-*•–]|\d+[.)]|#{1,6})[ \t])"
)
# Abbreviations after which a full stop ends no sentence, in lower case and without it.
ABBREVIATIONS: Final = frozenset(
    (
        *(
            "mr",
            "mrs",
            "ms",
            "dr",
            "prof",
            "st",
            "sr",
            "jr",
            "vs",
            "etc",
            "e.g",
            "i.e",
            "cf",
            "al",
            "fig",
            "figs",
            "eq",
        ),
        *("eqs", "sec", "ch", "vol", "no", "nos", "pp", "p", "ed", "eds", "approx", "ca", "inc", "ltd", "co", "dept"),
        *("m", "mm", "mme", "mlle", "me", "art", "al", "chap", "éd", "env", "ex", "p.ex", "av", "apr", "réf", "tél"),
        *("jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "janv", "févr", "déc"),
    )
)
# Abbreviations that end no sentence only before a lower-case letter or a number: "etc." before a capital ends one.
ENDS_BEFORE_CAPITALS: Final = frozenset(("etc", "al", "inc", "ltd", "co", "jr", "sr"))
WORD_BEFORE: Final = re.compile(r"[^\s(\[«“\"']+$")


def sentence_spans(text: str) -> list[Span]:
    """Where each sentence starts and ends, without the blanks around it; together they hold every other character.

    >>> text = "Dr. Low saw it. It was 3.5 m high! Why?"
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Dr. Low saw it.', 'It was 3.5 m high!', 'Why?']
    """
    spans, start = [], 0
    for match in END.finditer(text):
        if match["stop"] is not None and _goes_on(text, match.start("stop"), match["stop"], match.end()):
            continue
        spans.append((start, match.end()))
        start = match.end()
    spans.append((start, len(text)))
    return [span for span in (_trim_span(text, *each) for each in spans) if span[0] < span[1]]


def _goes_on(text: str, stop: int, mark: str, after: int) -> bool:
    """Whether a full stop ends an abbreviation, an initial or a number, and no sentence."""
    if mark != ".":
        return False
    found = WORD_BEFORE.search(text, max(0, stop - 20), stop)
    word = found[0] if found else ""
    if len(word) == 1 and word.isupper() and word != "I":
        return True
    if word.isdigit() and _begins(text, stop - len(word)):
        return True  # the number of a list item
    lower = word.lower()
    if lower not in ABBREVIATIONS:
        return False
    while after < len(text) and text[after].isspace():
        after += 1
    return not (lower in ENDS_BEFORE_CAPITALS and text[after : after + 1].isupper())


# Character by character, since slices of a document without line feeds would copy all of it at every full stop.
def _begins(text: str, at: int) -> bool:
    """Whether a line, or a part of it after a mark that ends something, begins here, blanks left out."""
    while at > 0 and text[at - 1] != "\n" and text[at - 1].isspace():
        at -= 1
    return at == 0 or text[at - 1] in "\n.!?:;"


def _trim_span(text: str, start: int, end: int) -> Span:
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - (len(part) - len(part.rstrip()))
