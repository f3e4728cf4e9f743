"""The words that a question shares with its passages: what lexical search finds it by.

    overlap(q, P) = |T(q) & T(P)| / |T(q)|

with T the set of terms of a text as BM25 counts them: words in lower case without stop words, stemmed (analysis.py).
It is the share of a query's terms that a document covers, "covered query term ratio" of Microsoft's MSLR-WEB10K
features (Qin & Liu 2013, features 6 to 10), over distinct terms. 0 means that BM25 cannot find the passage, 1 that each
word of the question is in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trueval.retrieval.indexes.analysis import Analyzer
from trueval.retrieval.indexes.index import read_spec
from trueval.retrieval.indexes.sparse import Bm25
from trueval.specs import format_spec


def bm25_of(language: str | None) -> Bm25:
    """An index of BM25, not built yet, with the stop words and stems of a language; None for words as they are."""
    return Bm25(read_spec(format_spec("bm25", {"language": language}))[1])


class Wording:
    """Terms of questions and passages.

    Args:
        analyzer: makes terms of texts, as that of an index of BM25.
    """

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer

    @classmethod
    def of(cls, language: str | None) -> Wording:
        """The wording that an index of BM25 counts for a language; None for words as they are."""
        return cls(bm25_of(language).analyzer)

    def terms(self, texts: Iterable[str]) -> dict[str, str]:
        """Each term of some texts, with the first word that it was."""
        found: dict[str, str] = {}
        for text in texts:
            for word in self.analyzer.words(text):
                if term := self.analyzer.term(word):
                    found.setdefault(term, word)
        return found

    def shared_words(self, question: str, passages: Sequence[str]) -> list[str]:
        """The words of a question whose terms are in its passages, in the order of the question."""
        known = self.terms(passages)
        return [word for term, word in self.terms([question]).items() if term in known]

    def overlap(self, question: str, passages: Sequence[str]) -> float | None:
        """The share of a question's terms that are in its passages; None for a question of stop words alone."""
        asked = self.terms([question])
        return len(self.shared_words(question, passages)) / len(asked) if asked else None
