"""Given names next to a family name: "J. Tolkien", "John Tolkien" or "Tolkien, J. R." for John Ronald Reuel Tolkien.

Given names match an author where each equals or abbreviates one of the author's, in order; joined initials of a table,
"J.R.R.", match names that begin with them. An initial has a full stop, or is joined with others, "JRR", since "a" and
"I" are words. This separates authors of one family, and an initial that matches none of them is another person's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from trueval.probes.ablations import MARKS

Authors = Mapping[int, tuple[str, ...]]

_WORD: Final = rf"\w[\w{MARKS}]*"
_PARTS: Final = re.compile(_WORD)
_BEFORE: Final = re.compile(rf"(?P<word>{_WORD})(?P<dot>\.?)(?P<join>[ -]?)$")
_AFTER: Final = re.compile(rf"[ -]?(?P<word>{_WORD})(?P<dot>\.?)")
_NEXT: Final = re.compile(r" (?P<letter>\w)")
NEAR: Final = 80  # characters searched for a given name
TOGETHER: Final = range(2, 5)  # initials without full stops


class GivenNames(NamedTuple):
    """A family name with adjacent given names.

    Attributes:
        authors: indices of the authors of this family name whom the given names fit.
        given: whether there are given names: "", "names" or "initials".
        inverted: whether the given names come after the family name.
    """

    start: int
    end: int
    authors: tuple[int, ...]
    given: str = ""
    inverted: bool = False


class _GivenName(NamedTuple):
    """A given name in a text.

    Attributes:
        text: case-folded, without its full stop.
        short: whether it is an initial or another abbreviation.
    """

    text: str
    short: bool


def split_given_names(given: str) -> tuple[str, ...]:
    """The given names of an author, one by one and case-folded.

    >>> split_given_names("Jean-Baptiste Élie"), split_given_names("J.R.R.")
    (('jean', 'baptiste', 'élie'), ('j', 'r', 'r'))
    """
    return tuple(part.casefold() for part in _PARTS.findall(given))


def find_by_initials(initials: str, authors: Authors) -> tuple[int, ...]:
    """The authors whose given names match initials.

    Args:
        initials: initials as returned by `ablations.initials`.
        authors: author index → given names.

    >>> find_by_initials("M.", {0: ("manon", "odile"), 1: ("marie",), 2: ("anna",)})
    (0, 1)
    """
    return _fit([_GivenName(each, short=True) for each in split_given_names(initials)], authors)


def find_given_names(text: str, start: int, end: int, least: int, authors: Authors) -> GivenNames | None:
    """A family name with adjacent given names; alone where there are none.

    Args:
        text: text with normalized spaces, apostrophes and hyphens.
        start: start of the family name.
        least: earliest position at which the name may begin, where the previous name ends.
        authors: authors of this family name, each with the given names.

    Returns:
        None where the given names are those of another person.

    >>> find_given_names("by J. Tolkien", 6, 13, 0, {0: ("john", "ronald", "reuel")})
    GivenNames(start=3, end=13, authors=(0,), given='initials', inverted=False)
    """
    names: list[_GivenName] = []
    begin, fit = start, tuple(authors)
    for found in _words_before(text, start, least):
        more = _read(found)
        taken = next(((own, who) for own in more if (who := _fit([*own, *names], authors))), None)
        if taken is None:
            if any(each.short for own in more for each in own) and found["dot"]:
                return None  # an initial of another person
            break
        names, fit, begin = [*taken[0], *names], taken[1], found.start()
    if names:
        return GivenNames(begin, end, fit, _kind(names))
    return _after(text, start, end, authors)


def _after(text: str, start: int, end: int, authors: Authors) -> GivenNames:
    """A family name with the given names after it, as in a bibliography."""
    names: list[_GivenName] = []
    comma = text[end : end + 1] == ","
    stop, place, fit = end, end + comma, tuple(authors)
    while found := _AFTER.match(text, place):
        more = [own for own in _read(found) if comma or found["dot"]]
        taken = next(((own, who) for own in more if (who := _fit([*names, *own], authors))), None)
        if taken is None:
            break
        names, fit, stop = [*names, *taken[0]], taken[1], found.end()
        place = stop
    other = _NEXT.match(text, stop)
    # "Tolkien, J. Smith" are two: one given name before another capital is that of who comes next.
    if not names or (len(names) == 1 and other is not None and other["letter"].isupper()):
        return GivenNames(start, end, tuple(authors))
    return GivenNames(start, stop, fit, _kind(names), inverted=True)


def _words_before(text: str, start: int, least: int) -> Iterator[re.Match[str]]:
    """Words that end where a name begins, last first."""
    while found := _BEFORE.search(text, max(least, start - NEAR), start):
        if not (found["dot"] or found["join"]):
            return
        yield found
        start = found.start()


def _read(found: re.Match[str]) -> list[list[_GivenName]]:
    """How a word can be read: a given name, an abbreviation, or joined initials; empty for other words."""
    word, folded = found["word"], found["word"].casefold()
    if not word[0].isupper():
        return []
    if found["dot"]:
        return [[_GivenName(folded, short=True)]]
    letters = split_given_names(".".join(word)) if word.isupper() and len(word) in TOGETHER else ()
    names = [[_GivenName(folded, short=False)]] if len(word) > 1 else []
    return [*names, *([[_GivenName(each, short=True) for each in letters]] if letters else [])]


def _fit(names: list[_GivenName], authors: Authors) -> tuple[int, ...]:
    """The authors whose names match given names."""
    return tuple(author for author, given in authors.items() if _fits(names, given))


def _fits(names: list[_GivenName], given: tuple[str, ...]) -> bool:
    """Whether names occur among an author's names in order."""
    rest = iter(given)
    return all(any(_is(name, each) for each in rest) for name in names)


def _is(name: _GivenName, given: str) -> bool:
    if name.short:
        return given.startswith(name.text)
    return given == name.text or (len(given) == 1 and name.text.startswith(given))


def _kind(names: list[_GivenName]) -> str:
    return "initials" if all(each.short for each in names) else "names"
