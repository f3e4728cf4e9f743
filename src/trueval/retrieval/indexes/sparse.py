"""BM25 over terms, on bm25s, in float64.

    score(q, d) = sum over terms t of q of  idf(t) tf / (tf + k1 (1 - b + b |d| / avg |d|))
    idf(t) = ln(1 + (N - n + .5) / (n + .5))

as in Lucene since version 8; N documents, n of them with the term. Lucene itself rounds lengths to 8 bits and scores to
float32, which creates further ties. Source: Robertson & Zaragoza 2009; Kamphuis et al. 2020; Lù 2024.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from trueval.collection import text_hash
from trueval.errors import InputError
from trueval.extras import need
from trueval.files.texts.text_store import TOGETHER, TextHash, as_bytes
from trueval.retrieval.indexes.analysis import LANGUAGES, Analyzer
from trueval.retrieval.indexes.hits import Hits, best, check_depth, join_hits
from trueval.retrieval.indexes.index import LocalIndex
from trueval.retrieval.indexes.postings import Postings, PostingsBuilder
from trueval.specs import choice, flag, number_in_range

POSTINGS: Final = ("data", "indices", "indptr")
VOCABULARY: Final = "vocabulary.json"
COUNTS_KEPT: Final = 1 << 29  # maximum bytes of counts kept on disk for the next index


class _TermCounts(NamedTuple):
    """The counted terms of a corpus.

    Attributes:
        settings: settings of the analyzer.
        sha256: hash of all texts, as in `text_hash`.
        counting: frequency of each term in each document.
        vocabulary: terms in order of number.
    """

    settings: tuple[str | None, bool]
    sha256: str
    counting: PostingsBuilder
    vocabulary: list[str]
    seconds: float


class _CountCache:
    """The last counted corpus, kept for an index of it with another k1 or b.

    Its counts are in a temporary file, and are dropped if they take more than COUNTS_KEPT.
    """

    def __init__(self) -> None:
        self.lock = Lock()
        self.counted: _TermCounts | None = None

    def of(self, analyzer: Analyzer, documents: Sequence[str]) -> _TermCounts | None:
        """The counts of the same texts under the same analysis; None if there are none."""
        kept = self.counted
        if kept is None or kept.settings != analyzer.settings or kept.counting.documents != len(documents):
            return None
        return kept if text_hash(documents) == kept.sha256 else None

    def keep(self, counted: _TermCounts) -> None:
        """Keep these counts instead, unless they are too large."""
        if self.counted is not None:
            self.counted.counting.close()
        self.counted = counted if counted.counting.bytes <= COUNTS_KEPT else None


_KEPT: Final = _CountCache()


class Bm25(LocalIndex):
    """BM25 in Lucene's form; documents that share no term with a query are not found."""

    name: ClassVar = "bm25"
    takes = "texts"
    exact = True
    package: ClassVar = "bm25s"
    distributions: ClassVar = ("bm25s", "PyStemmer")
    parameters: ClassVar = {
        "k1": number_in_range(0.9, 0, 1000, "how slowly further occurrences of a term count less; Anserini's default"),
        "b": number_in_range(0.4, 0, 1, "how much long documents count less; Anserini's default"),
        "language": choice(
            "en", *list(LANGUAGES)[1:], None, about="whose stop words and stems; None for words as they are"
        ),
        "normalise": flag(True, "bring kinds of blanks, apostrophes and accents together"),
    }

    def __init__(self, chosen: Any) -> None:
        super().__init__(chosen)
        language = self.values["language"]
        self.analyzer = Analyzer(
            str(language) if language else None,
            normalise=bool(self.values["normalise"]),
            stemmers=need("Stemmer", "Stems", "retrieval"),
            stopwords=import_module("bm25s.stopwords"),
        )
        self.scorer = self.library.BM25(
            k1=self.values["k1"], b=self.values["b"], method="lucene", dtype="float64", backend="numpy"
        )

    def fill(self, documents: Sequence[str]) -> None:
        """Count the terms of all texts.

        Raises:
            InputError: no text has a term.
        """
        with _KEPT.lock:
            counted = _KEPT.of(self.analyzer, documents)
            if counted is None:
                counted = self._count_terms(documents)
                _KEPT.keep(counted)
            else:
                self.earlier_seconds = counted.seconds
            self.analyzer.take(counted.vocabulary)
            try:
                postings = counted.counting.postings(self.scorer.k1, self.scorer.b)
            finally:
                if _KEPT.counted is not counted:
                    counted.counting.close()
        empty, everything = counted.counting.empty, counted.counting.documents
        self.notes = (f"{empty} of {everything} documents have no term, and no query finds them.",) if empty else ()
        self._take(postings, everything)

    def _count_terms(self, documents: Sequence[str]) -> _TermCounts:
        counting, digest, began = PostingsBuilder(), TextHash(), time.perf_counter()
        try:
            for some in self.analyzer.documents(_hash_texts(documents, digest)):
                counting.add(some.terms, some.lengths)
            if not self.analyzer.vocabulary:
                raise InputError("No document has a word to index. BM25 needs texts; check which fields are read.")
        except BaseException:
            counting.close()
            raise
        terms, seconds = list(self.analyzer.vocabulary), time.perf_counter() - began
        return _TermCounts(self.analyzer.settings, digest.hexdigest(), counting, terms, seconds)

    def search(self, queries: Sequence[str], depth: int) -> Hits:
        """Find up to `depth` documents that share a term with each query."""
        check_depth(depth)
        parts = []
        for query in queries:
            scores = self.scorer.get_scores_from_ids(self.analyzer.query(query))
            places = best(scores, depth, above=0.0)
            parts.append((places, scores[places]))
        return join_hits(parts)

    def size(self) -> int:
        """Size of postings and vocabulary in bytes."""
        postings = sum(self.scorer.scores[name].nbytes for name in POSTINGS)
        return int(postings) + sum(len(term.encode()) for term in self.analyzer.vocabulary)

    def write(self, folder: Path) -> None:
        """Write postings and vocabulary."""
        for name in POSTINGS:
            np.save(folder / f"{name}.npy", self.scorer.scores[name], allow_pickle=False)
        terms = json.dumps([self.scorer.scores["num_docs"], *self.analyzer.vocabulary], ensure_ascii=False)
        (folder / VOCABULARY).write_text(terms, encoding="utf-8")

    def read(self, folder: Path) -> None:
        """Read postings and vocabulary; postings stay on disk until used."""
        number, *terms = json.loads((folder / VOCABULARY).read_text(encoding="utf-8"))
        scores = {name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in POSTINGS}
        if len(scores["indptr"]) != len(terms) + 1 or len(scores["data"]) != len(scores["indices"]):
            raise ValueError("postings and vocabulary do not fit")
        self._take(Postings(**scores), int(number))
        self.analyzer.take(terms)

    def _take(self, postings: Postings, documents: int) -> None:
        """Let bm25s score with these postings."""
        self.scorer.scores = {**postings._asdict(), "num_docs": documents}
        self.scorer.nonoccurrence_array = None


def _hash_texts(texts: Iterable[str], digest: TextHash) -> Iterator[str]:
    """Yield the texts, adding each to a digest."""
    coming = iter(texts)
    while some := list(islice(coming, TOGETHER)):
        digest.add(map(as_bytes, some))
        yield from some


KINDS: Final = {Bm25.name: Bm25}
