"""Comparing systems: scores of several runs in; differences, intervals, tests, win probabilities and verdicts out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trueval.comparison.alignment import Aligned, align
from trueval.comparison.comparison import Comparison, Difference, Interval, Leaderboard, Ranked, Significance
from trueval.comparison.correct import Adjusted, adjust
from trueval.comparison.intervals import Extremes, bootstrap_intervals
from trueval.comparison.orders import TieOrders
from trueval.comparison.resampling import lists_all_signs, thread_count
from trueval.comparison.tests import effect_sizes, randomization_test, t_test, wilcoxon_test
from trueval.comparison.verdict import judge, letters
from trueval.comparison.wins import Column, Winners
from trueval.errors import InputError, PolicyError
from trueval.evaluation.evaluate import Measures, evaluate
from trueval.evaluation.scores import Scores
from trueval.judgments import Judgments
from trueval.policy.conventions import choose
from trueval.run import Run
from trueval.standings.standings import Bools, Floats, Ints

if TYPE_CHECKING:
    from trueval.policy.policy import Policy

__all__ = ["Choices", "Comparison", "Difference", "compare", "compare_scores"]

TESTS: Final = ("randomization", "t", "wilcoxon")
FAMILIES: Final = ("measure", "all")


@dataclass(frozen=True)
class Choices:
    """Everything that can be chosen about a comparison.

    Attributes:
        level: of intervals, tests and verdicts.
        resamples: bootstrap resamples, and sign patterns of the randomization test where not all are listed.
        seed: of everything random; results are the same for a seed on any number of threads.
        test: whose p is adjusted and decides: "randomization", "t" or "wilcoxon".
        family: tests that are adjusted together: those of each "measure", or "all".
        tolerance: per-query differences up to this are ties of the count wins, ties, losses.
        tie_samples: orders drawn for a win probability that cannot be listed; 0 for the normal distribution.
    """

    level: float = 0.95
    resamples: int = 10_000
    seed: int = 0
    test: str = "randomization"
    family: str = "measure"
    tolerance: float = 1e-9
    tie_samples: int = 0

    def __post_init__(self) -> None:
        if not 0.5 < self.level < 1:
            raise PolicyError(f"level must be between 0.5 and 1, such as 0.95. Got {self.level!r}.")
        if self.resamples < 100:
            raise PolicyError(f"resamples must be an integer >= 100. Got {self.resamples!r}.")
        if self.tie_samples < 0 or self.tolerance < 0:
            raise PolicyError("tie_samples and tolerance must be at least 0.")
        for name, value, accepted in (("test", self.test, TESTS), ("family", self.family, FAMILIES)):
            if value not in accepted:
                raise PolicyError(f"{name} must be one of {', '.join(accepted)}. Got {value!r}.")


def compare(
    runs: Any,
    judgments: Any,
    measures: Measures,
    *,
    baseline: str | None = None,
    policy: Policy | None = None,
    threads: int | None = None,
    **choices: Any,
) -> Comparison:
    """Compare every pair of some runs, or each with a baseline; differences are of the first less the second.

    Args:
        runs: two or more: a list, or a dict by name, of Runs or what `Run.of` takes (paths, dicts, frames, ...).
        judgments: as in evaluate.
        measures: as in evaluate.
        baseline: name of the run to compare the others with; None for all pairs.
        policy: as in evaluate.
        threads: that share the work; None for one for each processor. The result does not depend on it.
        choices: attributes of Choices (level, resamples, test, family, ...), and of Policy as in evaluate; `seed` is
            that of both.

    Raises:
        InputError: a run is bad, or the queries do not fit the policy.
        PolicyError: a choice is unknown.

    >>> good = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 1.0, "b": 2.0}}
    >>> tied = {"q1": {"a": 1.0, "b": 1.0}, "q2": {"a": 1.0, "b": 1.0}}
    >>> found = compare({"good": good, "tied": tied}, {"q1": {"a": 1}, "q2": {"b": 1}}, "P@1")
    >>> difference, = found.differences
    >>> difference.expected, difference.lowest, difference.highest, difference.win.value
    (0.5, 0.0, 1.0, 0.875)
    """
    runs, judgments = Run.of_several(runs), Judgments.of(judgments)
    of_comparison = {name: value for name, value in choices.items() if name in Choices.__dataclass_fields__}
    of_policy = {name: value for name, value in choices.items() if name not in of_comparison or name == "seed"}
    chosen = choose(policy, of_policy)
    scores = [evaluate(run, judgments, measures, policy=chosen) for run in runs]
    orders = [TieOrders(run, judgments, chosen, stream) for stream, run in enumerate(runs)]
    return compare_scores(scores, baseline=baseline, orders=orders, threads=threads, **of_comparison)


def compare_scores(
    scores: Sequence[Scores],
    *,
    baseline: str | None = None,
    orders: Sequence[TieOrders] | None = None,
    threads: int | None = None,
    **choices: Any,
) -> Comparison:
    """Compare evaluated runs, every pair or each with a baseline.

    Args:
        scores: of two or more runs, by the same measures.
        baseline: name of the run to compare the others with; None for all pairs.
        orders: [run] tie orders, for exact and sampled win probabilities; without them they are normal.
        threads: as in compare.
        choices: attributes of Choices.

    Raises:
        InputError: names are equal, the baseline is unknown, or the queries do not fit the policy.
        MeasureError: the measures differ.
        PolicyError: a choice is unknown.
    """
    unknown = next((name for name in choices if name not in Choices.__dataclass_fields__), None)
    if unknown is not None:
        known = ", ".join(Choices.__dataclass_fields__)
        raise PolicyError(f"Unknown choice {unknown!r} of a comparison. Choices are {known}.")
    chosen, aligned = Choices(**choices), align(scores)
    pairs = _pairs(aligned.names, baseline)
    found: dict[int, _Findings] = {}
    # Measures that count the same queries share their resamples, so each pattern of queries is drawn once.
    patterns, pattern_of = np.unique(aligned.kept, axis=1, return_inverse=True)
    for at in range(patterns.shape[1]):
        kept, measures = np.flatnonzero(patterns[:, at]), np.flatnonzero(pattern_of.ravel() == at)
        found.update(_compare_group(aligned, kept, measures, pairs, chosen, thread_count(threads)))
    in_order = [found[measure] for measure in range(len(aligned.measures))]
    adjusted = adjust([each.p for each in in_order], together=chosen.family == "all")
    winners = Winners(aligned, orders, chosen.tie_samples, chosen.seed)
    differences = [
        difference
        for measure in range(len(aligned.measures))
        for difference in _differences(aligned, measure, pairs, found[measure], adjusted, winners, chosen)
    ]
    boards = [_leaderboard(aligned, m, differences, ranked=baseline is None) for m in range(len(aligned.measures))]
    notes = tuple(dict.fromkeys([*(note for each in scores for note in each.notes), *aligned.notes]))
    used = {**asdict(chosen), "policy": scores[0].policy.to_dict()}
    return Comparison(aligned.names, baseline, tuple(differences), tuple(boards), used, notes)


class _Findings(NamedTuple):
    """What resampling and tests say of the pairs on one measure: arrays over pairs."""

    expected: Floats
    realized: Floats
    bounded: Bools
    randomization: Floats
    t: Floats
    wilcoxon: Floats
    cohen_d: Floats
    hedges_g: Floats
    p: Floats
    exact: bool


def _pairs(names: Sequence[str], baseline: str | None) -> Ints:
    """[pair, 2] runs to compare, the baseline second."""
    if baseline is None:
        return np.array(list(combinations(range(len(names)), 2)), dtype=np.int64)
    if baseline not in names:
        raise InputError(f"The baseline must be one of the runs {', '.join(names)}. Got {baseline!r}.")
    second = names.index(baseline)
    return np.array([(first, second) for first in range(len(names)) if first != second], dtype=np.int64)


def _compare_group(
    aligned: Aligned, kept: Ints, measures: Ints, pairs: Ints, chosen: Choices, threads: int
) -> dict[int, _Findings]:
    """Resample and test every pair on measures that count the same queries, the same resamples for all."""
    # Columns are run by run, measure by measure; a pair is two columns of the same measure.
    expected, sd, lowest, highest = (
        statistic[:, kept][:, :, measures].transpose(1, 0, 2).reshape(len(kept), len(aligned.names) * len(measures))
        for statistic in (aligned.expected, aligned.sd, aligned.lowest, aligned.highest)
    )
    first, second = ((pairs[:, side][:, None] * len(measures) + np.arange(len(measures))).ravel() for side in (0, 1))
    options = {"resamples": chosen.resamples, "seed": chosen.seed, "threads": threads}
    intervals = bootstrap_intervals(
        expected, sd**2, first, second, level=chosen.level, extremes=Extremes(lowest, highest), **options
    )
    differences = expected[:, first] - expected[:, second]
    p = {
        "randomization": randomization_test(expected, first, second, **options),
        "t": t_test(differences),
        "wilcoxon": wilcoxon_test(differences),
    }
    parts = {**intervals._asdict(), **p, **effect_sizes(differences)._asdict(), "p": p[chosen.test]}
    shaped = {name: part.reshape(len(pairs), len(measures), *part.shape[1:]) for name, part in parts.items()}
    return {
        measure: _Findings(**{name: part[:, at] for name, part in shaped.items()}, exact=lists_all_signs(len(kept)))
        for at, measure in enumerate(measures.tolist())
    }


def _differences(
    aligned: Aligned, measure: int, pairs: Ints, found: _Findings, adjusted: Adjusted, winners: Winners, chosen: Choices
) -> Iterator[Difference]:
    """The pairs on one measure."""
    columns = [Column.of(aligned, run, measure) for run in range(len(aligned.names))]
    for pair, (first, second) in enumerate(pairs.tolist()):
        a, b = columns[first], columns[second]
        tests = Significance(
            float(found.randomization[pair]),
            found.exact,
            float(found.t[pair]),
            float(found.wilcoxon[pair]),
            *(float(each[measure][pair]) for each in adjusted),
        )
        win, gain = winners.probability(measure, first, second), a.sign * (a.expected - b.expected)
        means = {name: _mean(getattr(a, name) - getattr(b, name)) for name in ("expected", "tie_broken")}
        ends = {"lowest": _mean(a.lowest - b.highest), "highest": _mean(a.highest - b.lowest)}
        tie_range = ends["highest"] - ends["lowest"]
        verdict = judge(**means, tie_range=tie_range, win=win, adjusted_p=tests.holm, level=chosen.level)
        yield Difference(
            measure=str(aligned.measures[measure]),
            better=aligned.measures[measure].better,
            first=aligned.names[first],
            second=aligned.names[second],
            queries=len(gain),
            **means,
            **ends,
            # Orders of two runs are independent, so their variances add.
            sd=math.sqrt(float((a.sd**2 + b.sd**2).sum())) / len(a.sd) if len(a.sd) else math.nan,
            win=win,
            expected_interval=Interval(*found.expected[pair].tolist()),
            realized_interval=Interval(*found.realized[pair].tolist()),
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
        )


def _leaderboard(aligned: Aligned, measure: int, differences: Sequence[Difference], *, ranked: bool) -> Leaderboard:
    columns = [Column.of(aligned, run, measure) for run in range(len(aligned.names))]
    name, better = str(aligned.measures[measure]), aligned.measures[measure].better
    means = [_mean(column.expected) for column in columns]
    order = sorted(range(len(columns)), key=lambda run: -columns[run].sign * means[run])
    apart = np.zeros((len(columns), len(columns)), dtype=bool)
    for each in differences:
        if each.measure == name and each.separated:
            one, other = aligned.names.index(each.first), aligned.names.index(each.second)
            apart[one, other] = apart[other, one] = True
    # Against a baseline most pairs were not compared, so nobody knows which systems would share a letter.
    groups = letters(apart, order) if ranked else [""] * len(columns)
    ranking = [
        Ranked(
            1 + sum(columns[run].sign * (other - means[run]) > 1e-12 for other in means),
            aligned.names[run],
            means[run],
            _mean(columns[run].lowest),
            _mean(columns[run].highest),
            groups[run],
        )
        for run in order
    ]
    return Leaderboard(name, better, len(columns[0].expected), aligned.left_out(measure), tuple(ranking))


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan
