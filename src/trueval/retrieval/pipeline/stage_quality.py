"""Stage quality: measures of the candidates of each stage, where a collection has judgments."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import polars as pl

from trueval.errors import TruevalWarning
from trueval.evaluation.defaults import fill_defaults
from trueval.evaluation.evaluate import evaluate
from trueval.judgments import Judgments
from trueval.run import Run

# Measures of the coverage of the candidates, and of their order.
MEASURES: Final = ("R", "nDCG@10")


class StageQuality(NamedTuple):
    """Measures of the candidates of several stages.

    Attributes:
        rel: grade from which a document is relevant.
        relevant: total number of documents of this grade.
        found: [stage] number of such documents among its candidates.
        given: [stage] number of such documents among its input; for a search, the total.
        values: [stage] measure → expected, lowest and highest over the orders of ties, and more.
        notes: one-line warnings on the measures of the last stage.
    """

    rel: float
    relevant: int
    found: tuple[int, ...]
    given: tuple[int, ...]
    values: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]

    def of_stage(self, place: int) -> dict[str, Any]:
        """A stage's measures as a dict for a manifest."""
        return {
            "relevant": self.found[place],
            "relevant_given": self.given[place],
            "measures": dict(self.values[place]),
        }


def quality_of(
    runs: Sequence[Run], judgments: Judgments, rel: float | None = None, *, before: Sequence[Sequence[int]] = ()
) -> StageQuality:
    """Measure the candidates of several stages.

    Args:
        runs: [stage] candidates.
        judgments: judgments of the queries.
        rel: grade from which a document is relevant; if None 1, or 4 for a golden set.
        before: [stage] the stages whose candidates went in, none for a search; all are searches if empty.

    >>> judgments = Judgments.from_dict({"q": {"a": 1, "b": 1}})
    >>> found = quality_of([Run.from_dict({"q": {"a": 1.0, "c": 1.0}})], judgments)
    >>> found.relevant, found.found, found.values[0]["R"]["expected"]
    (2, (1,), 0.5)
    """
    pairs = ["query_id", "doc_id"]
    rel = fill_defaults(judgments, MEASURES, None, {"rel": rel}).policy.rel
    relevant = judgments.frame.filter(pl.col("grade") >= rel).select(pairs).unique()
    held = [relevant.join(run.frame.select(pairs), on=pairs, how="semi") for run in runs]
    given = tuple(
        pl.concat([held[one] for one in of]).unique().height if of else relevant.height
        for of in before or [()] * len(runs)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)  # those of the last stage are in the notes
        scores = [evaluate(run, judgments, MEASURES, rel=rel) for run in runs]
    results: list[dict[str, Any]] = [dict(each.to_dict()) for each in scores]
    found, values = tuple(each.height for each in held), tuple(each["measures"] for each in results)
    return StageQuality(rel, relevant.height, found, given, values, scores[-1].notes)
