"""Mentions: find the authors of a table in texts, and replace their names.

A full name, "Pieter van der Hoeven", "P. van der Hoeven" or "van der Hoeven, Pieter", matches in any case; the family
name alone, "van der Hoeven", only in its own case, capitalized or in capitals, so that a query about a rose is not one
about Rose. Adjacent given names are included, "J. Tolkien" of John Ronald Reuel (given_names.py). Names match at word
boundaries and not inside longer names: "O" is not in "O'Brien", nor "Smith" in "Smith-Jones", but in "Smith's",
"d'Angelo" and "Smith-like". Texts are read in NFC, and all apostrophes, hyphens and white space are equivalent.

An ambiguous name refers to the one author whom the text names in full, or to the last such author before it; otherwise
it is unresolved.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from trueval.probes.ablations import HYPHENS, MARKS, initials
from trueval.probes.authors import Authors, Name, plain
from trueval.probes.given_names import find_by_initials, find_given_names, split_given_names

APOSTROPHES: Final = re.compile("['’‘ʼ]")
SPACES: Final = re.compile(r"\s+")
WORD: Final = re.compile(r"\w+")
OF_WORDS: Final = re.compile(rf"[\w{MARKS}]")  # a mark belongs to the letter before it
# Suffixes that may follow a name after an apostrophe, and words that may be elided before one.
ENDINGS: Final = re.compile(r"'(?:(?:s|ll|d|ve|re|m)(?!\w)|(?!\w))", re.IGNORECASE)
ELIDED: Final = re.compile(r"(?<!\w)(?P<word>d|l|qu|jusqu|lorsqu|puisqu|quoiqu|dell|all|dall|nell|sull|un)['’‘ʼ]$")
# The full forms of French elisions, before a consonant.
WHOLE_WORDS: Final = {"d": "de", "l": "le"}
VOWELS: Final = frozenset("aeiouyhœæ")  # before a name in h, both forms occur
# Minimum letters of a family name for it to be a mention on its own: "Ba" is a name, but also begins many other words.
SHORTEST: Final = 3
WHOLE, FAMILY = "whole", "family"
INITIALS, INVERTED, BOTH = "initials", "inverted", "inverted initials"


class Mention(NamedTuple):
    """An author's name in a text.

    Attributes:
        start: position of its first character in the text in NFC.
        end: position after its last character.
        author: index of the author in `Mentions.authors`.
        form: form of the name, a key of `forms`.
    """

    start: int
    end: int
    author: int
    form: str


class _Form(NamedTuple):
    """A written form of one author's name, or of several who share it.

    Attributes:
        authors: indices of the authors.
        form: as in Mention.
        written: accepted spellings, as returned by `_letter`; empty where any case is accepted.
    """

    authors: tuple[int, ...]
    form: str
    written: frozenset[str]


class _NameMatch(NamedTuple):
    """A name in a text, and the authors it may refer to."""

    start: int
    end: int
    form: _Form


class Mentions:
    """Finds the authors of a table in texts.

    >>> from trueval.probes.authors import sample_people
    >>> known = Mentions(sample_people("en"))
    >>> found = known.first("what did manon lefèvre write?")
    >>> known.authors[found.author].text, found.form, known.first("What did Lefèvre write?").form
    ('Manon Lefèvre', 'whole', 'family')
    """

    def __init__(self, people: Authors) -> None:
        once: dict[str, Name] = {}
        for work in people.works:
            once.setdefault(_fold_text(_canonical(plain(work.author.text))), work.author)
        self.authors = tuple(once.values())
        self.names = frozenset(map(plain, people.names))
        self._given = tuple(split_given_names(plain(author.given)) for author in self.authors)
        families: dict[str, dict[int, tuple[str, ...]]] = {}
        self._relatives = [families.setdefault(_key(author.family), {}) for author in self.authors]
        for at, relatives in enumerate(self._relatives):
            relatives[at] = self._given[at]
        self._forms: dict[str, _Form] = {}
        # Fuller names first: "M. Hof" in the table takes precedence over Marijke Hof.
        every = [list(forms(author).items()) for author in self.authors]
        for form in (WHOLE, INVERTED, INITIALS, BOTH, FAMILY):
            for at, texts in enumerate(every):
                for text in (text for name, text in texts if name == form):
                    self._add(at, form, text)
        # Case-folded first word of a form → its offset in the form, and the length of the form, longest first.
        sizes: dict[str, set[tuple[int, int]]] = {}
        for text in self._forms:
            first = WORD.search(text)
            if first is not None:
                sizes.setdefault(first[0], set()).add((len(text), first.start()))
        self._sizes = {word: sorted(found, reverse=True) for word, found in sizes.items()}

    def _add(self, author: int, form: str, text: str) -> None:
        if form == FAMILY and len(text) < SHORTEST:
            return
        name = self.authors[author]
        authors: tuple[int, ...] = (author,)
        if form in (INITIALS, BOTH):  # "M. Lefèvre" may be Marie, and Manon Odile
            authors = find_by_initials(plain(initials(name.given)), self._relatives[author])
        own, capitals = _canonical(text), _canonical(text.upper())
        written = frozenset((own, capitals, own[:1].upper() + own[1:])) if form == FAMILY else frozenset()
        for folded in {_fold_text(own), _fold_text(capitals)}:  # "STRAUSS" is longer than "Strauß"
            known = self._forms.get(folded)
            if known is None:
                self._forms[folded] = _Form(authors, form, written)
            elif known.form == form != WHOLE:
                both = tuple(dict.fromkeys((*known.authors, *authors)))
                self._forms[folded] = _Form(both, form, known.written | written)

    def all(self, text: str) -> Iterator[Mention]:
        """All names in a text, without nested ones.

        Args:
            text: text in NFC, to which positions refer.
        """
        found = list(self._find(text))
        full = [(each.start, each.form.authors[0]) for each in found if len(each.form.authors) == 1]
        for start, end, form in found:
            author = _resolve_author(form.authors, start, full)
            if author is not None:
                yield Mention(start, end, author, form.form)

    def _find(self, text: str) -> Iterator[_NameMatch]:
        places, seen = _places(text), _canonical(text)
        folded = _fold_text(seen)
        end = 0
        for word in WORD.finditer(folded):
            for size, offset in self._sizes.get(word[0], ()):
                start = word.start() - offset
                stop = start + size
                form = self._forms.get(folded[start:stop]) if end <= start <= len(folded) - size else None
                if form is None or not _is_name(seen, start, stop, form.written):
                    continue
                if found := self._whole(seen, start, stop, end, form):
                    end = found.end
                    yield _NameMatch(places[found.start], places[end - 1] + 1, found.form)
                    break

    def _whole(self, text: str, start: int, stop: int, least: int, form: _Form) -> _NameMatch | None:
        """A name with adjacent given names, if it is a family name; None where these belong to another person."""
        if form.form != FAMILY:
            return _NameMatch(start, stop, form)
        found = find_given_names(text, start, stop, least, {author: self._given[author] for author in form.authors})
        if found is None or not _begins(text, found.start, stop):
            return None
        forms = {"names": (WHOLE, INVERTED), "initials": (INITIALS, BOTH), "": (FAMILY, FAMILY)}
        named = _Form(found.authors, forms[found.given][found.inverted], frozenset())
        return _NameMatch(found.start, found.end, named)

    def first(self, text: str) -> Mention | None:
        """The first name in a text; None without any.

        Args:
            text: text in any Unicode form.
        """
        return next(self.all(plain(text)), None)

    def replace(self, text: str, change: Callable[[Mention, str], str], author: int | None = None) -> str:
        """A text with its names replaced; unchanged without any.

        Args:
            text: text in any Unicode form; the result is in NFC if it contains a name.
            change: function from a mention and its characters to the replacement.
            author: index of the author to replace; None for all.

        >>> from trueval.probes.authors import sample_people
        >>> Mentions(sample_people("en")).replace("What did Lefèvre write?", lambda found, name: name.upper())
        'What did LEFÈVRE write?'
        """
        written, parts, end = plain(text), [], 0
        for found in self.all(written):
            if author in (None, found.author):
                other = change(found, written[found.start : found.end])
                parts += [_undo_elision(written[end : found.start], other), other]
                end = found.end
        return "".join([*parts, written[end:]]) if parts else text


def forms(author: Name) -> dict[str, str]:
    """The forms in which texts name an author: full, with initials, inverted, family name alone.

    >>> list(forms(Name("Pieter", "van der Hoeven")).values())
    ['Pieter van der Hoeven', 'van der Hoeven, Pieter', 'P. van der Hoeven', 'van der Hoeven, P.', 'van der Hoeven']
    """
    whole = {WHOLE: author.text}
    if author.given and author.family:
        whole |= {INVERTED: author._replace(inverted=True).text}
        if short := initials(author.given):
            brief = author._replace(given=short)
            whole |= {INITIALS: brief.text, BOTH: brief._replace(inverted=True).text}
        whole |= {FAMILY: author.family}
    return {form: plain(text) for form, text in whole.items()}


def _resolve_author(authors: tuple[int, ...], start: int, full: list[tuple[int, int]]) -> int | None:
    """The author among several: the only one named in full in the text, or the last one before; None if unclear."""
    if len(authors) == 1:
        return authors[0]
    named = [(place, author) for place, author in full if author in authors]
    before = [author for place, author in named if place < start]
    if len({author for _, author in named}) == 1:
        return named[0][1]
    return before[-1] if before else None


def _is_name(text: str, start: int, end: int, written: frozenset[str]) -> bool:
    """Whether a match is a whole name, and written in an accepted form where forms are given."""
    if written and text[start:end] not in written:
        return False
    return _begins(text, start, end) and _ends(text, start, end)


def _begins(text: str, start: int, end: int) -> bool:
    """Whether a name can begin here: no letter, O' or "Jones-" before it."""
    before = text[max(0, start - 80) : start]
    if not before or not WORD.match(text, start):
        return True
    if before[-1] == "'" and OF_WORDS.match(before[-2:-1]):
        return ELIDED.search(before) is not None
    if before[-1] == "-" and OF_WORDS.match(before[-2:-1]):
        *_, word = WORD.findall(before)
        return text[start].isupper() and word[0].islower()  # "anti-Smith", which is no name
    return not OF_WORDS.match(before[-1])


