"""Answer prediction: which measures of lists say beforehand what the answers of a generator are worth.

For question q and configuration c let y be the value of the answer, x that of a measure of the first K documents. An
isotonic regression f of y on x (falling where lower is better; Barlow et al. 1972), made without the questions of the
fold of q, predicts y; m is the mean of y over the same other questions. The measure explains

    S = 1 - sum of (y - f(x))^2 / sum of (y - m)^2        over all questions, each when it is held out

of what differs between answers: 1 is all, 0 nothing, below 0 is worse than the mean. f is any curve that does not turn,
so a measure and what is a growing function of it explain the same. With one utility for all relevant documents and one
for all others, UDCG is such a function of P@K, whatever the utilities; those that brittleness measures are of each
question (measured_utility.py). Agreement looks at the configurations of one question:

    A = share of pairs with different y that x orders as y does; equal x count half

Questions are the units of folds and of intervals: squares are means over repeated partitions, and the percentile
bootstrap draws questions. Curves are not fitted again in a resample, so that the interval is of these curves. Of two
measures the difference of S is paired; that to the best one has a level of 1 - (1 - level) / (measures - 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from trueval.answers.answer_measures import MEASURES
from trueval.answers.generation.brittle_result import BrittleAnswers
from trueval.comparison.resampling.resampled_sums import generator
from trueval.measures import parse
from trueval.standings.standings import Bools, Floats, Ints
from trueval.tradeoff.diagnosis.diagnosis_results import GeneratorPrediction, MeasurePrediction
from trueval.tradeoff.diagnosis.marginals import interval
from trueval.tradeoff.diagnosis.measured_utility import NAME, measured_utility
from trueval.tradeoff.quality.result_parts import IntervalEstimate
from trueval.tradeoff.quality.sweep_loader import SweepArrays

FOLDS: Final = 10
REPEATS: Final = 5
LEAST: Final = 10  # questions below which nothing is said
SAME: Final = 1e-9  # difference of answers below which all are worth the same
STREAM: Final = 7 << 32  # of random numbers, as in quality/resamples.py


def predict_answers(
    measured: SweepArrays, level: float, resamples: int, seed: int, brittle: BrittleAnswers | None = None
) -> tuple[GeneratorPrediction, ...]:
    """Which measures of lists predict the answers of each generator of a sweep; empty where nobody answers.

    Args:
        measured: the sweep, with measures of lists beside those of answers.
        level: of intervals.
        brittle: what distractors cost these generators, for UDCG with the utilities that it measures.

    Raises:
        InputError: as in `measured_utility`.
    """
    utility = None if brittle is None else measured_utility(measured, brittle)
    by_generator: dict[str, list[int]] = {}
    for place, each in enumerate(measured.configurations):
        about = measured.systems[each["system"]].get("answers")
        if about is not None:
            by_generator.setdefault(about["generator"], []).append(place)
    found = (_of_generator(measured, places, utility, level, resamples, seed) for places in by_generator.values())
    return tuple(each for each in found if each is not None)


def _of_generator(
    measured: SweepArrays, places: Sequence[int], utility: Floats | None, level: float, resamples: int, seed: int
) -> GeneratorPrediction | None:
    families = _families(measured, places)
    values = {
        name: measured.of_measures([wanted.get(place, "") for place in range(len(measured.configurations))])[:, places]
        for name, wanted in families.items()
    }
    lower = [parse(wanted[places[0]]).better == "lower" for wanted in families.values()]
    if utility is not None and not np.isnan(utility[:, places]).all():
        values[NAME] = utility[:, places]
        lower.append(False)
    answers = measured.values[:, places]
    kept = ~np.isnan(answers)
    for each in values.values():
        kept &= ~np.isnan(each)
    query = np.nonzero(kept)[0]
    if not values or len(np.unique(query)) < LEAST or np.ptp(answers[kept]) < SAME:
        return None
    x = np.stack([each[kept] for each in values.values()]) * np.where(lower, -1.0, 1.0)[:, None]
    found = compare_predictors(list(values), x, answers[kept], query, level=level, resamples=resamples, seed=seed)
    system = measured.systems[measured.configurations[places[0]]["system"]]
    about = system.get("values") or {}
    told = [str(value) for key, value in about.items() if key.startswith("generate.")]
    return GeneratorPrediction(
        " ".join(told) or str(system["answers"]["model"]),
        str(measured.result["quality"]),
        len(np.unique(query)),
        len(query),
        found,
    )


def _families(measured: SweepArrays, places: Sequence[int]) -> dict[str, dict[int, str]]:
    """Measure of lists → configuration → its name there: nDCG@5 at K = 5 is nDCG@K."""
    found: dict[str, dict[int, str]] = {}
    for place in places:
        each = measured.configurations[place]
        for name in each["measures"]:
            if name not in MEASURES:
                inside, _, cutoff = name.rpartition("@")
                found.setdefault(f"{inside}@K" if cutoff == str(each["K"]) else name, {})[place] = name
    return {name: wanted for name, wanted in found.items() if len(wanted) == len(places)}


def compare_predictors(
    names: Sequence[str], x: Floats, y: Floats, query: Ints, *, level: float, resamples: int, seed: int
) -> tuple[MeasurePrediction, ...]:
    """What measures say of answers, the one that explains most first.

    Args:
        names: [measure] of the measures.
        x: [measure, pair] their values, where higher is better.
        y: [pair] value of the answer.
        query: [pair] number of its question.

    >>> x = np.array([np.tile([0.0, 1.0], 20), np.repeat([0.0, 1.0], 20)])
    >>> found = compare_predictors(["a", "b"], x, x[0], np.arange(40) // 2, level=0.95, resamples=100, seed=0)
    >>> found[0].measure, found[0].explained.value, found[0].agreement.value
    ('a', 1.0, 1.0)
    """
    question = np.unique(query, return_inverse=True)[1]
    count = int(question.max()) + 1
    losses, base = _held_out_losses(x, y, question, count, seed)
    orders = [_orders(each, y, question, count) for each in x]
    rng = generator(seed, STREAM, 1)
    draws = rng.multinomial(count, np.full(count, 1 / count), size=resamples).astype(np.float64)
    below = base.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        explained = 1 - losses.sum(axis=1) / below
        drawn = 1 - (draws @ losses.T) / (draws @ base)[:, None]  # [resample, measure]
    best = int(np.argmax(np.where(np.isnan(explained), -np.inf, explained)))
    shared = 1 - (1 - level) / max(len(names) - 1, 1)
    found = []
    for at, name in enumerate(names):
        value = interval(float(explained[at]), drawn[:, at], level)
        agree, pairs = orders[at]
        with np.errstate(invalid="ignore", divide="ignore"):
            share = float(agree.sum() / pairs.sum()) if pairs.sum() else float("nan")
            shares = (draws @ agree) / (draws @ pairs)
        behind = interval(float(explained[best] - explained[at]), drawn[:, best] - drawn[:, at], shared)
        found.append(
            MeasurePrediction(
                name,
                IntervalEstimate(None, None, None) if value is None else value,
                interval(share, shares, level),
                None if at == best else behind,
            )
        )
    return tuple(sorted(found, key=lambda each: -(each.explained.value or -np.inf) if each.behind else -np.inf))


def _held_out_losses(x: Floats, y: Floats, question: Ints, count: int, seed: int) -> tuple[Floats, Floats]:
    """[measure, question] and [question] squared errors of held-out predictions: of the measures, and of the mean."""
    rng, folds = generator(seed, STREAM, 0), min(FOLDS, count)
    losses, base = np.zeros((len(x), count)), np.zeros(count)
    for _ in range(REPEATS):
        fold = (rng.permutation(count) % folds)[question]
        for number in range(folds):
            out = fold == number
            own = question[out]
            base += np.bincount(own, (y[out] - y[~out].mean()) ** 2, minlength=count)
            for at, values in enumerate(x):
                predicted = _isotonic(values[~out], y[~out], values[out])
                losses[at] += np.bincount(own, (y[out] - predicted) ** 2, minlength=count)
    return losses / REPEATS, base / REPEATS


def _isotonic(x: Floats, y: Floats, at: Floats) -> Floats:
    """The growing curve nearest to some points, at other places: straight between these, flat outside them."""
    from scipy.optimize import isotonic_regression

    places, of = np.unique(x, return_inverse=True)
    counts = np.bincount(of)
    curve = isotonic_regression(np.bincount(of, y) / counts, weights=counts.astype(np.float64)).x
    return np.asarray(np.interp(at, places, curve))


def _orders(x: Floats, y: Floats, question: Ints, count: int) -> tuple[Floats, Floats]:
    """[question] pairs of configurations that the measure orders as the answers are, and all with different answers."""
    agree, pairs = np.zeros(count), np.zeros(count)
    for number in range(count):
        own = question == number
        signs = np.sign(y[own][:, None] - y[own])
        different: Bools = np.triu(signs != 0)
        same = np.sign(x[own][:, None] - x[own]) * signs
        agree[number], pairs[number] = ((1 + same[different]) / 2).sum(), different.sum()
    return agree, pairs
