"""Evaluation: compute the Scores of a run from judgments and measures."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from trueval.errors import InputError, TruevalWarning
from trueval.evaluation.content_hashes import ContentHashes
from trueval.evaluation.defaults import fill_defaults
from trueval.evaluation.notes import notes_of, open_orders
from trueval.evaluation.pairing import read_pair, unjudged_queries
from trueval.evaluation.scores import STATISTICS, Scores
from trueval.evaluation.ties import TieSummary
from trueval.forks import need_polars
from trueval.measures import Measure, Values
from trueval.measures.grammar import Measures
from trueval.policy.conventions import Policy
from trueval.standings.counting import counter
from trueval.standings.standings import Bools, Floats, Standings
from trueval.threads import Threads, as_executor

if TYPE_CHECKING:
    from typing import Unpack

    from trueval.judgments import Judgments, JudgmentsLike
    from trueval.policy.policy_choices import PolicyChoices
    from trueval.run import Run, RunLike
    from trueval.threads import Executor

__all__ = ["Measures", "evaluate", "evaluate_measure", "score"]

PART = 1 << 14  # rows of standings above which measures are computed in parallel


def evaluate(
    run: RunLike,
    judgments: JudgmentsLike,
    measures: Measures | None = None,
    *,
    policy: Policy | None = None,
    **choices: Unpack[PolicyChoices],
) -> Scores:
    """Evaluate a run exactly under ties.

    Args:
        run: a Run, or what `Run.of` takes: a path, a dict {query: {document: score}}, a frame, a ranx Run, triples
            (query, document, score), rows of a log of contexts.
        judgments: Judgments, or what `Judgments.of` takes; their queries are evaluated, in their order.
        measures: texts, Measures, or measures of ir_measures; spaces outside brackets separate several in one text.
            None: nDCG@10 RR@10 AP R@100 P@10, and for a golden set RA-nWG@10 N-Recall4+@10 nDCG(gain='rubric')@10
            P4+@10 Harm@10.
        policy: all choices that affect the numbers; None for the default policy, in which documents of a golden set are
            relevant from grade 4 on.
        choices: attributes of Policy as keywords, which override those of `policy`: tie_order, tie_precision, rel,
            base, empty, missing, depth, judged_only, seed ...; convention="ranx" starts from a tool's policy.

    Returns:
        Scores, with one-line notes on what looks wrong; each is also a TruevalWarning.

    Raises:
        InputError: something cannot be read, no query of the run is judged, run and judgments are swapped, or a policy
            of "error" applies.
        MeasureError: a measure cannot be read.
        PolicyError: a choice is unknown.

    >>> scores = evaluate({"q1": {"d1": 0.9, "d2": 0.9}}, {"q1": {"d2": 1}}, ["nDCG@10", "RR"])
    >>> scores["RR"].expected, scores["RR"].lowest, scores["RR"].highest
    (0.75, 0.5, 1.0)
    """
    need_polars()
    run, judgments, swapped = read_pair(run, judgments)
    parsed, chosen = fill_defaults(judgments, measures, policy, choices, in_reading_order=run.in_reading_order)
    unjudged = unjudged_queries(run, judgments)
    count = counter(run, judgments)
    counted = count(chosen)
    notes = (*judgments.notes, *run.notes, *swapped, *notes_of(run, judgments, counted, unjudged, parsed, chosen))
    found = score(run.name, judgments.query_ids.to_list(), count, parsed, chosen, unjudged, notes)
    return replace(found, content=ContentHashes({}, judgments))


def evaluate_runs(
    runs: Iterable[Run],
    judgments: Judgments,
    measures: Sequence[Measure],
    policy: Policy,
    executor: Executor | None = None,
) -> list[Scores]:
    """Evaluate runs in memory under one policy, in other processes or on other machines where there is an executor.

    Args:
        executor: evaluates each run, which is sent to it; None for here.

    Raises:
        InputError: as `evaluate`.
    """
    taken = as_executor(executor)
    if taken is None:
        return [evaluate(run, judgments, measures, policy=policy) for run in runs]
    work = partial(_evaluate_elsewhere, judgments=judgments, measures=measures, policy=policy)
    found = []
    for each in taken.map(work, runs):
        for note in each.notes:
            warnings.warn(note, TruevalWarning, stacklevel=3)
        found.append(replace(each, content=ContentHashes({}, judgments)))
    return found


def _evaluate_elsewhere(run: Run, judgments: Judgments, measures: Sequence[Measure], policy: Policy) -> Scores:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)  # notes of the scores, which warn where the command is
        return replace(evaluate(run, judgments, measures, policy=policy), content=None)


def score(
    name: str,
    query_ids: Sequence[str],
    count: Callable[[Policy], Standings],
    measures: tuple[Measure, ...],
    chosen: Policy,
    unjudged: tuple[str, ...],
    notes: tuple[str, ...],
) -> Scores:
    """Compute measures from standings, and apply the policy for missing and empty queries.

    Args:
        name: name of the run.
        query_ids: [query] ids of the standings' queries.
        count: function from a policy to standings (counting.counter).
        measures: measures as requested.
        chosen: policy of the evaluation.
        unjudged: queries left out for lack of judgments.
        notes: warnings collected so far.
    """
    counted = count(chosen)
    absent = counted.absent
    missing = tuple(query_ids[index] for index in np.flatnonzero(absent).tolist())
    if chosen.missing == "error" and missing:
        raise InputError(
            f"{name} lacks {len(missing)} of {len(query_ids)} judged queries, the first {missing[0]!r}. "
            "Count them with --missing worst, or leave them out with --missing skip (in Python missing='worst' or "
            "missing='skip')."
        )
    # A convention may differ for one measure; only then are the documents counted again.
    own = [chosen.of(measure.innermost.name) for measure in measures]
    standings_of = [counted if each is chosen else count(each) for each in own]
    settled = [measure.under(each) for measure, each in zip(measures, own, strict=True)]
    # Two at once and no more, since each may take memory for its own copies; few rows take less time than a thread.
    threads = Threads(2 if len(counted.query) > PART else 1)
    columns = threads.map(
        lambda each: evaluate_measure(*each, absent, query_ids), zip(standings_of, measures, own, strict=True)
    )
    by_measure = np.array([[getattr(values, statistic) for values in columns] for statistic in STATISTICS])
    statistics = dict(zip(STATISTICS, by_measure.transpose(0, 2, 1).copy(), strict=True))
    undefined = np.array([values.undefined for values in columns], dtype=bool).reshape(len(columns), -1)
    measurable = ~(absent | undefined | np.isnan(by_measure[STATISTICS.index("expected")]))
    notes += open_orders(name, measures, statistics["tie_broken"], statistics["expected"], chosen)
    for note in notes:
        warnings.warn(note, TruevalWarning, stacklevel=3)
    return Scores(
        name,
        tuple(query_ids),
        measures,
        exact=tuple(values.exact for values in columns),
        ties=_ties(counted, query_ids, measures),
        missing_queries=missing,
        unjudged_queries=unjudged,
        policy=chosen,
        notes=notes,
        matched=counted.matched,
        measurable=tuple(measurable.sum(axis=1).tolist()),
        details=tuple(_details(*each) for each in zip(settled, standings_of, columns, strict=True)),
        **statistics,
    )


def _details(settled: Measure, counted: Standings, values: Values) -> dict[str, float]:
    """Additional numbers of a measure, over the same queries as its mean: those with a value under the policy.

    They include the error bound of the expected value, where it is only bounded.
    """
    in_mean = ~np.isnan(values.expected)
    details = {**settled.details(counted, in_mean)}
    if values.margin is None:
        return details
    known = values.margin[in_mean]
    return details | {"expected_within": float(known.sum()) / max(len(known), 1)}


def evaluate_measure(
    counted: Standings, measure: Measure, chosen: Policy, absent: Bools, query_ids: Sequence[str]
) -> Values:
    """Compute the values of one measure, and apply the policy for unknown orders, absent and empty queries.

    Args:
        counted: standings under the policy.
        measure: measure as requested.
        chosen: the policy for this measure (Policy.of).
        absent: [query] whether the run lacks the query.
        query_ids: [query] ids, for messages.

    Raises:
        InputError: an empty query, where the policy refuses it, or a grade that is not binary where it must be.
    """
    settled = measure.under(chosen)
    if chosen.labels == "binary":
        _check_binary(counted, measure)
    # Where no order is known any order will do, since the tie-broken value is not used there.
    some_order = counted if counted.order_is_known else replace(counted, ahead=np.maximum(counted.ahead, 0))
    together = settled.one_by_one != settled
    values = _with_order(settled.evaluate(some_order), counted, chosen.tie_order, together=together)
    partly = values.partly_empty
    undefined = values.undefined if partly is None else values.undefined | partly.undefined
    some_absent, some_undefined = bool(absent.any()), bool(undefined.any())
    if not some_absent and not some_undefined:
        return values
    empty = "skip" if measure.definition.empty == "na" else chosen.empty
    if empty == "error" and some_undefined:
        first = query_ids[int(np.flatnonzero(undefined)[0])]
        raise InputError(
            f"{measure} is undefined for {int(undefined.sum())} queries without a relevant document, the first "
            f"{first!r}. Count them as 0 with empty='zero', or leave them out with empty='skip'."
        )

    def settle(column: Floats, worst: float, nothing: float) -> Floats:
        # An absent query has no documents, so this comes first: the rule for undefined queries takes precedence, and 0
        # * column keeps queries that are left out (NaN) left out, whatever undefined ones count as.
        column = np.where(absent, np.nan if chosen.missing == "skip" else worst, column)
        return np.where(values.undefined, 0.0 * column + nothing, column)

    worst, nothing = measure.definition.worst, {"zero": 0.0, "one": 1.0}.get(empty, np.nan)
    if partly is not None and empty == "one":
        values = _with_order(partly, counted, chosen.tie_order, together=together)._replace(undefined=values.undefined)
    elif partly is not None and empty != "zero":  # some order has no value, so there is none over all orders
        values = values._replace(undefined=undefined)
    found: dict[str, Any] = {name: settle(getattr(values, name), worst, nothing) for name in STATISTICS if name != "sd"}
    return values._replace(**found, sd=settle(values.sd, 0.0, 0.0 * nothing))


def _check_binary(standings: Standings, measure: Measure) -> None:
    """Refuse grades other than 0 and 1 for a binary measure that names no threshold.

    Raises:
        InputError: there is such a grade.
    """
    if not measure.has_threshold or "rel" in dict(measure.chosen):
        return
    graded = standings.pool_grade[(standings.pool_grade != 0) & (standings.pool_grade != 1)]
    if len(graded):
        raise InputError(
            f"{measure} takes grades 0 and 1 under this convention. Got {graded[0]:g}. "
            "Name a threshold, for example --rel 1 (in Python rel=1), or map the grades."
        )


def _with_order(values: Values, counted: Standings, tie_order: str, *, together: bool) -> Values:
    """The values with the tie-broken one set to the mean, or dropped where the order is unknown and matters."""
    if counted.order_is_known:
        return values
    if together:  # tied documents enter together, if they are in the list
        open_end = counted.sum_by_query(counted.is_cut & (counted.ahead < 0)) > 0
        return values._replace(tie_broken=np.where(open_end, np.nan, values.tie_broken))
    unknown = counted.order_unknown & ~np.isnan(values.tie_broken)  # queries left out in any order stay so
    if tie_order == "average":
        return values._replace(tie_broken=np.where(unknown, values.expected, values.tie_broken))
    decided = np.where(values.lowest == values.highest, values.lowest, np.nan)
    return values._replace(tie_broken=np.where(unknown, decided, values.tie_broken))


def _ties(counted: Standings, query_ids: Sequence[str], measures: tuple[Measure, ...]) -> TieSummary:
    listed = int(counted.listed.sum())
    if counted.merged:
        return TieSummary(None, None, (), listed)
    reach = max((counted.limit(measure.cutoff) for measure in measures), default=0)
    cut = np.flatnonzero(counted.possibly_cut & (counted.last_above < reach)).tolist()
    fraction = float(counted.tied_documents.sum()) / max(listed, 1)
    return TieSummary(fraction, int(counted.largest_group.max(initial=0)), tuple(query_ids[at] for at in cut), listed)
