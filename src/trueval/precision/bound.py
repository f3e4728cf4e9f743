"""Bounds: what a measure can become when every score moves by at most so much, and where an order of runs can turn.

For gains of 0 and 1 both ends are exact: with relevant documents at the upper ends of their intervals, others at the
lower ends and ties broken for the relevant ones, every comparison of a relevant document with another one is decided
its way at once (`moved_scores`), and nothing else matters. Of graded gains only bounds are known. A linear measure is a
sum over levels of gain of measures with gains 0 and 1::

    M = (1/Z) sum over levels j of (γ_j - γ_(j-1)) sum over d of level >= j of w(rank(d))

so the sum of their extremes bounds it: M <= sum over j of M_j(γ_j) - M_j(γ_(j-1)), M_j(γ) the highest value when all
documents of level >= j gain γ and no other one gains anything. It is exact where the scores that are best for one level
reach it. ERR is a sum over ranks of a function of the grades within them, which grows with each grade: it is bounded by
a list that has, within every rank, at least as many documents of each level or more as any order has.

Ties are the case of width 0.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trueval.errors import MeasureError, PolicyError
from trueval.evaluation.defaults import fill_defaults
from trueval.evaluation.evaluate import evaluate, evaluate_measure
from trueval.judgments import Judgments
from trueval.measures.grade_values import WORTHS, weigh_grades
from trueval.measures.linear import extreme_ranks
from trueval.measures.parameters import gains_of, is_relevant
from trueval.precision.bound_result import MeasureBound, PrecisionBound, RunBound, TurningPoint
from trueval.precision.moved_scores import GradeLevels, MovedScores
from trueval.report.number_texts import NOISE
from trueval.run import Run
from trueval.score_width import ScoreWidth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Unpack

    from trueval.evaluation.scores import Scores
    from trueval.judgments import JudgmentsLike
    from trueval.measures import Measure
    from trueval.measures.grammar import Measures
    from trueval.policy.policy import Policy
    from trueval.policy.policy_choices import PolicyChoices
    from trueval.run import RunsLike
    from trueval.standings.standings import Floats, Ints, Standings

DEFAULT_WIDTH: Final = "ulp(bfloat16)"
# Measures of relevant documents alone, whose value no relevant document lowers by rising.
OF_RELEVANT: Final = frozenset(
    ("Hits", "P", "R", "F1", "Rprec", "RR", "AP", "Success", "AllGold", "IPrec", "IPrec11", "bpref")
)
OF_JUDGED: Final = frozenset(("Judged", "RBP-residual"))
FALLS: Final = "RBP-residual"  # the more judged documents are at the top, the lower it is
NARROW: Final = 1.01  # ratio of the ends between which crossings are listed


def precision_bound(
    runs: RunsLike,
    judgments: JudgmentsLike,
    measures: Measures | None = None,
    *,
    within: str | float = DEFAULT_WIDTH,
    policy: Policy | None = None,
    **choices: Unpack[PolicyChoices],
) -> PrecisionBound:
    """Bound measures over all scores that differ from a run's by at most so much: `trueval precision bound`.

    Args:
        runs: one or more: a list, or a dict by name, of Runs or what `Run.of` takes.
        judgments: as in `evaluate`.
        measures: as in `evaluate`.
        within: by how much every score may move: 0.001, "bfloat16" (rounding to it), "ulp(bfloat16)", "2.5
            ulp(float16)" or "codes(int8)".
        policy: as in `evaluate`, like the choices.

    Returns:
        Lowest and highest value of each measure of each run; and of runs that are neighbors in the ranking of a
        measure, the width from which their order can turn.

    Raises:
        InputError: a run is bad, as in `evaluate`.
        MeasureError: no bound of a measure is known.
        PolicyError: the width or a choice is unknown, or the choices change which documents a list holds.

    >>> run = {"q": {"a": 0.75, "b": 0.5, "c": 0.25}}
    >>> found = precision_bound({"run": run}, {"q": {"b": 1}}, "RR", within=0.125)
    >>> bound = found["run", "RR"]
    >>> bound.expected, bound.lowest, bound.highest, bound.exact
    (0.5, 0.3333333333333333, 1.0, True)
    """
    width = ScoreWidth.parse(within)
    several, judged = Run.of_several(runs), Judgments.of(judgments)
    parsed, chosen = fill_defaults(judged, measures, policy, choices)
    return bound_runs(((run, judged) for run in several), parsed, width, chosen)


def bound_runs(
    pairs: Iterable[tuple[Run, Judgments]], measures: Sequence[Measure], width: ScoreWidth, chosen: Policy
) -> PrecisionBound:
    """As `precision_bound`, of runs with judgments of their own.

    Args:
        pairs: runs, each with its judgments.
        measures: measures, with defaults filled in.
        width: by how much every score may move.
        chosen: the policy.
    """
    _check_policy(chosen)
    found = [_RunBounds(run, judgments, measures, chosen, width) for run, judgments in pairs]
    notes = [note for each in found for note in each.scores.notes]
    return PrecisionBound(
        within=str(width),
        factor=width.factor,
        unit=width.unit,
        runs=tuple(RunBound(each.scores.name, tuple(each.bounds(width.factor))) for each in found),
        pairs=tuple(_turning_points(found, measures, width)),
        policy=chosen.to_dict(),
        notes=tuple(dict.fromkeys(notes)),
    )


def _check_policy(chosen: Policy) -> None:
    if chosen.skip_first:
        raise PolicyError(
            "No bound is known where the first result of a query is dropped: which one it is depends on the scores. "
            "Drop it from the run, and leave skip_first out."
        )
    if chosen.depth is not None and chosen.base == "list":
        raise PolicyError(
            "No bound is known where ideals count the documents of lists that end at a depth: scores decide which "
            "these are. Leave out depth, or base='list'."
        )


class ScoreExtremes(NamedTuple):
    """[query] lowest and highest values, and whether some scores reach all of them."""

    lowest: Floats
    highest: Floats
    exact: bool


class _End(NamedTuple):
    """[query] values at one end, and whether some scores reach all of them."""

    values: Floats
    exact: bool


class _RunBounds:
    """The bounds of one run.

    Args:
        width: its unit is that of factors.
    """

    def __init__(
        self, run: Run, judgments: Judgments, measures: Sequence[Measure], chosen: Policy, width: ScoreWidth
    ) -> None:
        self.scores = evaluate(run, judgments, measures, policy=chosen)
        self.moved = MovedScores(run, judgments, width)
        self.nothing = np.zeros(judgments.frame.height, dtype=bool)
        self.items = judgments.frame.height
        self.levels = [self._levels(measure, chosen) for measure in measures]

    def _levels(self, measure: Measure, chosen: Policy) -> GradeLevels:
        own = chosen.of(measure.innermost.name)
        counted = self.moved.standings(0.0, self.nothing, own, up=True)
        return GradeLevels(_gains(measure.under(own).innermost, counted), counted, self.items)

    def bounds(self, factor: float) -> Iterator[MeasureBound]:
        """The bound of each measure.

        Args:
            factor: number of units by which scores may move.
        """
        for column, measure in enumerate(self.scores.measures):
            found = self.extremes(column, factor)
            ties, moved = self.scores.mean(measure), self.within(column, found).mean(measure)
            spread = np.nan_to_num(found.highest - found.lowest)
            widest = int(np.argmax(spread)) if len(spread) else 0
            some = bool(len(spread)) and spread[widest] > NOISE
            yield MeasureBound(
                measure=str(measure),
                better=measure.better,
                queries=ties.queries,
                expected=ties.expected,
                tie_lowest=ties.lowest,
                tie_highest=ties.highest,
                lowest=moved.lowest,
                highest=moved.highest,
                exact=found.exact,
                moved=int((spread > NOISE).sum()),
                widest=float(spread[widest]) if some else 0.0,
                widest_query=self.scores.query_ids[widest] if some else "",
                open_queries=0 if measure.cutoff is None else self.moved.open_lists(factor, measure.cutoff),
            )

    def within(self, column: int, found: ScoreExtremes) -> Scores:
        """The scores with the extremes of one measure in place of those of ties."""
        lowest, highest = self.scores.lowest.copy(), self.scores.highest.copy()
        lowest[:, column], highest[:, column] = found.lowest, found.highest
        return replace(self.scores, lowest=lowest, highest=highest)

    def mean(self, column: int, factor: float, *, best: bool) -> float:
        """The highest or lowest mean of a measure."""
        measure = self.scores.measures[column]
        end = self.end(column, factor, up=best)
        found = ScoreExtremes(end.values, end.values, end.exact)
        estimate = self.within(column, found).mean(measure)
        return estimate.highest if best else estimate.lowest

    def extremes(self, column: int, factor: float) -> ScoreExtremes:
        """The lowest and highest values of a measure."""
        low, high = self.end(column, factor, up=False), self.end(column, factor, up=True)
        return ScoreExtremes(low.values, high.values, low.exact and high.exact)

    def end(self, column: int, factor: float, *, up: bool) -> _End:
        """The values of a measure at one end.

        Args:
            column: number of the measure.
            factor: number of units by which scores may move.
            up: whether the highest values are asked for, of a measure that falls the lowest.
        """
        measure, levels = self.scores.measures[column], self.levels[column]
        own = self.scores.policy.of(measure.innermost.name)
        settled = measure.under(own).one_by_one
        raised = up != (measure.innermost.name == FALLS)
        counted = [
            self.moved.standings(factor, levels.of_item >= level, own, up=raised)
            for level in range(1, max(levels.count, 1) + 1)
        ]
        at = [evaluate_measure(each, settled, own, each.absent, self.scores.query_ids) for each in counted]
        reached = np.array([each.highest if up else each.lowest for each in at])
        if levels.count <= 1:
            return _End(reached[0], exact=True)
        counted = [each if each.order_is_known else replace(each, ahead=np.maximum(each.ahead, 0)) for each in counted]
        bound = _profile if measure.innermost.name == "ERR" else _sum_of_levels
        values = bound(settled, counted, levels, up)
        # What the policy decides, of queries that are missing or have nothing to find, no score moves.
        known = at[0].undefined | counted[0].absent | np.isnan(reached[0])
        values = np.where(known, reached[0], values)
        best = reached.max(axis=0) if up else reached.min(axis=0)
        exact = bool((np.abs(np.nan_to_num(values - best)) <= NOISE).all())
        return _End(np.where(np.abs(values - best) <= NOISE, best, values), exact)


def _gains(measure: Measure, standings: Standings) -> Floats:
    """[pool] what a measure gains from each judged document: 0 as from an unjudged one.

    Raises:
        MeasureError: no bound of the measure is known.
    """
    grades, name = standings.pool_grade, measure.name
    parameters = measure.definition.parameters
    if name in OF_RELEVANT and not ("norm" in parameters and measure["norm"] == "hits"):
        return is_relevant(grades, measure).astype(float)
    if name in OF_JUDGED:
        return np.ones(len(grades))
    if name in ("nDCG", "DCG"):
        return gains_of(grades, measure)
    if name == "RBP":
        scale = measure["scale"]
        return is_relevant(grades, measure).astype(float) if scale is None else np.minimum(grades, float(str(scale)))
    if name == "ERR":
        return grades
    if name in WORTHS and measure["unjudged"] == "nothing":
        weights = weigh_grades(standings, measure, measure.cutoff or 1).weights
        return weights[standings.pool_query, grades.astype(np.int64)]
    raise MeasureError(
        f"No bound of {measure} over moved scores is known: a document that rises can lower it, or its value depends "
        f"on more than grades and ranks. Bounds are known of {', '.join(sorted(OF_RELEVANT | OF_JUDGED | {*WORTHS}))}, "
        "nDCG, DCG, RBP and ERR, but not of AP(norm='hits')."
    )


def _sum_of_levels(measure: Measure, counted: Sequence[Standings], levels: GradeLevels, up: bool) -> Floats:
    """[query] the bound of a linear measure: the sum over levels of its extremes with gains 0 and 1."""

    def extreme(standings: Standings, level: int, gain_of: int) -> Floats:
        rows = np.flatnonzero(levels.of_item[standings.item] >= level)
        grade = levels.grade[gain_of, standings.query[rows]]
        everything = np.arange(len(standings.pool_query)), np.arange(standings.queries)
        found = measure.evaluate(standings.select(rows, *everything, grade=grade))
        return found.highest if up else found.lowest

    total = extreme(counted[0], 1, 1)
    for level, standings in enumerate(counted[1:], start=2):
        total = total + extreme(standings, level, level) - extreme(standings, level, level - 1)
    return total


def _profile(measure: Measure, counted: Sequence[Standings], levels: GradeLevels, up: bool) -> Floats:
    """[query] the bound of a measure that grows with the documents of each level or more within each rank.

    In the list made here every rank up to r has at least as many documents of each level or more as any order has; for
    the lowest value at most as many. A rank gets a document of the highest level that still lacks one.
    """
    nowhere: Ints = np.zeros(0, dtype=np.int64)
    places = [[nowhere] * each.queries for each in counted]
    for level, standings in enumerate(counted, start=1):
        gaining = levels.of_item[standings.item] >= level
        ranks = extreme_ranks(standings, gaining.astype(float))
        rank = (ranks.highest if up else ranks.lowest)[gaining]
        query = standings.query[gaining]
        for each in np.unique(query).tolist():
            places[level - 1][each] = np.sort(rank[query == each])
    first = counted[0]
    rows_of = levels.of_item[first.item]
    rows, above = list[int](), list[int]()
    for one in range(first.queries):
        own = np.flatnonzero((first.query == one) & (rows_of > 0))
        left = {level: own[rows_of[own] == level].tolist() for level in range(1, levels.count + 1)}
        for place, level in _place_documents([each[one] for each in places], up):
            rows.append(left[level].pop())
            above.append(place - 1)
    chosen: Ints = np.array(rows, dtype=np.int64)
    ranks_above: Ints = np.array(above, dtype=np.int64)
    order = np.lexsort((ranks_above, first.query[chosen]))
    chosen, ranks_above = chosen[order], ranks_above[order]
    alone = np.ones(len(chosen), dtype=np.int64)
    everything = np.arange(len(first.pool_query)), np.arange(first.queries)
    changed = {"above": ranks_above, "tied": alone, "ahead": alone - 1}
    return measure.evaluate(first.select(chosen, *everything, **changed)).highest


def _place_documents(places: Sequence[Ints], up: bool) -> list[tuple[int, int]]:
    """Rank and level of each document of the bounding list of a query.

    Args:
        places: [level] ranks of the documents of that level or more, in the order that is best for them, ascending.
        up: whether documents come as early as needed; if not, as late.

    >>> _place_documents([np.array([1, 2]), np.array([2])], True)
    [(1, 1), (2, 2)]
    """
    wanted = [set(each.tolist()) for each in places]
    due, have, found = [0] * len(wanted), [0] * len(wanted), []
    for rank in sorted(set().union(*wanted), reverse=not up):
        due = [count + (rank in ranks) for count, ranks in zip(due, wanted, strict=True)]
        level = max((at for at in range(len(wanted)) if have[at] < due[at]), default=-1)
        if level >= 0:
            found.append((rank, level + 1))
            have[: level + 1] = [each + 1 for each in have[: level + 1]]
    return found


def _turning_points(
    found: Sequence[_RunBounds], measures: Sequence[Measure], width: ScoreWidth
) -> Iterator[TurningPoint]:
    """The neighbors in the ranking of each measure, and how far scores may move before their order can turn."""
    for column, measure in enumerate(measures):
        sign = 1.0 if measure.better == "higher" else -1.0
        means = [each.scores.mean(measure).expected for each in found]
        ranked = [
            each for each in np.argsort(-sign * np.array(means), kind="stable").tolist() if means[each] == means[each]
        ]
        for first, second in pairwise(ranked):
            a, b = found[first], found[second]
            lead = _Lead(a, b, column, higher=sign > 0)
            lowest = a.mean(column, width.factor, best=False) - b.mean(column, width.factor, best=True)
            highest = a.mean(column, width.factor, best=True) - b.mean(column, width.factor, best=False)
            margin = _margin(lead)
            at = width.factor if margin is None else margin
            yield TurningPoint(
                measure=str(measure),
                first=a.scores.name,
                second=b.scores.name,
                difference=means[first] - means[second],
                lowest=lowest,
                highest=highest,
                turns=not lead.holds(width.factor),
                margin=margin,
                exact=all(each.extremes(column, at).exact for each in (a, b)),
            )


class _Lead(NamedTuple):
    """The lead of one run over another in a measure."""

    first: _RunBounds
    second: _RunBounds
    column: int
    higher: bool

    def holds(self, factor: float) -> bool:
        """Whether the first is ahead for all scores of both that move by at most so many units."""
        worst = self.first.mean(self.column, factor, best=not self.higher)
        best = self.second.mean(self.column, factor, best=self.higher)
        return (worst - best if self.higher else best - worst) > NOISE

    def crossings(self, low: float, high: float) -> Floats:
        """Factors in (low, high] at which something can change."""
        several = [
            each.moved.crossings(low, high, each.levels[self.column].of_item > 0) for each in (self.first, self.second)
        ]
        return np.unique(np.concatenate(several))


def _margin(lead: _Lead) -> float | None:
    """The factor from which the lead can be lost; None where it never can.

    It is bracketed by doubling, narrowed by bisection, and found among the factors at which two intervals touch.
    """
    if not lead.holds(0.0):
        return 0.0
    most = max(each.moved.widest_factor for each in (lead.first, lead.second))
    if lead.holds(most):
        return None
    low, high = 0.0, min(1.0, most)
    if lead.holds(high):
        while high < most and lead.holds(high):
            low, high = high, min(2 * high, most)
    else:
        while high > most * 2.0**-200 and not lead.holds(high / 2):
            high /= 2
        low = high / 2
    while high > low * NARROW:
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if lead.holds(middle) else (low, middle)
    at = lead.crossings(low, high)
    return (
        float(at[_first(len(at), lambda place: not lead.holds(float(at[place]) * (1 + 2.0**-50)))]) if len(at) else high
    )


def _first(count: int, reached: Callable[[int], bool]) -> int:
    """The first of some ascending places that is reached; the last one surely is."""
    low, high = 0, count - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle + 1, high)
    return low
