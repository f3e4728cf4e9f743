"""Compare systems: differences, intervals, tests, win probabilities and verdicts from the scores of several runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations, groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from trueval.comparison.choices import BOOTSTRAP, ComparisonChoices
from trueval.comparison.comparison import (
    Comparison,
    Difference,
    Interval,
    Leaderboard,
    RankedSystem,
    RankInterval,
    Significance,
    identical_note,
)
from trueval.comparison.findings import Findings, find
from trueval.comparison.judges.judge_verdicts import verdicts_over_judges
from trueval.comparison.resampling.alignment import AlignedScores, align
from trueval.comparison.resampling.bounded_intervals import widths
from trueval.comparison.resampling.clusters import Clusters, QueryUnits
from trueval.comparison.resampling.concentration import NAMED, concentration
from trueval.comparison.resampling.pair_wins import MeasureColumn, PairWins
from trueval.comparison.resampling.rank_bounds import Stratum, rank_bounds
from trueval.comparison.resampling.resampled_sums import thread_count
from trueval.comparison.resampling.run_reshuffle import reshuffle_runs
from trueval.comparison.resampling.tie_order_values import TieOrders
from trueval.comparison.verdict import judge, letters, rank_intervals
from trueval.errors import InputError, PolicyError
from trueval.evaluation.defaults import fill_defaults
from trueval.evaluation.evaluate import Measures, evaluate_runs
from trueval.evaluation.scores import Scores
from trueval.judgments import Judgments
from trueval.run import Run
from trueval.standings.standings import Floats, Ints

if TYPE_CHECKING:
    from typing import Unpack

    from trueval.comparison.compare_choices import CompareChoices
    from trueval.comparison.labels.audit_sample import AuditSample
    from trueval.files import Source
    from trueval.judgments import JudgmentsLike
    from trueval.policy.policy import Policy
    from trueval.run import RunsLike
    from trueval.threads import Executor

__all__ = ["Comparison", "ComparisonChoices", "Difference", "compare", "compare_scores"]


# Name of the judge whose labels are the judgments of a comparison, beside further judges.
JUDGE = "judgments"

# p values of each pair, before one of the adjusted ones decides.
P_VALUES = ("randomization", "t", "wilcoxon", "maxt", "holm", "benjamini_hochberg")


def compare(
    runs: RunsLike,
    judgments: JudgmentsLike,
    measures: Measures | None = None,
    *,
    baseline: str | None = None,
    policy: Policy | None = None,
    clusters: Clusters | Mapping[str, str] | Source | None = None,
    judges: Mapping[str, JudgmentsLike] | None = None,
    audit: AuditSample | None = None,
    judge_error: str | None = None,
    threads: int | None = None,
    executor: Executor | None = None,
    **choices: Unpack[CompareChoices],
) -> Comparison:
    """Compare every pair of runs, or each run with a baseline; a difference is the first minus the second.

    Args:
        runs: two or more: a list, or a dict by name, of Runs or what `Run.of` takes (paths, dicts, frames, ...).
        judgments: as in evaluate.
        measures: as in evaluate.
        baseline: name of the run to compare the others with; None for all pairs.
        policy: as in evaluate.
        clusters: query id → its topic, document or customer, or a file of two columns; None where each query is its own
            cluster.
        judges: judgments by further judges, by name: whether verdicts hold by their labels.
        audit: people's labels of a sample of the judgments, for judge_error.
        judge_error: "bounded" or "by-system": verdicts for every judge whose errors the audit does not exclude.
        threads: number of threads; None for one per processor. It does not affect the result.
        executor: evaluates runs in other processes or on other machines, with the same result.
        choices: attributes of ComparisonChoices (level, resamples, test, family, ...), and of Policy as in evaluate;
            `seed` sets the seed of both.

    Raises:
        InputError: a run is bad, the queries do not fit the policy, or one has no cluster.
        PolicyError: a choice is unknown.

    >>> good = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 1.0, "b": 2.0}}
    >>> tied = {"q1": {"a": 1.0, "b": 1.0}, "q2": {"a": 1.0, "b": 1.0}}
    >>> found = compare({"good": good, "tied": tied}, {"q1": {"a": 1}, "q2": {"b": 1}}, "P@1")
    >>> difference, = found.differences
    >>> difference.expected, difference.lowest, difference.highest, difference.win.value
    (0.5, 0.0, 1.0, 0.875)
    """
    runs, judgments = Run.of_several(runs), Judgments.of(judgments)
    known = ComparisonChoices.__dataclass_fields__
    of_comparison: dict[str, Any] = {name: value for name, value in choices.items() if name in known}
    of_policy: dict[str, Any] = {name: value for name, value in choices.items() if name not in known or name == "seed"}
    as_read = all(run.in_reading_order for run in runs)
    parsed, chosen = fill_defaults(judgments, measures, policy, of_policy, in_reading_order=as_read)
    scores = evaluate_runs(runs, judgments, parsed, chosen, executor)
    orders = [TieOrders(run, judgments, chosen, stream) for stream, run in enumerate(runs)]
    belonging = Clusters.of(clusters)
    found = compare_scores(
        scores, baseline=baseline, orders=orders, clusters=belonging, threads=threads, **of_comparison
    )
    if not judges and judge_error is None:
        return found
    others = {name: Judgments.of(labels) for name, labels in (judges or {}).items()}
    if JUDGE in others:
        raise InputError(f"The name {JUDGE!r} is that of the judgments themselves. Give that judge another one.")
    verdicts, notes = verdicts_over_judges(
        scores,
        {JUDGE: judgments, **others},
        lambda labels: evaluate_runs(runs, labels, parsed, chosen, executor),
        runs,
        None if audit is None else (judgments, audit),
        error=judge_error,
        baseline=baseline,
        level=found.choices["level"],
    )
    return replace(found, judges=verdicts, notes=(*found.notes, *notes))


def compare_scores(
    scores: Sequence[Scores],
    *,
    baseline: str | None = None,
    orders: Sequence[TieOrders] | None = None,
    clusters: Clusters | Mapping[str, str] | Source | None = None,
    threads: int | None = None,
    **choices: Any,
) -> Comparison:
    """Compare evaluated runs: every pair, or each run with a baseline.

    Args:
        scores: scores of two or more runs on the same measures.
        baseline: name of the run to compare the others with; None for all pairs.
        orders: [run] tie orders, for exact and sampled win probabilities; without them, win probabilities are
            approximated by a normal distribution.
        choices: attributes of ComparisonChoices.

    Raises:
        InputError: names are equal, the baseline is unknown, or the queries do not fit the policy.
        MeasureError: the measures differ.
        PolicyError: a choice is unknown.
    """
    unknown = next((name for name in choices if name not in ComparisonChoices.__dataclass_fields__), None)
    if unknown is not None:
        known = ", ".join(ComparisonChoices.__dataclass_fields__)
        raise PolicyError(f"Unknown choice {unknown!r} of a comparison. Choices are {known}.")
    chosen, aligned = ComparisonChoices(**choices), align(scores)
    pairs = _pairs(aligned.names, baseline)
    belonging = Clusters.of(clusters)
    found = find(aligned, pairs, belonging, chosen, thread_count(threads))
    winners = PairWins(aligned, orders, chosen.tie_samples, chosen.seed, chosen.level)
    differences = [
        difference
        for measure in range(len(aligned.measures))
        for difference in _differences(aligned, measure, pairs, found[measure], winners, chosen, belonging)
    ]
    boards = []
    for measure, each in enumerate(found):
        board = _leaderboard(aligned, measure, differences, winners, ranked=baseline is None)
        if baseline is not None and chosen.intervals == BOOTSTRAP:
            board = _with_ranks(board, aligned, measure, belonging, chosen, thread_count(threads))
        boards.append(board if belonging is None else replace(board, clusters=each.units))
    warnings = [*_warnings(aligned, found, len(pairs), chosen)]
    if chosen.intervals == BOOTSTRAP:
        warnings += _concentration_notes(differences, "queries" if belonging is None else "clusters")
    else:
        warnings += widths(aligned, belonging, chosen, len(pairs))
    same = [identical_note(aligned.names[a], aligned.names[b]) for a, b in pairs if orders and _are_equal(orders, a, b)]
    notes = tuple(dict.fromkeys([*same, *(note for each in scores for note in each.notes), *aligned.notes, *warnings]))
    of_queries = (
        None if belonging is None else {"source": belonging.source, "count": belonging.count(aligned.query_ids)}
    )
    used = {**asdict(chosen), "clusters": of_queries, "policy": scores[0].policy.to_dict()}
    lists = None if not orders else reshuffle_runs(orders, aligned.names, pairs, aligned.query_ids, chosen.seed)
    return Comparison(aligned.names, baseline, used, tuple(boards), tuple(differences), lists, notes)


def _are_equal(orders: Sequence[TieOrders], first: int, second: int) -> bool:
    """Whether two runs in memory list the same documents with the same scores, in the same order."""
    one, other = orders[first].source, orders[second].source
    if callable(one) or callable(other) or one.documents.height != other.documents.height:
        return False
    columns = ["doc_id", "score"]
    return one.query_ids.equals(other.query_ids) and one.documents[columns].equals(other.documents[columns])


def _pairs(names: Sequence[str], baseline: str | None) -> Ints:
    """[pair, 2] numbers of the runs to compare, the baseline second."""
    if baseline is None:
        return np.array(list(combinations(range(len(names)), 2)), dtype=np.int64)
    if baseline not in names:
        raise InputError(f"The baseline must be one of the runs {', '.join(names)}. Got {baseline!r}.")
    second = names.index(baseline)
    return np.array([(first, second) for first in range(len(names)) if first != second], dtype=np.int64)


def _differences(
    aligned: AlignedScores,
    measure: int,
    pairs: Ints,
    found: Findings,
    winners: PairWins,
    chosen: ComparisonChoices,
    clusters: Clusters | None,
) -> Iterator[Difference]:
    """The differences of the pairs on one measure."""
    ids = [aligned.query_ids[at] for at in np.flatnonzero(aligned.kept[:, measure]).tolist()]
    names = ids if clusters is None else clusters.names(ids)
    units = QueryUnits.of(np.arange(len(ids)) if clusters is None else clusters.codes(ids))
    for pair, (first, second) in enumerate(pairs.tolist()):
        a, b = winners.column(measure, first), winners.column(measure, second)
        p = {name: getattr(found, name) for name in P_VALUES} | {"adjusted": found.adjusted_p(chosen.correction)}
        tests = Significance(exact=found.exact, **{name: float(values[pair]) for name, values in p.items()})
        win, gain = winners.probability(measure, first, second), a.sign * (a.expected - b.expected)
        expected, tie_broken = _mean(a.expected - b.expected), _mean(a.tie_broken - b.tie_broken)
        lowest, highest = _mean(a.lowest - b.highest), _mean(a.highest - b.lowest)
        # Benjamini & Hochberg bound the share of false claims; simultaneous intervals bound the probability of any.
        of_family = chosen.correction != "benjamini-hochberg"
        decides = (found.together if of_family else found.expected)[pair].tolist()
        verdict = judge(
            expected=expected,
            tie_broken=tie_broken,
            tie_range=highest - lowest,
            win=win,
            adjusted_p=tests.adjusted,
            interval=decides,
            level=chosen.level,
        )
        yield Difference(
            measure=str(aligned.measures[measure]),
            better=aligned.measures[measure].better,
            first=aligned.names[first],
            second=aligned.names[second],
            queries=len(gain),
            expected=expected,
            lowest=lowest,
            highest=highest,
            tie_broken=tie_broken,
            # Orders of two runs are independent, so their variances add.
            sd=math.sqrt(float((a.sd**2 + b.sd**2).sum())) / len(a.sd) if len(a.sd) else math.nan,
            win=win,
            expected_interval=Interval(*found.expected[pair].tolist()),
            realized_interval=Interval(*found.realized[pair].tolist()),
            simultaneous_interval=Interval(*found.together[pair].tolist()),
            simultaneous_realized_interval=Interval(*found.realized_together[pair].tolist()),
            realized_bounded=bool(found.bounded[pair]),
            tests=tests,
            cohen_d=float(found.cohen_d[pair]),
            hedges_g=float(found.hedges_g[pair]),
            wins=int((gain > chosen.tolerance).sum()),
            ties=int((np.abs(gain) <= chosen.tolerance).sum()),
            losses=int((gain < -chosen.tolerance).sum()),
            reversed=verdict.reversed,
            undecidable=verdict.undecidable,
            separated=verdict.separated,
            verdict=verdict.words,
            concentration=concentration(units.sums(gain), units.sizes, names),
        )


def _leaderboard(
    aligned: AlignedScores, measure: int, differences: Sequence[Difference], winners: PairWins, *, ranked: bool
) -> Leaderboard:
    columns = [winners.column(measure, run) for run in range(len(aligned.names))]
    name, better = str(aligned.measures[measure]), aligned.measures[measure].better
    means = [_mean(column.expected) for column in columns]
    order = sorted(range(len(columns)), key=lambda run: -columns[run].sign * means[run])
    better_than = np.zeros((len(columns), len(columns)), dtype=bool)
    for each in differences:
        if each.measure == name and each.separated:
            one, other = aligned.names.index(each.first), aligned.names.index(each.second)
            better_than[(one, other) if each.gain > 0 else (other, one)] = True
    # Against a baseline most pairs are not compared, so it is unknown which systems would share a letter.
    groups = letters(better_than | better_than.T, order) if ranked else [""] * len(columns)
    ranks = rank_intervals(better_than) if ranked else [None] * len(columns)
    ranking = [
        RankedSystem(
            1 + sum(columns[run].sign * (other - means[run]) > 1e-12 for other in means),
            aligned.names[run],
            means[run],
            _mean(columns[run].lowest),
            _mean(columns[run].highest),
            groups[run],
            None if (rank := ranks[run]) is None else RankInterval(*rank),
        )
        for run in order
    ]
    return Leaderboard(name, better, len(columns[0].expected), aligned.excluded_queries(measure), None, tuple(ranking))


def _with_ranks(
    board: Leaderboard,
    aligned: AlignedScores,
    measure: int,
    clusters: Clusters | None,
    chosen: ComparisonChoices,
    threads: int,
) -> Leaderboard:
    """The board of a comparison with a baseline, with ranks by a test of all pairs, which were not compared."""
    columns = [MeasureColumn.of(aligned, run, measure) for run in range(len(aligned.names))]
    count = len(columns[0].queries)
    if not count:
        return board
    ids = [aligned.query_ids[at] for at in columns[0].queries.tolist()]
    units = QueryUnits.of(np.arange(count) if clusters is None else clusters.codes(ids))
    sums = units.sums(np.stack([each.sign * each.expected for each in columns], axis=1))
    ends = [np.array([each.sign * _mean(getattr(each, end)) for each in columns]) for end in ("lowest", "highest")]
    ties = np.array([float((each.sd**2).sum()) / count**2 for each in columns])
    # Sums of unequal clusters, scaled so that their mean over clusters is the mean over queries.
    stratum = Stratum(sums * (len(sums) / count), np.minimum(*ends), np.maximum(*ends), ties)
    better = rank_bounds([stratum], level=chosen.level, seed=chosen.seed, threads=threads).better
    ranks = dict(zip(aligned.names, rank_intervals(better), strict=True))
    return replace(
        board, ranking=tuple(replace(row, rank_interval=RankInterval(*ranks[row.run])) for row in board.ranking)
    )


def _warnings(
    aligned: AlignedScores, found: Sequence[Findings], pairs: int, chosen: ComparisonChoices
) -> Iterator[str]:
    """Warnings about reasons why pairs cannot be separated, independent of the runs."""
    if chosen.test != "randomization":
        return
    tests = pairs * (len(found) if chosen.family == "all" else 1)
    for measure, each in zip(aligned.measures, found, strict=True):
        least = each.least_p * (tests if chosen.correction == "holm" else 1)
        if not least >= chosen.alpha:
            continue
        cure = "take the correction maxt, or more resamples" if each.least_p < chosen.alpha else "judge more queries"
        yield (
            f"{measure}: no difference can be separated, because the least p that the test can reach here, adjusted by "
            f"{chosen.correction}, is {min(least, 1):.3g}, and {chosen.alpha:g} is needed: {cure}."
        )
    needed = math.ceil(20 * tests / chosen.alpha)
    if chosen.correction == "holm" and chosen.patterns < needed and not all(each.exact for each in found):
        yield (
            f"Holm over {tests:,} tests needs about {needed:,} sign patterns, and {chosen.patterns:,} were drawn, so "
            "its p are too coarse. Take the correction maxt, or more resamples."
        )


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan


def _concentration_notes(differences: Sequence[Difference], called: str) -> Iterator[str]:
    """Notes on pairs whose differences rest on few queries, separated pairs first."""
    for measure, rows in groupby(differences, key=lambda each: each.measure):
        found = [(each, each.concentration) for each in rows if each.concentration is not None]
        found.sort(key=lambda pair: not pair[0].separated)
        for at, (each, few) in enumerate(found[:NAMED], start=1):
            said = f"{measure}, {each.first} against {each.second}: {few.sentence(called)}"
            if at == NAMED < len(found):
                said += f" (and {len(found) - NAMED} more pairs)"
            yield f"{said}; see --intervals bounded."
