"""Cross-fitting: quality of the chosen configuration on held-out queries, free of selection bias."""

from __future__ import annotations

import numpy as np

from trueval.comparison.resampling.resampled_sums import generator, to_grid
from trueval.standings.standings import Bools, Floats, Ints
from trueval.tradeoff.diagnosis.diagnosis_results import CrossFit, PickedPoint
from trueval.tradeoff.quality.resamples import FOLDS as STREAM


def cross_fit(
    values: Floats, feasible: Bools, prompt: Floats, *, folds: int = 10, repeats: int = 20, seed: int = 0
) -> CrossFit | None:
    """Choose the best configuration on all folds but one, and evaluate it on the held-out fold.

    A choice from fewer queries is slightly worse, so the value is that of a choice made on (folds - 1) / folds of the
    queries. Ties in the mean are broken by the smaller prompt, then by the order of the sweep. Limits on latency and
    cost are the same in all folds.

    Args:
        values: [query, configuration] quality; NaN if not available.
        feasible: [configuration] whether it may be chosen.
        prompt: [configuration] prompt size.
        folds: number of folds; one per query if there are fewer queries.
        repeats: number of random partitions into folds.

    Returns:
        None where nothing is feasible, or there are fewer than two queries.

    Example:
        >>> noise = np.array([[1.0, 0.0], [0.0, 1.0]])      # each query prefers the other configuration
        >>> found = cross_fit(noise, np.array([True, True]), np.array([1.0, 1.0]))
        >>> found.value, found.chosen_on_all
        (0.0, 0.5)
    """
    some = np.flatnonzero(feasible & ~np.isnan(values).all(axis=0))
    some = some[np.argsort(prompt[some], kind="stable")]  # argmax takes the first of equal values
    queries, folds = len(values), min(folds, len(values))
    if not len(some) or queries < 2:
        return None
    known = (~np.isnan(values[:, some])).astype(np.float64)
    kept = to_grid(np.where(known > 0, values[:, some], 0.0)).values  # sums are exact, so what is equal stays equal
    rng, found, picked = generator(seed, STREAM, 0), [], np.zeros(len(some))
    for _ in range(repeats):
        member = np.eye(folds)[:, rng.permutation(queries) % folds]  # [fold, query]
        total, chosen = _held_out_mean(member, kept, known)
        if total is not None:
            found.append(total)
            picked += np.bincount(chosen, minlength=len(some))
    if not found:
        return None
    means = kept.sum(axis=0) / known.sum(axis=0)
    order = np.argsort(-picked, kind="stable")
    picks = tuple(
        PickedPoint(int(some[place]), float(picked[place] / picked.sum())) for place in order if picked[place]
    )
    value, on_all = float(np.mean(found)), float(means.max())
    return CrossFit(value, on_all, on_all - value, folds, repeats, picks)


def _held_out_mean(member: Floats, kept: Floats, known: Floats) -> tuple[float | None, Ints]:
    """The held-out mean, and the configuration chosen for each fold."""
    sums, counts = member @ kept, member @ known
    others = counts.sum(axis=0) - counts
    with np.errstate(invalid="ignore"):
        means = np.where(others > 0, (sums.sum(axis=0) - sums) / np.maximum(others, 1), -np.inf)
    chosen = means.argmax(axis=1)
    rows = np.arange(len(sums))
    total = float(counts[rows, chosen].sum())
    return (float(sums[rows, chosen].sum()) / total if total else None), chosen
