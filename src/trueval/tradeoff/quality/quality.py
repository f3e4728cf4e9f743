"""The quality of a run at every K: measures with intervals, ceilings, and bounds for unjudged documents.

    PROC             mean ceiling: the quality if the best K of the pool came first (P-B §1, §5.1)
    share            mean quality / PROC, the ratio of the means, as P-B's tables have %PROC
    mean share       the mean of the ratios, pPROC, over the queries that have one
    retrieval headroom   1 - PROC: what only better candidates can win
    ordering headroom    PROC - mean quality: what a better order of the same candidates can win

Every number of a run at every K comes from one count of its standings. Intervals resample the queries; measures that
count the same queries are resampled with the same draws, in this run and in every other one of the same judgments.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from trueval.answers.answer_measures import MEASURES as ANSWER_MEASURES
from trueval.comparison.resampling.bootstrap_intervals import bootstrap_intervals
from trueval.comparison.resampling.resampled_sums import thread_count
from trueval.errors import MeasureError, TruevalWarning
from trueval.evaluation.evaluate import evaluate, score
from trueval.evaluation.scores import Scores
from trueval.judgments import Judgments
from trueval.measures import Measure, parse
from trueval.measures.grade_values import WORTHS
from trueval.measures.span import ValueRange
from trueval.numerics import or_null
from trueval.rag.unjudged_passages import as_judged, grade_unjudged
from trueval.run import Run
from trueval.standings.counting import counter
from trueval.standings.standings import Floats
from trueval.tradeoff.quality.quality_settings import QualitySettings
from trueval.tradeoff.quality.result_parts import PoolCeiling

# Minimum number of values for which threads pay off.
WORTH_THREADS: Final = 50_000
STATISTICS: Final = ("expected", "lowest", "highest", "sd")


class Ceiling(NamedTuple):
    """The best possible quality of a run's pool, as means over the same queries.

    Attributes:
        name: name of the ceiling, `PROC(RA-nWG, pool=100)@10`.
        PROC: quality with the best K of the pool first.
        actual: actual quality.
        mean_share: mean of the per-query ratios of the two; NaN if no query has one.
    """

    name: str
    PROC: float
    actual: float
    mean_share: float
    queries: int

    @property
    def share(self) -> float:
        """Ratio of the means, %PROC in P-B's tables; NaN for a ceiling of 0."""
        return self.actual / self.PROC if self.PROC else float("nan")

    @property
    def result(self) -> PoolCeiling:
        """The entry of sweep.json.

        >>> Ceiling("PROC(nWG, pool=50)@10", 0.8, 0.6, 0.7, 90).result.ordering_headroom
        0.2
        """
        return PoolCeiling(
            proc=or_null(self.PROC),
            actual=or_null(self.actual),
            share=or_null(self.share),
            mean_share=or_null(self.mean_share),
            retrieval_headroom=or_null(1 - self.PROC),
            ordering_headroom=or_null(round(self.PROC - self.actual, 15)),
            queries=self.queries,
        )


class ContextQuality(NamedTuple):
    """The quality of a run with K contexts.

    Attributes:
        k: number of top documents used as contexts.
        measures: measure → expected, lowest, highest, range, sd, queries, low and high; null if not available.
        quality: name of the quality measure, the first of these.
        ceiling: ceiling of the quality; None if it has none.
        judged: share of the first K documents that are judged.
        unjudged_highest: quality if every unjudged document had the best grade; None without such a bound.
    """

    k: int
    measures: Mapping[str, Mapping[str, Any]]
    quality: str
    ceiling: Ceiling | None
    judged: float
    unjudged_highest: float | None


class RunQuality(NamedTuple):
    """The quality of a run.

    Attributes:
        at: quality at each K.
        rows: columns query_id, measure, expected, lowest, highest and sd, for every measure and ceiling; NaN where not
            available.
        names: [K] names of the measures and ceilings in these rows.
        ties: tied_fraction, largest_group and cut_queries of the run.
    """

    at: tuple[ContextQuality, ...]
    rows: pl.DataFrame
    names: tuple[tuple[str, ...], ...]
    ties: Mapping[str, Any]
    notes: tuple[str, ...]


