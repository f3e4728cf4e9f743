"""Scorers: the protocol of an object that scores pairs of a query and a candidate.

A probe passes all its pairs to a scorer in one call, so that a model sees every distinct text once, whatever the number
of runs and changes. Scores of one scorer are comparable with each other, not with those of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Protocol, runtime_checkable

import numpy as np

from trueval.errors import InputError
from trueval.numerics import spacings
from trueval.retrieval.indexes.index import make_index
from trueval.specs import format_spec
from trueval.standings.standings import Bools, Floats, Ints

# Number of scores held in memory at once: 8 MiB.
MOST_CELLS: Final = 1 << 20


class ScorerPairs(NamedTuple):
    """Pairs of queries and candidates, with each text stored once.

    Attributes:
        queries: distinct texts of queries.
        candidates: distinct texts of candidates.
        query: [pair] index of the query.
        candidate: [pair] index of the candidate.
        sets: [pair] index of the set; the candidates of one set are the corpus of a scorer that counts terms.
        usual: [pair] whether the texts are unmodified; a scorer that normalizes takes its mean and spread from these.
    """

    queries: Sequence[str]
    candidates: Sequence[str]
    query: Ints
    candidate: Ints
    sets: Ints
    usual: Bools

    @classmethod
    def of(
        cls, pairs: Iterable[tuple[str, str]], sets: Sequence[int] | None = None, usual: Sequence[bool] | None = None
    ) -> ScorerPairs:
        """Collect pairs.

        Args:
            pairs: (query, candidate).
            sets: set of each pair; None for one set.
            usual: whether each pair is unmodified; None if all are.

        Raises:
            InputError: sets or usual are not as many as the pairs.

        >>> found = ScorerPairs.of([("q", "a"), ("q", "b"), ("r", "a")])
        >>> found.queries, found.candidates, found.query.tolist(), found.candidate.tolist()
        (['q', 'r'], ['a', 'b'], [0, 0, 1], [0, 1, 0])
        """
        queries: dict[str, int] = {}
        candidates: dict[str, int] = {}
        places = [
            (queries.setdefault(query, len(queries)), candidates.setdefault(candidate, len(candidates)))
            for query, candidate in pairs
        ]
        for name, given in (("sets", sets), ("usual", usual)):
            if given is not None and len(given) != len(places):
                raise InputError(f"{name} must have one entry for each of the {len(places)} pairs. Got {len(given)}.")
        query, candidate = np.array(places, dtype=np.int64).reshape(-1, 2).T
        return cls(
            list(queries),
            list(candidates),
            query,
            candidate,
            np.zeros(len(places), dtype=np.int64) if sets is None else np.asarray(sets, dtype=np.int64),
            np.ones(len(places), dtype=bool) if usual is None else np.asarray(usual, dtype=bool),
        )


class TextPairScores(NamedTuple):
    """The scores of pairs.

    Attributes:
        values: [pair] float64; equal pairs of texts have bitwise equal values.
        grain: [pair] largest change of each value by rounding to the scorer's number formats. A margin between two
            values no larger than the sum of their grains can be due to rounding alone.
    """

    values: Floats
    grain: Floats


@runtime_checkable
class PairScorer(Protocol):
    """The protocol of a scorer of pairs.

    Attributes:
        name: display name in reports.
        unit: unit of the scores: "cosine", "BM25", "logit", "MaxSim" or "spread".
    """

    name: str
    unit: str

    def score(self, pairs: ScorerPairs) -> TextPairScores:
        """Score pairs, all in one call."""
        ...


class Bm25Scorer:
    """BM25 with the candidates of each set as its corpus, so that IDF is computed within the set.

    A candidate that shares no term with the query has the score 0.

    Args:
        language: language of stop words and stems.
    """

    unit = "BM25"

    def __init__(self, language: str) -> None:
        self.name = "BM25"
        self.spec = format_spec("bm25", {"language": language})

    def score(self, pairs: ScorerPairs) -> TextPairScores:
        """Score pairs, each set with an index of its candidates."""
        values = np.zeros(len(pairs.query))
        order = np.argsort(pairs.sets, kind="stable")
        for chosen in np.split(order, np.flatnonzero(np.diff(pairs.sets[order])) + 1):
            values[chosen] = self._of_set(pairs, chosen)
        return TextPairScores(values, spacings(values, "float64") / 2)

    def _of_set(self, pairs: ScorerPairs, chosen: Ints) -> Floats:
        candidates, candidate = np.unique(pairs.candidate[chosen], return_inverse=True)
        queries, query = np.unique(pairs.query[chosen], return_inverse=True)
        index = make_index(self.spec)
        index.build([pairs.candidates[at] for at in candidates.tolist()])
        order = np.argsort(query, kind="stable")
        found = np.zeros(len(chosen))
        # The list of a query is as long as the corpus, so queries are scored in blocks that fit into memory.
        step = max(1, MOST_CELLS // len(candidates))
        for begin in range(0, len(queries), step):
            some = queries[begin : begin + step]
            hits = index.search([pairs.queries[at] for at in some.tolist()], len(candidates))
            table = np.zeros((len(some), len(candidates)))
            table[np.repeat(np.arange(len(some)), np.diff(hits.offsets)), hits.places] = hits.scores
            own = order[slice(*np.searchsorted(query[order], (begin, begin + step)))]
            found[own] = table[query[own] - begin, candidate[own]]
        return found


class CachedScorer:
    """A scorer with a cache of the last pairs, for hybrids that share it."""

    def __init__(self, scorer: PairScorer) -> None:
        self.name, self.unit = scorer.name, scorer.unit
        self._scorer = scorer
        self._last: tuple[ScorerPairs, TextPairScores] | None = None

    def score(self, pairs: ScorerPairs) -> TextPairScores:
        """Score pairs, or return the cached scores of these pairs."""
        if self._last is None or self._last[0] is not pairs:
            self._last = (pairs, self._scorer.score(pairs))
        return self._last[1]


class Hybrid:
    """A fusion of scorers: Σ weight · (score − mean) / spread, with mean and spread of the unmodified pairs.

    The spread is the standard deviation. So a margin is the weighted sum of the components' margins, each in units of
    its spread. Search engines normalize by each query's list; lists of five would stretch every stimulus to the same
    width.

    Args:
        name: display name in reports.
        weights: one weight per scorer; equal weights that sum to 1 if None.

    Raises:
        InputError: there are not as many weights as scorers.
    """

    unit = "spread"

    def __init__(self, name: str, parts: Sequence[PairScorer], weights: Sequence[float] | None = None) -> None:
        self.name, self.parts = name, tuple(parts)
        self.weights = tuple(weights) if weights is not None else (1 / len(parts),) * len(parts)
        if len(self.weights) != len(self.parts):
            raise InputError(f"A hybrid must have one weight for each of its {len(parts)} scorers. Got {weights!r}.")

    def score(self, pairs: ScorerPairs) -> TextPairScores:
        """Score pairs with every component."""
        values, grain = np.zeros(len(pairs.query)), np.zeros(len(pairs.query))
        for weight, part in zip(self.weights, self.parts, strict=True):
            found = part.score(pairs)
            usual = found.values[pairs.usual]
            spread = float(usual.std()) or 1.0  # where all are equal there is nothing to scale
            values += weight * (found.values - usual.mean()) / spread
            grain += abs(weight) * found.grain / spread
        return TextPairScores(values, grain + spacings(values, "float64"))
