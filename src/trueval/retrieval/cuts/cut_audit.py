"""Cuts: the randomness of contexts that end inside a group of equal scores (cutoff.py).

The choice among equal scores affects a measure as ties do: `evaluate` over lists with the whole group gives the
expected, the lowest and the highest value. Repeated calls show the actual behavior of the engine
(indexes/repeated_calls.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import PolicyError
from trueval.evaluation.estimate import Estimate
from trueval.evaluation.evaluate import Measures
from trueval.evaluation.scores import Scores
from trueval.numerics import or_null
from trueval.policy.conventions import Policy
from trueval.report.result import ResultHolder
from trueval.retrieval.cuts.call_differences import Calls, compare_calls
from trueval.retrieval.cuts.cut_values import choose_cut_measure, score_cuts
from trueval.retrieval.cuts.cutoff import CutoffGroup, chances, documents_of, find_cuts
from trueval.retrieval.cuts.cuts_result import (
    CallCounts,
    CauseCounts,
    CutAudit,
    CutSummary,
    MeanEnds,
    MeasureAtCut,
    PipelineTies,
    QueryAtCut,
    QueryCalls,
    QueryCut,
    TieEnds,
)
from trueval.retrieval.cuts.tie_causes import TieCause, causes_of
from trueval.retrieval.indexes.repeated_calls import MOST, SearchSession, combine_calls, fetch_past, may_go_on, repeat
from trueval.run import Run

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Integers up to here are exact where JSON is read as float64.
EXACT: Final = 2**53


@dataclass(frozen=True, eq=False, repr=False)
class Cuts(ResultHolder):
    """The result of an audit of the cut at k.

    Attributes:
        k: number of documents in a context.
        name: name of the searched index or run.
        queries: number of queries asked.
        run: lists deeper than k, of the queries with results.
        cuts: cuts of the queries whose cutoff falls inside a group, or whose list ends in one.
        calls: comparison of repeated calls; None for a single call.
        causes: causes of the ties, one per cut; empty where texts are not known.
        scores: scores of the run under ties; None without judgments.
        parts: scores by source of ties: "cut" with only the ties at the cutoff, "inside" with only the others.
        realized: scores of each call, with ties in the order listed.
        about: description of what was searched, for the JSON.
        stages: how far ties travel through a pipeline (tie_propagation.py); None if there is none.
    """

    k: int
    name: str
    queries: int
    run: Run
    cuts: tuple[CutoffGroup, ...]
    calls: Calls | None
    causes: tuple[TieCause, ...]
    scores: Scores | None
    parts: Mapping[str, Scores]
    realized: tuple[Scores, ...]
    about: Mapping[str, object]
    notes: tuple[str, ...]
    stages: PipelineTies | None = None

    @property
    def inside(self) -> tuple[CutoffGroup, ...]:
        """The cuts inside a group for which both sides are known."""
        return tuple(cut for cut in self.cuts if cut.inside)

    def chances(self) -> pl.DataFrame:
        """The documents that can be in the context: query_id, doc_id, score, chance and, of repeated calls, entered.

        `chance` is 1 above the group, slots / size in it; documents below, of chance 0, are left out. `entered` is the
        share of the calls that have the document in their context.
        """
        frame = chances(self.run, self.k, self.cuts)
        if self.calls is None:
            return frame
        entered = self.calls.context_shares()
        return frame.join(entered, on=["query_id", "doc_id"], how="left", maintain_order="left").with_columns(
            pl.col("entered").fill_null(0.0)
        )

    def result(self) -> CutAudit:
        """What `trueval cuts` writes and shows."""
        return CutAudit(
            self.name,
            self.k,
            dict(self.about),
            None if self.scores is None else self.scores.policy.to_dict(),
            self._summary(),
            self._causes(),
            None if self.calls is None else count_calls(self.calls, self.inside),
            self._measures(),
            self.stages,
            tuple(map(self._cut, range(len(self.cuts)))),
            self.notes,
        )

    def _summary(self) -> CutSummary:
        inside = self.inside
        return CutSummary(
            queries=self.queries,
            cut=len(inside),
            open=sum(cut.open for cut in self.cuts),
            largest_group=max((cut.size for cut in inside), default=0),
            at_stake=sum(cut.slots / (cut.above + cut.slots) for cut in inside) / len(inside) if inside else 0.0,
            overlap=sum(cut.overlap for cut in inside) / len(inside) if inside else 1.0,
            depth_needed=max((cut.above + cut.size for cut in inside), default=0),
        )

    def _causes(self) -> CauseCounts | None:
        known = [cause for cut, cause in zip(self.cuts, self.causes, strict=False) if cut.inside]
        if not known:
            return None
        names = dict.fromkeys(cause.name for cause in known)
        exact = [cause.decided for cause in known if cause.decided is not None]
        return CauseCounts(
            {name: sum(cause.name == name for cause in known) for name in names}, sum(exact) if exact else None
        )

    def _measures(self) -> dict[str, MeasureAtCut]:
        if self.scores is None:
            return {}
        found = {}
        for name, mean in self.scores.means().items():
            calls = tuple(or_null(each.mean(name).tie_broken) for each in self.realized)
            known = [value for value in calls if value is not None]
            cut, inside = (_mean_ends(self.parts[part].mean(name)) for part in ("cut", "inside"))
            ends = (min(known, default=None), max(known, default=None))
            own = _mean_ends(mean)
            found[name] = MeasureAtCut(
                own.expected, own.low, own.high, own.range, or_null(mean.sd), own.queries, cut, inside, calls, *ends
            )
        return found

    def _cut(self, at: int) -> QueryCut:
        cut, cause = self.cuts[at], self.causes[at] if self.causes else None
        contexts = cut.contexts
        return QueryCut(
            query=cut.query,
            above=cut.above,
            group=cut.size,
            slots=cut.slots,
            chance=cut.chance,
            score=cut.score if math.isfinite(cut.score) else str(cut.score),
            open=cut.open,
            contexts=contexts if contexts <= EXACT else None,
            log10_contexts=math.log10(contexts),  # also for integers that are too large for a float
            overlap=cut.overlap,
            cause=None if cause is None else cause.name,
            texts=None if cause is None else cause.texts,
            vectors=None if cause is None else cause.vectors,
            decided_by_exact_scores=None if cause is None else cause.decided,
            calls=None if self.calls is None else _query_calls(self.calls, cut.place),
            measures=self._of_query(cut.query),
        )

    def _of_query(self, query: str) -> dict[str, QueryAtCut]:
        if self.scores is None or query not in self._rows:
            return {}
        row = self._rows[query]

        def ends(scores: Scores, column: int) -> TieEnds:
            values = (scores.expected, scores.lowest, scores.highest)
            expected, low, high = (or_null(float(each[row, column])) for each in values)
            return TieEnds(expected, low, high)

        found = {}
        for column, measure in enumerate(self.scores.measures):
            own, cut, inside = (ends(each, column) for each in (self.scores, self.parts["cut"], self.parts["inside"]))
            found[str(measure)] = QueryAtCut(own.expected, own.low, own.high, cut, inside)
        return found

    @cached_property
    def _rows(self) -> dict[str, int]:
        ids = () if self.scores is None else self.scores.query_ids
        return {query: row for row, query in enumerate(ids)}


def _query_calls(calls: Calls, place: int) -> QueryCalls:
    return QueryCalls(int(calls.contexts[place]), int(calls.by_ties[place]), int(calls.otherwise[place]))


def _mean_ends(mean: Estimate) -> MeanEnds:
    expected, low, high, spread = map(or_null, (mean.expected, mean.lowest, mean.highest, mean.range))
    return MeanEnds(expected, low, high, spread, mean.queries)


def cut_index(
    opened: SearchSession,
    k: int,
    *,
    repeats: int = 5,
    most: int = MOST,
    judgments: object = None,
    measures: Measures | None = None,
    texts: Mapping[str, str] | None = None,
    policy: Policy | None = None,
    name: str = "index",
    about: Mapping[str, object] | None = None,
    **choices: object,
) -> Cuts:
    """Audit the cut of an index at k: fetch past it until the group of equal scores ends, and repeat the call.

    Args:
        opened: an index, and the queries in the form it takes.
        k: number of documents in a context.
        repeats: number of calls for k documents to compare; fewer than 2 compare none.
        most: maximum number of documents to fetch per query.
        judgments: as `Judgments.of` takes them; None for none, and then no measure is computed.
        measures: as in `evaluate`; recall, nDCG@k and, for grades of the rubric, RA-nWG@k if None; for a golden set
            those of `evaluate`, at k.
        texts: texts by document id, to separate identical texts from other causes of ties; None if unknown.
        policy: as in `evaluate`; its tie precision defines equal scores.
        name: name of the index in tables.
        about: description of what was searched, for the JSON.

    Raises:
        InputError: the index gives what is no list of documents, or finds nothing.
        PolicyError: k is below 1, or a choice is unknown.
    """
    judged = choose_cut_measure(k, judgments, measures, policy, choices)
    precision = judged.policy.tie_precision
    fetched = fetch_past(opened, k, most=most, precision=precision, name=name)
    calls, notes = None, list(fetched.notes)
    groups = find_cuts(fetched.run, k, fetched.unfinished, precision)
    if repeats > 1:
        runs, remarks = repeat(opened, fetched.run, k, repeats, name)
        calls = compare_calls(runs, fetched.run.query_ids, k, precision, deep=fetched.run, cuts=documents_of(groups))
        notes += remarks
    causes = () if texts is None else causes_of(groups, texts, opened)
    worth = score_cuts(fetched.run, groups, calls, judged, k)
    notes += worth.notes
    asked = len(opened.query_ids)
    return Cuts(k, name, asked, fetched.run, groups, calls, causes, *worth[:3], about or {}, tuple(notes))


def cut_runs(
    runs: Sequence[Any],
    k: int,
    *,
    judgments: Any = None,
    measures: Measures | None = None,
    texts: Mapping[str, str] | None = None,
    policy: Policy | None = None,
    about: Mapping[str, object] | None = None,
    **choices: Any,
) -> Cuts:
    """Audit the cut at k of a run that goes deeper, or of several runs of repeated calls.

    The documents that several calls list are put together, each with its score of the first call that lists it.

    Args:
        runs: what `Run.of` takes, at least one; several are repeated calls for the same queries.
        k: number of documents in a context.
        about: description of what was searched, for the JSON.

    Raises:
        InputError: a run cannot be read, no list goes past k, or the runs share no query.
        PolicyError: k is below 1, or a choice is unknown.

    >>> found = cut_runs([{"q": {"a": 3.0, "b": 2.0, "c": 2.0}}], 2)
    >>> found.inside[0].documents, found.inside[0].chance
    (('b', 'c'), 0.5)
    """
    judged = choose_cut_measure(k, judgments, measures, policy, choices)
    given = [Run.of(run) for run in runs]
    if not given:
        raise PolicyError("Name a run at least.")
    run, notes = combine_calls(given, k)
    precision = judged.policy.tie_precision
    groups = find_cuts(run, k, may_go_on(given, run, k, precision), precision)
    calls = compare_calls(given, run.query_ids, k, precision)
    causes = () if texts is None else causes_of(groups, texts, None)
    worth = score_cuts(run, groups, calls, judged, k)
    name, asked = given[0].name, len(run.query_ids)
    return Cuts(k, name, asked, run, groups, calls, causes, *worth[:3], about or {}, (*notes, *worth.notes))


def count_calls(calls: Calls, inside: Sequence[CutoffGroup]) -> CallCounts:
    """Count the queries in which repeated calls differ.

    Args:
        calls: comparison of the calls.
        inside: cuts inside a group, at which calls that choose at random would differ.
    """
    number, change = len(calls.runs), calls.largest_change
    return CallCounts(
        number=number,
        differed_by_ties=int((calls.by_ties > 0).sum()),
        differed_otherwise=int((calls.otherwise > 0).sum()),
        reordered=int((calls.reordered > 0).sum()),
        rescored=int((calls.rescored > 0).sum()),
        largest_change=change if math.isfinite(change) else None,
        deeper=calls.deeper,
        expected_to_differ=sum(cut.chance_to_differ(number) for cut in inside),
    )
