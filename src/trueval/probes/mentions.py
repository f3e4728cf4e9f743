"""Mentions: where a text names an author of a table, and the same text with another name there.

A name is found as a whole, "Pieter van der Hoeven" or "P. van der Hoeven", in any case; or as the family name alone,
"van der Hoeven", in its own case or in capitals, so that a query about a rose is not one about Rose. Names end where
words end, texts are read in NFC, and any apostrophe or hyphen stands for any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from trueval.probes.ablations import HYPHENS, MARKS, initials
from trueval.probes.people import Name, People, plain

APOSTROPHES: Final = re.compile("['’‘ʼ]")
WORD: Final = re.compile(r"\w+")
# Letters below which a family name alone names nobody: "Ba" is a name, and the start of many other things.
SHORTEST: Final = 3


class Mention(NamedTuple):
    """A name in a text.

    Attributes:
        start: place of its first character in the text in NFC.
        end: place after its last one.
        author: number of the author in `Mentions.authors`.
        form: how the text names the author: "whole", "initials" or "family".
    """

    start: int
    end: int
    author: int
    form: str


class _Form(NamedTuple):
    """A way to write an author.

    Attributes:
        author: number.
        form: as of a mention.
        pattern: that finds it.
        length: of it, in characters.
        offset: of its first word: a name such as "’t Hof" begins before that.
    """

    author: int
    form: str
    pattern: re.Pattern[str]
    length: int
    offset: int


class Mentions:
    """Finds the authors of a table in texts.

    Args:
        people: the table.

    >>> from trueval.probes.people import sample_people
    >>> known = Mentions(sample_people("en"))
    >>> found = known.first("what did manon lefèvre write?")
    >>> known.authors[found.author].text, found.form, known.first("What did Lefèvre write?").form
    ('Manon Lefèvre', 'whole', 'family')
    """

    def __init__(self, people: People) -> None:
        self.authors = tuple({plain(work.author.text): work.author for work in people.works}.values())
        self.names = frozenset(map(plain, people.names))
        self._forms: dict[str, list[_Form]] = {}
        for at, author in enumerate(self.authors):
            for form, text in forms(author).items():
                if form == "family" and len(text) < SHORTEST:
                    continue
                found, flags = _pattern(text), re.IGNORECASE
                if form == "family":
                    found, flags = f"{found}|{_pattern(text.upper())}", re.NOFLAG
                first = WORD.search(text)
                if first is not None:
                    key = first[0].casefold()
                    made = _Form(at, form, re.compile(found, flags), len(text), first.start())
                    self._forms.setdefault(key, []).append(made)
        for known in self._forms.values():
            # The longest name at a place is the one that is meant; of two that are as long, the first of the table.
            known.sort(key=lambda each: -each.length)

    def all(self, text: str) -> Iterator[Mention]:
        """Every name in a text, none inside another.

        Args:
            text: in NFC; places are those of this text.
        """
        end = 0
        for word in WORD.finditer(text):
            for form in self._forms.get(word[0].casefold(), ()):
                start = word.start() - form.offset
                found = form.pattern.match(text, start) if start >= end else None
                if found is not None:
                    end = found.end()
                    yield Mention(start, end, form.author, form.form)
                    break

    def first(self, text: str) -> Mention | None:
        """The first name in a text; None where there is none.

        Args:
            text: in any form.
        """
        return next(self.all(plain(text)), None)

    def changed(self, text: str, change: Callable[[Mention, str], str], author: int | None = None) -> str:
        """A text with its names changed; the same text where there is none.

        Args:
            text: in any form; where a name is found what comes is in NFC.
            change: from a mention and its characters to what stands there instead.
            author: whose mentions are changed; everybody's if None.

        >>> from trueval.probes.people import sample_people
        >>> Mentions(sample_people("en")).changed("What did Lefèvre write?", lambda found, name: name.upper())
        'What did LEFÈVRE write?'
        """
        written, parts, end = plain(text), [], 0
        for found in self.all(written):
            if author in (None, found.author):
                parts += [written[end : found.start], change(found, written[found.start : found.end])]
                end = found.end
        return "".join([*parts, written[end:]]) if parts else text


def forms(author: Name) -> dict[str, str]:
    """The ways that texts name an author: whole, with initials, by the family name alone.

    Args:
        author: of a table.

    >>> forms(Name("Pieter", "van der Hoeven"))
    {'whole': 'Pieter van der Hoeven', 'initials': 'P. van der Hoeven', 'family': 'van der Hoeven'}
    """
    whole = {"whole": author.text}
    if author.given and author.family:
        whole |= {"initials": author._replace(given=initials(author.given)).text, "family": author.family}
    return {form: plain(text) for form, text in whole.items()}


def _pattern(text: str) -> str:
    """A name as an expression: a whole word, any white space, apostrophe and hyphen for its own."""
    parts = []
    for letter in text:
        if letter.isspace():
            parts.append(r"\s+")
        elif APOSTROPHES.match(letter):
            parts.append(APOSTROPHES.pattern)
        elif HYPHENS.match(letter):
            parts.append(HYPHENS.pattern)
        else:
            parts.append(re.escape(letter))
    before, after = (f"{side}[\\w{MARKS}])" for side in ("(?<!", "(?!"))  # a mark belongs to the letter before it
    name = "".join(parts)
    return f"{before}{name}{after}" if WORD.match(text) else f"{name}{after}"
