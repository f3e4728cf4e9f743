"""Accuracy of rule-based denoising: how much noise and how much of the question it removes, by character."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from trueval.probes.noise_result import ChangedQueries, StrippedNoise
from trueval.probes.query_noise import Noisy, noisy
from trueval.retrieval.pipeline.denoise import denoise, find_noise_spans


class StrippedText(NamedTuple):
    """Character counts of what the rules removed, spaces excluded."""

    chatter: int
    taken: int
    question: int
    lost: int

    def shares(self) -> dict[str, float]:
        """Precision and recall of the removed noise, and the share of questions lost; NaN of nothing."""
        out = self.taken + self.lost
        return {
            "precision": self.taken / out if out else np.nan,
            "recall": self.taken / self.chatter if self.chatter else np.nan,
            "question_lost": self.lost / self.question if self.question else np.nan,
        }


def measure_denoising(texts: Iterable[Noisy]) -> StrippedText:
    """Measure what the rules remove from texts whose noise is known.

    Args:
        texts: noisy texts with their segments.

    >>> measure_denoising([noisy("Why?", 1, "en", seed=1)]).shares()["recall"]
    1.0
    """
    counts = np.zeros((2, 2), dtype=np.int64)  # [belongs to the question][is removed]
    for each in texts:
        text = each.text
        out = np.zeros(len(text), dtype=bool)
        for span in find_noise_spans(text):
            out[span.start : span.end] = True
        asked = np.repeat(
            [piece.kind == "question" for piece in each.pieces], [len(piece.text) for piece in each.pieces]
        )
        seen = np.array([not char.isspace() for char in text], dtype=bool)
        for of_question in (0, 1):
            mine = out[seen & (asked == bool(of_question))]
            counts[of_question] += [len(mine) - mine.sum(), mine.sum()]
    return StrippedText(int(counts[0].sum()), int(counts[0, 1]), int(counts[1].sum()), int(counts[1, 1]))


def measure_denoising_by_level(
    queries: Sequence[str], language: str, levels: Iterable[int], banks: Iterable[str], seed: int
) -> list[StrippedNoise]:
    """Removal rates at each level, for the templates that the rules were written for and for held-out ones.

    Args:
        levels: levels of noise; level 0 has nothing to remove.
    """
    return [
        StrippedNoise(
            language,
            level,
            bank,
            **measure_denoising(noisy(query, level, language, seed=seed, bank=bank) for query in queries).shares(),
        )
        for level in levels
        if level
        for bank in banks
    ]


def count_changed_queries(queries: Iterable[str]) -> ChangedQueries:
    """Number of clean queries that the rules change.

    Args:
        queries: queries as users wrote them.

    >>> count_changed_queries(["Why is the sky blue?", "Hi! Why is the sky blue?"])
    ChangedQueries(queries=2, changed=1)
    """
    texts = list(queries)
    return ChangedQueries(len(texts), sum(denoise(text) != text for text in texts))
