"""pytrec_eval: a RelevanceEvaluator whose values are exact under ties. Written for pytrec_eval-terrier 0.5.6 and newer;
tried with 0.5.11.

It takes and gives what theirs does, under the same names::

    from trueval.integrations.pytrec_eval import RelevanceEvaluator
    evaluator = RelevanceEvaluator(qrels, {"map", "recip_rank", "ndcg_cut.10"})
    evaluator.evaluate(run)     # {query: {measure: expected value}}
    evaluator.scores            # the Scores of the run evaluated last: lowest, highest, sd, a table

`with install():` gives it to all that looks pytrec_eval.RelevanceEvaluator up, such as BEIR.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Final

from trueval.errors import MeasureError
from trueval.integrations.hosts import need_host, statistic

need_host("pytrec_eval-terrier", "0.5.6")

import pytrec_eval

if TYPE_CHECKING:
    from trueval.evaluation.scores import Scores
    from trueval.measures import Measure

Results = dict[str, dict[str, float]]

# Measures without a value of ours that no order of ties changes: counts, and what is computed from sets.
SETS: Final = ("num_", "runid", "relstring", "set_", "utility")


class RelevanceEvaluator(pytrec_eval.RelevanceEvaluator):
    """A RelevanceEvaluator of pytrec_eval with the values of trueval.

    Args:
        query_relevance: {query: {document: grade}}.
        measures: names of pytrec_eval, also its nicknames.
        relevance_level: the least grade that is relevant.
        judged_docs_only_flag: whether documents without a grade are left out.
        ties: the number to give where equal scores leave several: "expected", "lowest", "highest", or "tie-broken",
            which is theirs.
        tie_precision: number format or grid width in which scores are equal; None as given. pytrec_eval has "float32".

    Attributes:
        scores: the Scores of the run evaluated last; None before.

    Raises:
        MeasureError: the order of ties matters to a measure that trueval does not have.
        PolicyError: a choice is unknown.
    """

    scores: Scores | None = None

    def __init__(
        self,
        query_relevance: Mapping[str, Mapping[str, int]],
        measures: Iterable[str],
        relevance_level: int = 1,
        judged_docs_only_flag: bool = False,
        *,
        ties: str = "expected",
        tie_precision: str | float | None = None,
    ) -> None:
        from trueval.policy.policy import Policy

        names = list(measures)
        super().__init__(query_relevance, names, relevance_level, judged_docs_only_flag)
        self._qrels = query_relevance
        self._statistic = statistic(ties)
        chosen = {"rel": relevance_level, "judged_only": bool(judged_docs_only_flag), "tie_precision": tie_precision}
        self._policy = Policy().but(**chosen)
        self._known: dict[str, Measure | None] = {}
        if self._statistic != "tie_broken":
            self._refuse(self._combine_measures(self._expand_nicknames(names)))

    def evaluate(self, scores: Mapping[str, Mapping[str, float]]) -> Results:
        """Evaluate a run.

        Args:
            scores: {query: {document: score}}.

        Returns:
            {query: {measure: value}} of the queries that are judged and in the run.
        """
        import numpy as np

        from trueval.evaluation.estimate import LEAST_IN_GEOMETRIC_MEAN
        from trueval.evaluation.evaluate import evaluate

        found: Results = super().evaluate(scores)
        named = {name: self._measure(name) for name in next(iter(found.values()), {})}
        ours = {name: measure for name, measure in named.items() if measure is not None}
        if not found or not ours:
            self.scores = None
            return found
        asked = {query: self._qrels[query] for query in found}
        self.scores = evaluate({query: scores[query] for query in found}, asked, ours.values(), policy=self._policy)
        if self._statistic == "tie_broken":
            return found
        for name, measure in ours.items():
            column = getattr(self.scores, self._statistic)[:, self.scores.measures.index(measure)]
            if name.startswith(
                "gm_"
            ):  # trec_eval gives the logarithm of a query, of which the mean's is the geometric mean
                column = np.log(np.maximum(column, LEAST_IN_GEOMETRIC_MEAN))
            for query, value in zip(self.scores.query_ids, column.tolist(), strict=True):
                found[query][name] = value
        return found

    def _measure(self, name: str) -> Measure | None:
        """Our measure of a name; None where there is none."""
        from trueval.measures import parse

        if name not in self._known:
            try:
                self._known[name] = parse(name)
            except MeasureError:
                self._known[name] = None
        return self._known[name]

    def _refuse(self, combined: Iterable[str]) -> None:
        """Refuse measures whose value depends on the order of ties, and of which trueval has no other value.

        Args:
            combined: names with their parameters, "ndcg_cut.5,10".
        """
        names = {name.replace(".", "_", 1).partition(",")[0] for name in combined}
        lacking = sorted(name for name in names if not name.startswith(SETS) and self._measure(_cut(name)) is None)
        if lacking:
            raise MeasureError(
                f"{', '.join(lacking)}: the order of ties changes these measures of pytrec_eval, and trueval has no "
                "expected value of them. Leave them out, or ask pytrec_eval's own RelevanceEvaluator."
            )


def _cut(name: str) -> str:
    """A name with a number, where trec_eval has several numbers by default."""
    if name == "iprec_at_recall":
        return f"{name}_0.10"
    return f"{name}_10" if name in ("P", "recall", "success", "ndcg_cut", "map_cut") else name


def install(ties: str = "expected", *, tie_precision: str | float | None = None) -> ExitStack:
    """Put the evaluator in the place of pytrec_eval.RelevanceEvaluator, until the returned context is left or closed.

    Args:
        ties: as in RelevanceEvaluator.
        tie_precision: as in RelevanceEvaluator.

    Raises:
        PolicyError: a choice is unknown.
    """
    statistic(ties)
    undone = ExitStack()
    undone.callback(setattr, pytrec_eval, "RelevanceEvaluator", pytrec_eval.RelevanceEvaluator)
    pytrec_eval.RelevanceEvaluator = partial(RelevanceEvaluator, ties=ties, tie_precision=tie_precision)
    return undone
