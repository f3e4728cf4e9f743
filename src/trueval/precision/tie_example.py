"""One query of an audit that ties move most: its first scores in low precision, and what float32 makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from trueval.models.pair_scores import HIGH

if TYPE_CHECKING:
    from trueval.evaluation.scores import Scores
    from trueval.judgments import Judgments
    from trueval.measures import Measure
    from trueval.precision.regimes import Regime
    from trueval.run import Run

SHOWN: Final = 12  # documents


@dataclass(frozen=True)
class ExampleDocument:
    """A document of the example.

    Attributes:
        document: its id.
        grade: in the judgments; None where nobody judged.
        score: in low precision.
        finer: of the same output in float32; None where that was not asked for.
        finer_rank: its rank by that score among all documents of the list, from 1, ties in the order of the list.
    """

    document: str
    grade: float | None
    score: float
    finer: float | None
    finer_rank: int | None


@dataclass(frozen=True)
class TieExample:
    """A query whose first documents tie.

    Attributes:
        model: name of the model.
        label: label of the regime in low precision.
        query: id of the query.
        measure: text form of the first measure.
        lowest: of it over the orders of tied documents.
        highest: of it over these.
        count: documents in the list.
        documents: the first ones by the score in low precision, tied ones in the order of the list.
    """

    model: str
    label: str
    query: str
    measure: str
    lowest: float
    highest: float
    count: int
    documents: tuple[ExampleDocument, ...]

    @property
    def range(self) -> float:
        """What ties leave open."""
        return self.highest - self.lowest


@dataclass(frozen=True)
class WidestQuery:
    """A query of a regime, and how far ties move a measure of it."""

    regime: Regime
    query: str
    lowest: float
    highest: float


def find_widest(scores: Mapping[Regime, Scores], measure: Measure) -> WidestQuery | None:
    """The query with the widest tie range, of regimes that score in the format of a model below float32.

    Args:
        scores: regime → its scores, the measure among them.
        measure: the measure.

    Returns:
        The first of the widest; None where ties move no query.
    """
    found: WidestQuery | None = None
    for regime, each in scores.items():
        if not regime.scoring_format == regime.model_dtype != HIGH:
            continue
        column = each.index(measure)
        low, high = each.lowest[:, column], each.highest[:, column]
        ranges = np.nan_to_num(high - low)
        at = int(ranges.argmax()) if len(ranges) else 0
        if len(ranges) and ranges[at] > (0.0 if found is None else found.highest - found.lowest):
            found = WidestQuery(regime, each.query_ids[at], float(low[at]), float(high[at]))
    return found


def make_example(
    chosen: WidestQuery, runs: Mapping[Regime, Run], judgments: Judgments, measure: Measure
) -> TieExample | None:
    """The first documents of a query with their scores in low precision and in float32.

    Args:
        chosen: query and regime.
        runs: regime → run, which list the same documents in the same order.
        judgments: grades.
        measure: first measure.

    Returns:
        The example; None where the runs do not have the query.
    """
    run = runs[chosen.regime]
    if chosen.query not in run.query_ids:
        return None
    place = run.query_ids.to_list().index(chosen.query)
    rows = slice(int(run.offsets[place]), int(run.offsets[place + 1]))
    scores = run.documents["score"].to_numpy()[rows]
    names = run.documents["doc_id"][rows].to_list()
    fine = runs.get(chosen.regime._replace(scoring_format=HIGH))
    finer = None if fine is None else fine.documents["score"].to_numpy()[rows]
    ranks = np.empty(len(scores), np.int64)
    if finer is not None:
        ranks[np.argsort(-finer, kind="stable")] = np.arange(1, len(scores) + 1)
    judged = judgments.frame.filter(pl.col("query_id") == chosen.query)
    grades = dict(zip(judged["doc_id"].to_list(), judged["grade"].to_list(), strict=True))
    return TieExample(
        chosen.regime.model,
        chosen.regime.label,
        chosen.query,
        str(measure),
        chosen.lowest,
        chosen.highest,
        len(scores),
        tuple(
            ExampleDocument(
                names[at],
                None if grades.get(names[at]) is None else float(grades[names[at]]),
                float(scores[at]),
                None if finer is None else float(finer[at]),
                None if finer is None else int(ranks[at]),
            )
            for at in np.argsort(-scores, kind="stable")[:SHOWN].tolist()
        ),
    )
