"""Stage quality: measures of the candidates of each stage, where a collection has judgments."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import polars as pl

from trueval.comparison.compare import compare
from trueval.errors import TruevalWarning
from trueval.evaluation.defaults import fill_defaults, scale_is_known
from trueval.evaluation.evaluate import evaluate
from trueval.evaluation.evaluation_result import MeasureMeans
from trueval.evaluation.notes import note_low_thresholds, note_relevant_documents
from trueval.evaluation.scores import Scores
from trueval.judgments import Judgments
from trueval.retrieval.pipeline.retrieve_result import StageGain
from trueval.run import Run

# Measures of the coverage of the candidates, and of their order.
MEASURES: Final = ("R", "nDCG@10")
OF_RUBRIC: Final = ("R", "nDCG(gain='rubric')@10")  # of a golden set, whose grades 1 and 2 are worth nothing


class StageQuality(NamedTuple):
    """Measures of the candidates of several stages.

    Attributes:
        rel: grade from which a document is relevant.
        relevant: total number of documents of this grade.
        found: [stage] number of such documents among its candidates.
        given: [stage] number of such documents among its input; for a search, the total.
        values: [stage] measure → its mean over queries, and what ties do to it.
        notes: one-line warnings on the measures of the last stage.
        gains: what each stage that takes the candidates of others gained over the best search.
    """

    rel: float
    relevant: int
    found: tuple[int, ...]
    given: tuple[int, ...]
    values: tuple[Mapping[str, MeasureMeans], ...]
    notes: tuple[str, ...]
    gains: tuple[StageGain, ...]


def quality_of(
    runs: Mapping[str, Run], judgments: Judgments, rel: float | None = None, *, before: Sequence[Sequence[int]] = ()
) -> StageQuality:
    """Measure the candidates of several stages.

    Args:
        runs: name of a stage → its candidates.
        judgments: judgments of the queries.
        rel: grade from which a document is relevant; if None 1, or 4 for a golden set.
        before: [stage] the stages whose candidates went in, none for a search; all are searches if empty.

    >>> judgments = Judgments.from_dict({"q": {"a": 1, "b": 1}})
    >>> found = quality_of({"sparse": Run.from_dict({"q": {"a": 1.0, "c": 1.0}})}, judgments)
    >>> found.relevant, found.found, found.values[0]["R"].expected
    (2, (1,), 0.5)
    """
    pairs = ["query_id", "doc_id"]
    measures = OF_RUBRIC if scale_is_known(judgments, {"rel": rel}) else MEASURES
    rel = fill_defaults(judgments, measures, None, {"rel": rel}).policy.rel
    relevant = judgments.frame.filter(pl.col("grade") >= rel).select(pairs).unique()
    held = [relevant.join(run.frame.select(pairs), on=pairs, how="semi") for run in runs.values()]
    given = tuple(
        pl.concat([held[one] for one in of]).unique().height if of else relevant.height
        for of in before or [()] * len(runs)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)  # those of the last stage are in the notes
        scores = [evaluate(replace(run, name=name), judgments, measures, rel=rel) for name, run in runs.items()]
        searches = [each for each, of in zip(scores, before, strict=False) if not of]
        gains = _gains(runs, searches, judgments, rel, measures[-1])
    found, values = tuple(each.height for each in held), tuple(each.to_means().measures for each in scores)
    return StageQuality(rel, relevant.height, found, given, values, _notes_of(scores[-1], judgments), gains)


def _notes_of(scores: Scores, judgments: Judgments) -> tuple[str, ...]:
    """The notes of the last stage; the threshold is that of relevant documents, and nobody asked for R."""
    grades = judgments.frame["grade"].to_numpy()
    of_measures = note_low_thresholds(grades, scores.measures, scores.policy)
    others = tuple(note for note in scores.notes if note not in of_measures)
    return (*others, *note_relevant_documents(grades, scores.measures, scores.policy))


def _gains(
    runs: Mapping[str, Run], searches: Sequence[Scores], judgments: Judgments, rel: float, measure: str
) -> tuple[StageGain, ...]:
    """What stages gained over the best of several searches by a measure, all of them decided together."""
    names = {each.name for each in searches}
    others = {name: run for name, run in runs.items() if name not in names}
    if not searches or not others:
        return ()
    best = max(searches, key=lambda each: each.mean(measure).expected).name
    named = {best: runs[best], **others}
    found = compare(named, judgments, measure, baseline=best, rel=rel).differences
    return tuple(
        StageGain(
            each.first,
            each.second,
            measure,
            each.expected,
            each.lowest,
            each.highest,
            *each.simultaneous_interval,
            each.tests.adjusted,
            each.separated,
            each.verdict,
        )
        for each in found
    )