def _ends(text: str, start: int, end: int) -> bool:
    """Whether a name can end here: no letter, 'Brien or "-Jones" after it."""
    if text[end : end + 1] == "'":
        return ENDINGS.match(text, end) is not None
    if text[end : end + 1] == "-" and OF_WORDS.match(text, end + 1):
        return text[start].isupper() and not text[end + 1].isupper()  # "Smith-like"
    return not OF_WORDS.match(text, end)


def _undo_elision(before: str, name: str) -> str:
    """The text before a name with the elided vowel restored: "d’" of "d’Oudinet" becomes "de Dupont".

    Args:
        before: text up to the name.
    """
    found = ELIDED.search(before)
    letter = unicodedata.normalize("NFD", name[:1]).lower()[:1]
    if found is None or not letter.isalpha() or letter in VOWELS:
        return before
    word = found["word"]
    if word not in WHOLE_WORDS and not word.endswith("qu"):
        return before  # Italian, whose full forms are not known here
    return f"{before[: found.start()]}{WHOLE_WORDS.get(word, f'{word}e')} "


def _places(text: str) -> list[int]:
    """Positions in a text of the characters of `_canonical`."""
    return [at for at, letter in enumerate(text) if not (letter.isspace() and text[at - 1 : at].isspace())]


def _canonical(text: str) -> str:
    """A text with canonical spaces, apostrophes and hyphens, and runs of spaces collapsed."""
    return HYPHENS.sub("-", APOSTROPHES.sub("'", SPACES.sub(" ", text)))


def _key(family: str) -> str:
    """The normalized family name, for comparison."""
    return _fold_text(_canonical(plain(family)))


def _fold_text(text: str) -> str:
    """A case-folded text of the same length."""
    return "".join(map(_fold, text))


@lru_cache(1 << 12)
def _fold(letter: str) -> str:
    for folded in (letter.casefold(), letter.lower()):
        if len(folded) == 1:
            return folded
    return letter
