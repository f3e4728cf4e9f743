"""Scorers: whatever gives a query and a candidate a number.

A probe hands all its pairs to a scorer in one call, so that a model sees every distinct text once, whatever the number
of runs and of changes to the texts. Numbers of one scorer are comparable with each other, not with those of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from trueval.errors import InputError
from trueval.standings.standings import Bools, Floats, Ints


class Pairs(NamedTuple):
    """Queries with candidates, every text once.

    Attributes:
        queries: different texts.
        candidates: different texts.
        query: [pair] place of its query.
        candidate: [pair] place of its candidate.
        sets: [pair] number of the set that it belongs to: candidates of one set are the corpus of a scorer that counts
            words.
        usual: [pair] whether it is as the texts are usually, before anybody changed them: a scorer that normalises
            takes its mean and spread from these.
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
    ) -> Pairs:
        """Gather pairs.

        Args:
            pairs: (query, candidate).
            sets: of each pair; None for one set.
            usual: of each pair; None where all are.

        Raises:
            InputError: sets or usual are not as many as the pairs.

        >>> found = Pairs.of([("q", "a"), ("q", "b"), ("r", "a")])
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


class PairScores(NamedTuple):
    """The numbers that a scorer gave.

    Attributes:
        values: [pair] float64; equal pairs of texts have equal values to the last bit.
        grain: [pair] how far rounding to the scorer's number formats may have moved each value. A margin of two values
            that is no larger than both grains together can be rounding alone.
    """

    values: Floats
    grain: Floats


@runtime_checkable
class PairScorer(Protocol):
    """The role of what scores pairs.

    Attributes:
        name: what reports call it.
        unit: what its numbers are: "cosine", "BM25", "logit", "MaxSim" or "spread".
    """

    name: str
    unit: str

    def score(self, pairs: Pairs) -> PairScores:
        """Score pairs, all in one call."""
        ...
