"""Stimuli: a query and five candidates that differ only in author and topic (P-B §4.1).

Which works by [AUTHOR] on [TOPIC]?        author   topic
C1   the work that is asked for            right    right
C2a  the same work by an impostor          wrong    right
C2b  the same work by another impostor     wrong    right
C3   another work by the author            right    wrong
C4   that other work by a third impostor   wrong    wrong
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from trueval.comparison.resampling.resampled_sums import generator
from trueval.errors import PolicyError
from trueval.probes.authors import LANGUAGES, Authors, AuthorWork, Name

CANDIDATES: Final = ("C1", "C2a", "C2b", "C3", "C4")
# Random streams of a seed. Those of runs are above all that comparisons draw from.
CHOICE: Final = 1 << 40
RUNS: Final = (1 << 40) + 1
Writing = Callable[[str], str]


class TextTemplates(NamedTuple):
    """The text templates of a language; the first of each kind is the paper's.

    Attributes:
        queries: patterns of queries.
        works: patterns of the part of a candidate that names the work.
        author: pattern of the part that names the author.
        label: text before the author.
        mask: prefix of a masked author.
    """

    queries: tuple[str, ...]
    works: tuple[str, ...]
    author: str
    label: str
    mask: str


TEMPLATES: Final = {
    "en": TextTemplates(
        (
            "Which works by {author} on {topic}?",
            "Which works by {author} are on {topic}?",
            "Which publications by {author} deal with {topic}?",
        ),
        ("Research paper: “{title}”.", "Article: “{title}”.", "Study: “{title}”."),
        "{label}{author}.",
        "Author: ",
        "AUTHOR_",
    ),
    # "signés" takes any name as it is, where "de" would become "d’" before a vowel.
    "fr": TextTemplates(
        (
            "Quels travaux signés {author} portent sur {topic} ?",
            "Quelles publications signées {author} portent sur {topic} ?",
            "Quels écrits signés {author} ont pour sujet {topic} ?",
        ),
        ("Article de recherche : « {title} ».", "Article : « {title} ».", "Étude : « {title} »."),
        "{label}{author}.",
        "Auteur : ",
        "AUTEUR_",
    ),
}


class TextParts(NamedTuple):
    """The parts of a text, rendered last so that ablations need not search in texts.

    Attributes:
        title: title of the work; empty in queries.
        topic: requested topic; empty in candidates, which have the title instead.
        label: text before the author; "" for none.
        segments: patterns, joined by spaces.
        writings: functions applied in order to the whole text.
    """

    author: Name
    title: str
    topic: str
    label: str
    segments: tuple[str, ...]
    writings: tuple[Writing, ...] = ()

    @property
    def text(self) -> str:
        """The rendered text.

        >>> TextParts(Name("Ann", "Lee Jr."), "Wings", "flight", "By ", ("“{title}”.", "{label}{author}.")).text
        '“Wings”. By Ann Lee Jr.'
        """
        values = {"author": self.author.text, "title": self.title, "topic": self.topic, "label": self.label}
        filled = [segment.format(**values) for segment in self.segments]
        # A name such as "Lee Jr." brings its full stop with it.
        text = " ".join(each[:-1] if each.endswith("..") else each for each in filled)
        for writing in self.writings:
            text = writing(text)
        return text


class StimulusTexts(NamedTuple):
    """The texts of a stimulus, as a scorer sees them.

    Attributes:
        candidates: texts of C1, C2a, C2b, C3 and C4.
    """

    query: str
    candidates: tuple[str, ...]


class Stimulus(NamedTuple):
    """A query and its five candidates.

    Attributes:
        number: index of the query, from 0.
        candidates: C1, C2a, C2b, C3 and C4.
        names: names of all authors of the table, in NFC; a generated name must differ from all of them.
    """

    number: int
    language: str
    query: TextParts
    candidates: tuple[TextParts, ...]
    names: frozenset[str]

    def texts(self) -> StimulusTexts:
        """The texts, as a scorer sees them."""
        return StimulusTexts(self.query.text, tuple(each.text for each in self.candidates))

    def with_candidates(self, change: Callable[[TextParts], TextParts]) -> Stimulus:
        """The stimulus with every candidate changed."""
        return self._replace(candidates=tuple(map(change, self.candidates)))

    def with_all(self, change: Callable[[TextParts], TextParts]) -> Stimulus:
        """The stimulus with its query and every candidate changed."""
        return self.with_candidates(change)._replace(query=change(self.query))


def draw_works(people: Authors, queries: int, seed: int) -> list[int]:
    """Sample the rows for queries without replacement; all rows in order where there are no more.

    Args:
        queries: number of rows to sample.

    Raises:
        PolicyError: fewer than 2 are wanted.
    """
    if queries < 2:
        raise PolicyError(f"queries must be an integer >= 2, or nothing can be said of their spread. Got {queries!r}.")
    # The first rows of one permutation: those of fewer queries are among those of more.
    return sorted(generator(seed, CHOICE, 0).permutation(len(people.works))[:queries].tolist())


def build_stimuli(people: Authors, language: str, queries: int, run: int, seed: int) -> list[Stimulus]:
    r"""Build the stimuli of one run: the seed's queries, with impostors, other work and templates of the run.

    A stimulus depends only on the seed, the run and the row of the table, not on the number of stimuli.

    Args:
        run: index of the run, from 0.

    Raises:
        PolicyError: there are no templates of the language, or fewer than 2 queries.

    >>> from trueval.probes.authors import sample_people
    >>> found = build_stimuli(sample_people("en"), "en", 125, 0, 0)[0].texts()
    >>> print(found.query, *found.candidates[:2], sep="\n")
    Which publications by Manon Lefèvre deal with glacier melt?
    Article: “Meltwater Budgets of Small Alpine Glaciers”. Author: Manon Lefèvre.
    Article: “Meltwater Budgets of Small Alpine Glaciers”. Author: Marijke van ’t Hof.
    """
    if language not in TEMPLATES:
        raise PolicyError(f"The language of a bundle must be {' or '.join(LANGUAGES)}. Got {language!r}.")
    authors = list({work.author.text: work.author for work in people.works}.values())
    drawing = _Drawing(people, language, authors, people.names)
    rows = draw_works(people, queries, seed)
    return [drawing.bundle(number, row, generator(seed, RUNS + run, row)) for number, row in enumerate(rows)]


class _Drawing(NamedTuple):
    """The pool that stimuli are drawn from."""

    people: Authors
    language: str
    authors: list[Name]
    names: frozenset[str]

    def bundle(self, number: int, row: int, rng: np.random.Generator) -> Stimulus:
        work, templates = self.people.works[row], TEMPLATES[self.language]
        first, second, third = self.impostors(work.author, rng)
        other = self.other_title(work, rng)
        query = templates.queries[rng.integers(len(templates.queries))]
        segments = (templates.works[rng.integers(len(templates.works))], templates.author)
        shown = ((work.author, work.title), (first, work.title), (second, work.title), (work.author, other))
        return Stimulus(
            number,
            self.language,
            TextParts(work.author, "", work.topic, "", (query,)),
            tuple(
                TextParts(author, title, "", templates.label, segments) for author, title in (*shown, (third, other))
            ),
            self.names,
        )

    def impostors(self, author: Name, rng: np.random.Generator) -> list[Name]:
        """Three authors with other names that also differ by initials and without accents."""
        # Four are drawn, of which at most one is the author; where another has a similar name, all in any order.
        drawn = [self.authors[at] for at in rng.choice(len(self.authors), 4, replace=False).tolist()]
        fit = [each for each in drawn if each.text != author.text]
        if any(_looks(each) == _looks(author) for each in fit[:3]):
            others = [self.authors[at] for at in rng.permutation(len(self.authors)).tolist()]
            # Similar names come last, since a small table may have no others.
            fit = sorted(
                (each for each in others if each.text != author.text), key=lambda each: _looks(each) == _looks(author)
            )
        return fit[:3]

    def other_title(self, work: AuthorWork, rng: np.random.Generator) -> str:
        """The title of a work on another topic."""
        while True:  # there are at least two topics
            drawn = self.people.works[rng.integers(len(self.people.works))]
            if drawn.topic != work.topic:
                return drawn.title


def _looks(name: Name) -> tuple[str, str]:
    """The family name and first initial, case-folded and without diacritics."""
    family, given = (
        "".join(letter for letter in unicodedata.normalize("NFD", part.casefold()) if not unicodedata.combining(letter))
        for part in (name.family, name.given)
    )
    return family, given[:1]
