"""Sliding windows: order a list window by window, from the end to the beginning."""

from __future__ import annotations

import numpy as np

from trueval.golden.refine.judge_orders import Ask, ask_round
from trueval.standings.standings import Floats


def sliding_window(
    grades: Floats, ask: Ask, rng: np.random.Generator, *, window: int = 20, step: int = 10, passes: int = 1
) -> list[int]:
    """Rank by ordering windows of a list from its end to its beginning, so that the best move up (Sun et al. 2023).

    The list begins in the order of the grades, and each window is shown in the order that it has.

    Args:
        grades: [document].
        ask: the judge.
        rng: not needed.
        window: documents of a call.
        step: by how many the window moves up.
        passes: how often from end to beginning.

    >>> judge = lambda batches: [sorted(batch) for batch in batches]
    >>> sliding_window(np.arange(4.0), judge, np.random.default_rng(0), window=2, step=1)
    [0, 3, 2, 1]
    """
    ranking = [int(each) for each in np.argsort(-grades, kind="stable")]
    for _ in range(passes):
        begin = max(len(ranking) - window, 0)
        while True:
            shown = tuple(ranking[begin : begin + window])
            (order,) = ask_round(ask, [shown])
            if order is not None:
                ranking[begin : begin + window] = order.best_first
            if not begin:
                break
            begin = max(begin - step, 0)
    return ranking
