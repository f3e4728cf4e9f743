"""Query scores: per-query values of the measures of a run, for the queries of a collection."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import NamedTuple

from trueval.collection import Collection
from trueval.errors import TruevalWarning
from trueval.evaluation.evaluate import Measures, evaluate
from trueval.judgments import Judgments
from trueval.policy.policy import Policy
from trueval.rag.unjudged_passages import grade_unjudged
from trueval.run import Run
from trueval.tradeoff.quality.changes import Floats


class QueryScores(NamedTuple):
    """The per-query values of a run.

    Attributes:
        query_ids: [query] ids of the judged queries.
        values: measure → [query] expected value over tie orders; NaN if not available.
        notes: one-line remarks of the evaluation.
        lower: measures for which lower values are better.
    """

    query_ids: tuple[str, ...]
    values: dict[str, Floats]
    notes: tuple[str, ...]
    lower: frozenset[str] = frozenset()

    @property
    def quality(self) -> str:
        """Name of the first measure."""
        return next(iter(self.values))


@dataclass(frozen=True, eq=False)
class QualityMeasures:
    """How runs over a collection are evaluated.

    Attributes:
        judgments: judgments of the searched queries.
        measures: measures to compute; the first is the quality.
        policy: of the measures; ours if None.
        unjudged: grade of unjudged documents; None for none.
    """

    judgments: Judgments
    measures: Measures
    policy: Policy | None = None
    unjudged: float | None = None

    @classmethod
    def of(
        cls,
        collection: Collection,
        judgments: Judgments,
        measures: Measures,
        policy: Policy | None = None,
        unjudged: float | None = None,
    ) -> QualityMeasures:
        """Keep the judgments of the collection's queries, such as a sample; the others were not searched.

        Raises:
            InputError: no query is judged.
        """
        kept = replace(collection, judgments=judgments).restrict(collection.queries).graded
        return cls(kept, measures, policy, unjudged)

    def score_run(self, run: Run) -> QueryScores:
        """Evaluate a run; remarks are collected, not printed."""
        filled = self.judgments if self.unjudged is None else grade_unjudged(self.judgments, run, self.unjudged)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TruevalWarning)
            scores = evaluate(run, filled, self.measures, policy=self.policy)
        values = {str(measure): scores.expected[:, column] for column, measure in enumerate(scores.measures)}
        lower = frozenset(str(measure) for measure in scores.measures if measure.better == "lower")
        return QueryScores(scores.query_ids, values, scores.notes, lower)
