"""Analysis: texts into the terms that BM25 counts, similar to Lucene's analyzers.

    text → NFC, one kind of space and of apostrophe → lower case → words → elision or possessive → stop words → stems

Words are those of Unicode (UAX #29): letters, digits and marks, joined by a full stop or an apostrophe between letters,
and by a full stop or comma between digits. Chinese, Japanese and Thai are not segmented into words. Stop words are the
lists of bm25s, of which the English one is Lucene's; stems are Snowball's.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Language → Snowball stemmer, stop word list of bm25s. English has the original Porter stemmer, as in Lucene.
LANGUAGES: Final = {
    "en": ("porter", "STOPWORDS_EN"),
    "fr": ("french", "STOPWORDS_FRENCH"),
    "de": ("german", "STOPWORDS_GERMAN"),
    "es": ("spanish", "STOPWORDS_SPANISH"),
    "it": ("italian", "STOPWORDS_ITALIAN"),
    "nl": ("dutch", "STOPWORDS_DUTCH"),
    "pt": ("portuguese", "STOPWORDS_PORTUGUESE"),
}
# French articles and pronouns that are elided before the next word.
ELIDED: Final = re.compile(r"(?:[ldjmtsnc]|qu|jusqu|lorsqu|puisqu|quoiqu|quelqu)'")
# Ways to write an apostrophe: typographic, modifier letter, prime, full width.
APOSTROPHES: Final = "‘’‛ʼʹ′＇`´"
# Narrow, no-break, figure and thin spaces; French uses one before ; : ! ? and inside numbers.
BLANKS: Final = "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
TERMS: Final = 1 << 21  # documents analyzed per batch of counting
# Invisible inside words: soft hyphen, zero-width spaces and joiners.
UNSEEN: Final = "\u00ad\u200b\u2060\ufeff"
SAME: Final = str.maketrans(
    {**dict.fromkeys(APOSTROPHES, "'"), **dict.fromkeys(BLANKS, " "), **dict.fromkeys(UNSEEN, None)}
)


@cache
def word_pattern() -> re.Pattern[str]:
    r"""The pattern of a word; compiled on first use, since it scans all of Unicode.

    Words of Hindi and vocalised Arabic contain combining vowel signs and accents, which \w lacks.
    """
    marks = "".join(filter(lambda each: unicodedata.category(each)[0] == "M", map(chr, range(0x300, 0x10000))))
    run = rf"\w+(?:[{marks}]+\w*)*"
    return re.compile(rf"{run}(?:(?:(?<=[^\W\d]|[{marks}])['.:·](?=[^\W\d])|(?<=\d)[.,;'](?=\d)){run})*")


# The same for ASCII, twice as fast: no marks, and the joining character is searched before its neighbors.
ASCII_WORD: Final = re.compile(r"\w+(?:['.:,;](?:(?<=[^\W\d]['.:])(?=[^\W\d])|(?<=\d[.,;'])(?=\d))\w+)*", re.ASCII)


def one_writing(text: str) -> str:
    """Normalize a text: NFC, one kind of space and of apostrophe, no invisible characters.

    >>> one_writing("l\u2019e\u0301te\u0301\u202f!")
    "l'été !"
    """
    if text.isascii():  # of the characters that are unified, ASCII has one each
        return text.replace("`", "'")
    return unicodedata.normalize("NFC", text).translate(SAME)


class DocumentTerms(NamedTuple):
    """The terms of some documents.

    Attributes:
        terms: [word] term numbers, document by document.
        lengths: [document] number of its terms.
    """

    terms: NDArray[np.int32]
    lengths: NDArray[np.int64]

    @classmethod
    def of(cls, terms: array[int], ends: Sequence[int]) -> DocumentTerms:
        """Build from word numbers that were collected one by one, with -1 for words that are not terms."""
        numbers = np.array(terms, dtype=np.int32)
        kept = numbers >= 0
        return cls(numbers[kept], np.diff(np.concatenate(([0], np.cumsum(kept)))[ends]))


class Analyzer:
    """Turns texts into terms, numbered in order of first occurrence in documents.

    Args:
        language: key of LANGUAGES; None for words unchanged, without stop words and stems.
        normalise: whether to normalize spelling variants of characters before segmenting.
    """

    def __init__(self, language: str | None, *, normalise: bool, stemmers: Any, stopwords: Any) -> None:
        self.language, self.normalise = language, normalise
        self.vocabulary: dict[str, int] = {}
        self.known = _TermCache(self)
        stemmer, stops = LANGUAGES[language] if language else (None, None)
        self.stops = frozenset(getattr(stopwords, stops)) if stops else frozenset()
        self.stem = stemmers.Stemmer(stemmer, 0).stemWord if stemmer else str

    @property
    def settings(self) -> tuple[str | None, bool]:
        """Language and normalization; analyzers with equal settings find the same terms."""
        return self.language, self.normalise

    def words(self, text: str) -> list[str]:
        """The words of a text, in lower case.

        >>> from types import SimpleNamespace
        >>> Analyzer(None, normalise=True, stemmers=None, stopwords=None).words("Don’t pay 1,000 at U.S. prices")
        ["don't", 'pay', '1,000', 'at', 'u.s', 'prices']
        """
        if self.normalise:
            text = one_writing(text)
        return (ASCII_WORD if text.isascii() else word_pattern()).findall(text.lower())

    def term(self, word: str) -> str:
        """The term of a word; "" for a stop word."""
        if self.language == "en":
            word = word.removesuffix("'s")
        elif self.language == "fr":
            found = ELIDED.match(word)
            word = word[found.end() :] if found else word
        if word in self.stops:
            return ""
        # Porter's own program and Lucene keep words of two letters; Snowball turns "us" into "u".
        return word if self.language == "en" and len(word) <= 2 else str(self.stem(word))

    def documents(self, texts: Iterable[str]) -> Iterator[DocumentTerms]:
        """Yield the terms of documents in batches; new terms get the next numbers."""
        terms, ends = array("i"), [0]
        for text in texts:
            terms.extend(map(self.known.__getitem__, self.words(text)))
            ends.append(len(terms))
            if len(terms) >= TERMS or len(ends) > TERMS:
                yield DocumentTerms.of(terms, ends)
                terms, ends = array("i"), [0]
        if len(ends) > 1:
            yield DocumentTerms.of(terms, ends)

    def query(self, text: str) -> list[int]:
        """Numbers of the query's terms that some document contains, with repetitions."""
        terms = filter(None, map(self.term, self.words(text)))
        return [self.vocabulary[term] for term in terms if term in self.vocabulary]

    def take(self, vocabulary: Sequence[str]) -> None:
        """Set the vocabulary of documents that were analyzed before, in order of term number."""
        self.vocabulary = {term: number for number, term in enumerate(vocabulary)}
        self.known.clear()


class _TermCache(dict[str, int]):
    """Cache from a word to its term number, -1 for a stop word; each word is stemmed once.

    Args:
        analyzer: analyzer of the words.
    """

    def __init__(self, analyzer: Analyzer) -> None:
        super().__init__()
        self.analyzer = analyzer

    def __missing__(self, word: str) -> int:
        """Compute the number of a new word."""
        term, vocabulary = self.analyzer.term(word), self.analyzer.vocabulary
        self[word] = found = vocabulary.setdefault(term, len(vocabulary)) if term else -1
        return found