def qualities_of(
    run: Run, judgments: Judgments, contexts: Sequence[int], measuring: QualitySettings, *, pool: int
) -> RunQuality:
    """Measure a run at every K.

    Args:
        judgments: judgments with mapped grades.
        contexts: values of K, none above the pool.
        measuring: measures and policy.
        pool: maximum number of candidates per query.

    Raises:
        InputError: no query is judged, or a grade is not on the rubric of the measure.

    >>> from trueval.policy.policy import Policy
    >>> run = Run.from_dict({"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "r": {"a": 1.0}})
    >>> judgments = Judgments.from_dict({"q": {"b": 5, "z": 5}, "r": {"a": 5}})
    >>> measuring = QualitySettings(("RA-nWG@K",), None, None, None, Policy(), 0.95, 100, 0)
    >>> one, two = qualities_of(run, judgments, [1, 2], measuring, pool=3).at
    >>> one.measures["RA-nWG@1"]["expected"], one.ceiling.PROC, one.judged, two.measures["RA-nWG@2"]["expected"]
    (0.5, 1.0, 0.5, 0.75)
    """
    asked = {k: measuring.at(k) for k in contexts}
    ceilings = {k: _ceilings(asked[k][0], pool) for k in contexts}
    every = _once([each for k in contexts for each in (*asked[k], *ceilings[k])])
    open_ones = _once([each for k in contexts for each in _open(asked[k][0], k)])
    scores, raw = _scores(run, judgments, every, open_ones, measuring)
    ends = intervals_of(scores, measuring)
    cut = [str(measure) for measure, pair in ends.items() if pair != within_range(str(measure), pair)]
    ends = {measure: within_range(str(measure), pair) for measure, pair in ends.items()}
    at = tuple(_at(k, asked[k], ceilings[k], scores, raw, ends) for k in contexts)
    kept = [[*asked[k], *ceilings[k][:1]] for k in contexts]
    rows = _rows(scores, _once([each for some in kept for each in some]))
    ties = {**scores.ties._asdict(), "cut_queries": list(scores.ties.cut_queries)}
    notes = (*scores.notes, *_cut_notes(cut, [str(each) for k in contexts for each in asked[k]]))
    return RunQuality(at, rows, tuple(tuple(map(str, each)) for each in kept), ties, notes)


def _cut_notes(cut: Sequence[str], asked: Sequence[str]) -> tuple[str, ...]:
    """Remarks on intervals that were clipped."""
    shown = [name for name in dict.fromkeys(asked) if name in cut]
    told = f"The interval of {', '.join(shown)} would reach past what the measure can be, and ends there."
    return (told,) if shown else ()


def within_range(name: str, ends: tuple[float, float]) -> tuple[float, float]:
    """An interval clipped to the range of the measure: studentized intervals over few queries may exceed it.

    Args:
        name: text form of the measure; the range of an unknown measure is unbounded.
        ends: ends of the interval; NaN stays.

    >>> within_range("RR@10", (0.75, 1.25)), within_range("DCG@10", (0.75, 1.25))
    ((0.75, 1.0), (0.75, 1.25))
    """
    span = span_of(name)
    if span is None:
        return ends
    return span.cut(ends[0]), span.cut(ends[1])


def span_of(name: str) -> ValueRange | None:
    """The range of a measure of lists or of answers; None for an unknown one."""
    if name in ANSWER_MEASURES:
        return ANSWER_MEASURES[name].measure.span
    try:
        return parse(name).span
    except MeasureError:
        return None


