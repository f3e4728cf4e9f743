"""Passages that questions are written from, drawn by a seed, and their nearest ones by BM25.

Each kind of question draws from a permutation of its own, so that more questions of a kind, or another kind, leave the
passages of the others as they are: what was paid for is used again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from trueval.collection import Collection, ids_in_order, texts_in_order
from trueval.errors import InputError
from trueval.golden.questions.wording import bm25_of
from trueval.retrieval.indexes.sparse import Bm25

# Kind of question → number of passages that its writer is shown.
SHOWN: Final = {"one": 1, "several": 2, "none": 4}
WORDS: Final = 10  # words that a passage has at least: a heading alone answers nothing
SEARCHED: Final = 32  # further results of a search for near passages, in place of copies of one passage


class SourcePassages(NamedTuple):
    """The passages that one question is written from.

    Attributes:
        kind: kind of the question, key of SHOWN.
        documents: ids, the drawn one first, then its nearest ones.
        texts: their texts, all different.
    """

    kind: str
    documents: tuple[str, ...]
    texts: tuple[str, ...]


class PassageDraws:
    """The passages of a corpus in the order in which they are drawn.

    Args:
        collection: collection with the documents.
        language: whose stop words and stems the search for near passages uses; None for words as they are.
    """

    def __init__(self, collection: Collection, seed: int, language: str | None) -> None:
        self.ids, self.texts = ids_in_order(collection.documents), texts_in_order(collection.documents)
        self.source, self.seed = collection.source, seed
        self.unfilled = bm25_of(language)
        self._drawn: dict[str, Iterator[SourcePassages]] = {}

    @cached_property
    def index(self) -> Bm25:
        """BM25 over the corpus, built when near passages are first asked for."""
        self.unfilled.build(self.texts)
        return self.unfilled

    def take(self, kind: str, count: int) -> list[SourcePassages]:
        """The next passages of a kind.

        Args:
            kind: key of SHOWN.
            count: maximum number; fewer at the end of the corpus.
        """
        drawn = self._drawn.setdefault(kind, self._draw(kind))
        return list(islice(drawn, count))

    def _draw(self, kind: str) -> Iterator[SourcePassages]:
        digest = hashlib.sha256(f"{self.seed} {kind}".encode()).digest()
        rng, seen = np.random.default_rng(int.from_bytes(digest[:8], "big")), set[str]()
        for place in rng.permutation(len(self.texts)).tolist():
            text = self.texts[place]
            if text in seen or len(text.split()) < WORDS:
                continue
            seen.add(text)
            places = [place, *self._nearest(place, SHOWN[kind] - 1)] if SHOWN[kind] > 1 else [place]
            if len(places) > 1 or SHOWN[kind] == 1:
                yield SourcePassages(kind, tuple(self.ids[at] for at in places), tuple(self.texts[at] for at in places))

    def _nearest(self, place: int, count: int) -> list[int]:
        """The nearest documents of another text, nearest first."""
        own = self.texts[place]
        found = {own: place}
        for other in self.search(own, count + SEARCHED):
            found.setdefault(self.texts[other], other)
        return [at for at in found.values() if at != place][:count]

    def search(self, text: str, depth: int) -> list[int]:
        """Places of the documents that BM25 finds for a text, best first.

        Args:
            depth: maximum number of documents.
        """
        found: list[int] = self.index.search([text], depth).places.tolist()
        return found

    def copies(self, texts: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """Ids of all documents with one of these texts, which answer as well as the one that was drawn.

        Args:
            texts: texts of passages.
        """
        wanted: dict[str, list[str]] = {text: [] for text in texts}
        for id, text in zip(self.ids, self.texts, strict=True):
            if text in wanted:
                wanted[text].append(id)
        return {text: tuple(ids) for text, ids in wanted.items()}

    def check(self) -> None:
        """Refuse a corpus without a passage to ask about.

        Raises:
            InputError: no document is long enough.
        """
        if not any(len(text.split()) >= WORDS for text in self.texts):
            raise InputError(f"{self.source}: no document has {WORDS} words or more, so there is nothing to ask about.")
