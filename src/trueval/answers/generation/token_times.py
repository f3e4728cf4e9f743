"""Times of streamed answers by the number of passages in their prompts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trueval.answers.generation.answer_requests import Answered
from trueval.answers.generation.generation_result import TokenTimes
from trueval.latency.percentiles import NAMES, PercentileEstimate, Times, latency


def token_times(answered: Sequence[Answered], level: float, seed: int) -> tuple[TokenTimes, ...]:
    """p50, p95 and p99 of the first token, of the time between tokens, and of the whole answer.

    Each answer of the ledger counts once, however many logs have it; intervals are over questions, with repetitions
    and contexts of one together.
    """
    different = {
        (one.request.query, tuple(each.text for each in one.request.passages), one.request.sample): one
        for one in answered
        if one.generation.moments and not one.generation.problem
    }
    by_size: dict[int, list[Answered]] = {}
    for one in different.values():
        by_size.setdefault(len(one.request.passages), []).append(one)
    rng = np.random.default_rng(seed)
    return tuple(_times(size, found, level, rng) for size, found in sorted(by_size.items()))


def _times(size: int, answered: Sequence[Answered], level: float, rng: np.random.Generator) -> TokenTimes:
    queries = {query: at for at, query in enumerate(dict.fromkeys(one.request.query for one in answered))}
    seen: dict[str, int] = {}

    def percentiles(values: Sequence[float | None]) -> dict[str, PercentileEstimate]:
        kept = [(one, value) for one, value in zip(answered, values, strict=True) if value is not None]
        seen.clear()
        repeats = []
        for one, _ in kept:
            repeats.append(seen.get(one.request.query, 0))
            seen[one.request.query] = repeats[-1] + 1
        if not kept:
            return {}
        times = Times(
            np.array([queries[one.request.query] for one, _ in kept], dtype=np.int64),
            np.array(repeats, dtype=np.int64),
            np.zeros(len(kept)),
            np.array([value for _, value in kept], dtype=np.float64),
        )
        found = latency(times, rng=rng, level=level)
        return {name: getattr(found, name) for name in NAMES}

    generations = [one.generation for one in answered]
    gaps = [
        (each.moments[-1] - each.moments[0]) / (len(each.moments) - 1) if len(each.moments) > 1 else None
        for each in generations
    ]
    return TokenTimes(
        size,
        len(answered),
        _mean([each.tokens_in for each in generations]),
        _mean([each.tokens_out for each in generations]),
        percentiles([each.moments[0] for each in generations]),
        percentiles(gaps),
        percentiles([each.seconds for each in generations]),
    )


def _mean(values: Sequence[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