def _scores(
    run: Run, judgments: Judgments, every: list[Measure], open_ones: list[Measure], measuring: QualitySettings
) -> tuple[Scores, Scores]:
    """Scores with unjudged documents graded, and statistics on the judgments as they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)  # these are notes of the scores
        if measuring.unjudged is None:
            both = evaluate(run, judgments, _once([*every, *open_ones]), policy=measuring.policy)
            return both.of(every), both.of(open_ones)
        filled = grade_unjudged(judgments, run, measuring.unjudged)
        scores = evaluate(run, filled, every, policy=measuring.policy)
        count, ids = counter(run, judgments), judgments.query_ids.to_list()
        raw = score(run.name, ids, count, tuple(open_ones), measuring.policy, (), ())
        return as_judged(scores, run, judgments, measuring.unjudged), raw


def _once(measures: Iterable[Measure]) -> list[Measure]:
    return list(dict.fromkeys(measures))


def _ceilings(quality: Measure, pool: int) -> tuple[Measure, ...]:
    """PROC and pPROC of a set measure; none for other measures."""
    own = quality.name in WORTHS and quality.better == "higher" and quality["unjudged"] == "nothing"
    if not own or quality.cutoff is None or quality.cutoff > pool:
        return ()
    inner = replace(quality, cutoff=None)
    return tuple(parse(name)(inner, pool=pool) @ quality.cutoff for name in ("PROC", "pPROC"))


def _open(quality: Measure, k: int) -> tuple[Measure, ...]:
    """The measures of what is unjudged: the share of judged documents, and the upper bound of the quality, if any."""
    judged = parse(f"Judged@{k}")
    if "unjudged" not in quality.definition.parameters or quality.cutoff is None:
        return (judged,)
    return (judged, quality(unjudged="upper"))


def _at(
    k: int,
    asked: Sequence[Measure],
    ceilings: Sequence[Measure],
    scores: Scores,
    raw: Scores,
    ends: Mapping[Measure, tuple[float, float]],
) -> ContextQuality:
    measures = {}
    for measure in asked:
        low, high = (or_null(end) for end in ends[measure])
        found = scores.mean(measure).to_dict("expected", "lowest", "highest", "range", "sd")
        measures[str(measure)] = {**found, "low": low, "high": high}
    bound = _open(asked[0], k)[1:]
    highest = or_null(raw.mean(bound[0]).expected) if bound else None
    ceiling = _ceiling(asked[0], ceilings, scores) if ceilings else None
    return ContextQuality(k, measures, str(asked[0]), ceiling, raw.mean(f"Judged@{k}").expected, highest)


def _ceiling(quality: Measure, ceilings: Sequence[Measure], scores: Scores) -> Ceiling:
    """The ceiling and the quality, over the queries that have both."""
    proc, actual = (scores.expected[:, scores.index(each)] for each in (ceilings[0], quality))
    both = ~(np.isnan(proc) | np.isnan(actual))
    best, own = (float(each[both].mean()) if both.any() else float("nan") for each in (proc, actual))
    return Ceiling(str(ceilings[0]), best, own, scores.mean(ceilings[1]).expected, int(both.sum()))


def intervals_of(scores: Scores, measuring: QualitySettings) -> dict[Measure, tuple[float, float]]:
    """Confidence limits of the mean of each measure; NaN for fewer than two queries, or a geometric mean.

    Args:
        measuring: level, resamples and seed of the intervals.
    """
    columns = [place for place, measure in enumerate(scores.measures) if measure.definition.mean != "geometric"]
    ends = mean_intervals(scores.expected[:, columns], measuring)
    found = dict.fromkeys(scores.measures, (float("nan"), float("nan")))
    return found | {
        scores.measures[place]: (low, high) for place, (low, high) in zip(columns, ends.tolist(), strict=True)
    }


def mean_intervals(values: Floats, measuring: QualitySettings) -> Floats:
    """[column, 2] bootstrap confidence limits of the mean of each column over its queries.

    Args:
        values: [query, column] values; NaN where a query has none.
        measuring: level, resamples and seed of the intervals.

    >>> from trueval.policy.policy import Policy
    >>> settings = QualitySettings(("AP",), None, None, None, Policy(), 0.95, 100, 0)
    >>> mean_intervals(np.full((9, 1), 0.5), settings).tolist()
    [[0.5, 0.5]]
    """
    ends = np.full((values.shape[1], 2), np.nan)
    known = ~np.isnan(values)
    threads = thread_count(None) if values.size > WORTH_THREADS else 1
    # Columns of the same queries share their draws.
    patterns, pattern_of = np.unique(known, axis=1, return_inverse=True)
    for number in range(patterns.shape[1]):
        columns = np.flatnonzero(pattern_of.ravel() == number)
        own = values[patterns[:, number]][:, columns]
        # The interval of a mean is that of its difference from 0.
        with_zero = np.concatenate([own, np.zeros((len(own), 1))], axis=1)
        ends[columns] = bootstrap_intervals(
            with_zero,
            np.zeros_like(with_zero),
            np.arange(len(columns)),
            np.full(len(columns), len(columns)),
            level=measuring.level,
            resamples=measuring.resamples,
            seed=measuring.seed,
            threads=threads,
        ).expected
    return ends


def _rows(scores: Scores, measures: Sequence[Measure]) -> pl.DataFrame:
    """The per-query values, measure by measure."""
    columns = [scores.index(measure) for measure in measures]
    queries = len(scores.query_ids)
    return pl.DataFrame(
        {
            "query_id": pl.Series(list(scores.query_ids) * len(columns), dtype=pl.String),
            "measure": pl.Series(np.repeat([str(each) for each in measures], queries).tolist(), dtype=pl.String),
            **{name: getattr(scores, name)[:, columns].T.ravel() for name in STATISTICS},
        }
    )
