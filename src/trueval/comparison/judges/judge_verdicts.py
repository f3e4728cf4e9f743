"""Whether a difference holds for other judges: by their labels, and for every judge inside the bounds of an audit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final, NamedTuple

import numpy as np

from trueval.comparison.judges.error_bounds import AuditCounts, bound_errors
from trueval.comparison.judges.judge_result import DEPENDS, EQUAL, ROBUST, BoundedVerdict, JudgeVerdict, JudgeVerdicts
from trueval.comparison.judges.worst_labels import ErrorBounds, labels_to_turn, worst_difference
from trueval.comparison.labels.audit_sample import AuditSample
from trueval.comparison.labels.both_labels import LabelSets, Sides
from trueval.comparison.labels.contributions import ADDITIVE, NORMALIZED, contributions, single_lists
from trueval.comparison.labels.judge_scales import check_scales
from trueval.comparison.verdict import NO_DIFFERENCE
from trueval.errors import InputError, PolicyError
from trueval.evaluation.scores import Scores
from trueval.judgments import Judgments
from trueval.measures import Measure
from trueval.policy.policy import Policy
from trueval.run import Run
from trueval.standings.standings import Bools, Floats, Ints

BOUNDED: Final = "bounded"
BY_SYSTEM: Final = "by-system"
ERRORS: Final = (BOUNDED, BY_SYSTEM)

# Gains of all runs agree to this, or the measure is no sum of weight times gain.
ROUNDING: Final = 1e-9


def verdicts_over_judges(
    scores: Sequence[Scores],
    judges: Mapping[str, Judgments],
    evaluate: Callable[[Judgments], Sequence[Scores]],
    runs: Sequence[Run],
    audit: tuple[Judgments, AuditSample] | None,
    *,
    error: str | None,
    baseline: str | None,
    level: float,
) -> tuple[JudgeVerdicts, list[str]]:
    """Verdicts by the labels of other judges, and for every judge whose errors an audit does not exclude.

    Args:
        scores: [run] scores by the first judge.
        judges: judgments by name of the judge, the first judge's first.
        evaluate: scores of the runs by the labels of a further judge.
        runs: [run] runs, for bounds.
        audit: the first judge's judgments, and people's labels of a sample of them; bounds need both.
        error: "bounded", "by-system", or None without bounds.
        baseline: name of the run to compare the others with; None for all pairs.
        level: level of the bounds.

    Returns:
        Verdicts, and remarks on scales of the judges.

    Raises:
        InputError: judges are of different scales, or bounds are asked for without an audit.
        PolicyError: the error is not known.
    """
    if error is not None and audit is None:
        raise InputError(
            "Bounds on a judge's errors need an audit, which says how often the judge errs: name its folder with "
            "--audit (audit= in Python), or make one by trueval golden audit."
        )
    names, (first, *others) = tuple(judges), judges.values()
    notes = list(check_scales(names, [first, *others])) if others else []
    by_judge = tuple(judge_verdicts([scores, *map(evaluate, others)], names, baseline)) if others else ()
    if error is None or audit is None:
        return JudgeVerdicts(names, by_judge, None, (), (), level), notes
    bounded, refused = bounded_verdicts(
        runs, *audit, scores[0].measures, scores[0].policy, error=error, level=level, baseline=baseline
    )
    return JudgeVerdicts(names, by_judge, error, tuple(bounded), tuple(refused), level), notes


def judge_verdicts(
    scores: Sequence[Sequence[Scores]], names: Sequence[str], baseline: str | None = None
) -> Iterator[JudgeVerdict]:
    """Differences by the labels of each judge, and of all but one (the jackknife over judges).

    Args:
        scores: [judge][run] scores on the same measures; judges may have labels of different queries.
        names: [judge] names.
        baseline: name of the run to compare the others with; None for all pairs.

    Raises:
        InputError: there are fewer than two judges, or they share no query on which a pair has a value.
    """
    if len(scores) < 2:
        raise InputError(f"Verdicts over judges need at least 2 of them. Got {len(scores)}.")
    for at, measure in enumerate(scores[0][0].measures):
        for first, second in _pairs([each.name for each in scores[0]], baseline):
            found = [_mean_difference(rows[first], rows[second], at) for rows in scores]
            if any(value != value for value in found):
                missing = names[[value != value for value in found].index(True)]
                raise InputError(
                    f"{measure}: no query has a value for {scores[0][first].name} and {scores[0][second].name} by the "
                    f"labels of {missing}. Leave that judge out, or give its labels of these queries."
                )
            yield _verdict(str(measure), scores[0][first].name, scores[0][second].name, found, names)


def _verdict(measure: str, first: str, second: str, found: Sequence[float], names: Sequence[str]) -> JudgeVerdict:
    values = np.array(found)
    mean = float(values.mean())
    without = (values.sum() - values) / (len(values) - 1)
    signs, sign = _sign(values), int(_sign(values[:1])[0])
    turned = tuple(name for name, other in zip(names, signs.tolist(), strict=True) if other == -sign and sign)
    changes = np.flatnonzero(_sign(without) * _sign(np.array([mean])) < 0)
    deciding = None if not len(changes) else names[changes[np.abs(without[changes]).argmax()]]
    verdict = DEPENDS if signs.any() else EQUAL
    if sign and (signs == sign).all():
        verdict = ROBUST
    if turned:
        verdict = f"turned by {'judge' if len(turned) == 1 else 'judges'} {', '.join(turned)}"
    return JudgeVerdict(measure, first, second, tuple(found), mean, tuple(without.tolist()), turned, deciding, verdict)


def _sign(values: Floats) -> Ints:
    return np.where(np.abs(values) <= NO_DIFFERENCE, 0, np.sign(values)).astype(np.int64)


def _mean_difference(first: Scores, second: Scores, at: int) -> float:
    """Mean difference over the queries that both have a value for; NaN where there is none."""
    place = {query: row for row, query in enumerate(second.query_ids)}
    shared = [(row, place[query]) for row, query in enumerate(first.query_ids) if query in place]
    apart = np.array([first.expected[row, at] - second.expected[other, at] for row, other in shared])
    apart = apart[~np.isnan(apart)]
    return float(apart.mean()) if len(apart) else float("nan")


def bounded_verdicts(
    runs: Sequence[Run],
    judgments: Judgments,
    audited: AuditSample,
    measures: Sequence[Measure],
    policy: Policy,
    *,
    error: str = BOUNDED,
    level: float = 0.95,
    baseline: str | None = None,
) -> tuple[list[BoundedVerdict], list[str]]:
    """Whether differences have one sign for every judge whose errors are inside the bounds of an audit.

    Args:
        runs: two or more, with different names.
        judgments: the judge's, unchanged since the sample was drawn.
        audited: people's labels of a sample of them.
        measures: measures; those that are no sums over passages are refused.
        policy: policy of the evaluation.
        error: "bounded": by grade of the judge; "by-system": apart for the passages that favor either run.
        level: chance that the bounds hold, all together.
        baseline: name of the run to compare the others with; None for all pairs.

    Returns:
        Verdicts, and why measures have none.

    Raises:
        InputError: labels and judgments do not belong together.
        PolicyError: the error is not known.
    """
    if error not in ERRORS:
        raise PolicyError(f"--judge-error must be one of {', '.join(ERRORS)}. Got {error!r}.")
    labels = LabelSets(judgments, audited, policy)
    labels.check()
    sides = [Sides.of(run, labels) for run in runs]
    counts = _audit_counts(labels)
    classes = np.searchsorted(counts.grades, judgments.frame["grade"].to_numpy())
    classes = np.where(judgments.frame["grade"].to_numpy() < 0, -1, classes).astype(np.int64)
    found: list[BoundedVerdict] = []
    refused: list[str] = []
    pairs = _pairs([run.name for run in runs], baseline)
    by_grade = bound_errors(counts, classes, level) if error == BOUNDED else None
    sums: list[tuple[Measure, list[_Worth]]] = []
    for measure in measures:
        worths = [_worth(side, measure, counts.grades) for side in sides]
        if texts := [each for each in worths if isinstance(each, str)]:
            refused.append(f"{measure}: {texts[0]}.")
        else:
            sums.append((measure, [each for each in worths if not isinstance(each, str)]))
    # By system each pair and measure has classes, and so bounds, of its own: Bonferroni over them too.
    of_each = 1 - (1 - level) / max(len(sums) * len(pairs), 1)
    for measure, known in sums:
        for first, second in pairs:
            pair = _Pair.of(measure, known[first], known[second], classes, counts)
            own = classes if by_grade else pair.by_system()
            bounds = by_grade or bound_errors(counts, own, of_each)
            found.append(pair.verdict(runs[first].name, runs[second].name, own, bounds, counts))
    return found, refused


def _pairs(names: Sequence[str], baseline: str | None) -> list[tuple[int, int]]:
    if baseline is None:
        return list(combinations(range(len(names)), 2))
    at = names.index(baseline)
    return [(other, at) for other in range(len(names)) if other != at]


def _audit_counts(labels: LabelSets) -> AuditCounts:
    """People's labels by row of the judgments, on the scale of all grades that judge or people gave, or could."""
    audited, frame = labels.audited, labels.judge.frame
    given = frame["grade"].to_numpy()
    said = labels.people.frame["grade"].to_numpy()
    rows = labels.graded["row"].to_numpy().astype(np.int64)
    query = labels.owner[rows]
    stratum: Ints | None = None
    population = np.array([float(sum(audited.population.values()))])
    if audited.design == "documents":
        names = list(audited.population)
        stratum = np.array([names.index(each) for each in labels.graded["stratum"].to_list()], dtype=np.int64)
        population = np.array([float(audited.population[name]) for name in names])
    else:
        rows, query = rows[labels.whole[query]], query[labels.whole[query]]
    low, high = audited.scale
    grades = np.unique(np.concatenate((given[given >= 0], said[said >= 0], np.arange(low, high + 1), [low, high])))
    return AuditCounts(rows, np.searchsorted(grades, said[rows]), query, stratum, population, grades)


class _Worth(NamedTuple):
    """What passages are worth to a run: weight of their rank times gain of their grade.

    Attributes:
        gains: [grade] gain, the greatest in size 1 or -1.
        expected: [row] weight, expected over tie orders.
        lowest: [row] least weight over tie orders.
        highest: [row] greatest weight.
        constant: [query] value that does not depend on labels.
        there: [query] whether the query counts.
        owner: [row] index of its query.
    """

    gains: Floats
    expected: Floats
    lowest: Floats
    highest: Floats
    constant: Floats
    there: Bools
    owner: Ints


def _worth(side: Sides, measure: Measure, grades: Floats) -> _Worth | str:
    """The worth of passages to a run; or why the measure has none."""
    if measure.name in NORMALIZED:
        return f"its norm depends on the labels too, so that it is no sum over them; take {NORMALIZED[measure.name]}"
    if measure.name not in ADDITIVE:
        return f"it is no sum over passages; take one of {', '.join(ADDITIVE)}"
    checked = contributions(side, measure)
    if isinstance(checked, str):
        return checked
    policy = side.labels.policy.of(measure.innermost.name)
    settled, standings = measure.under(policy), side.judge(policy)
    single = single_lists(standings)
    rows = len(side.labels.judge.frame)
    tables = np.zeros((3, len(grades), rows))
    judged = single.grade >= 0
    for at, grade in enumerate(grades.tolist()):
        values = settled.evaluate(
            replace(
                single,
                grade=np.where(judged, grade, single.grade),
                pool_grade=np.where(single.pool_grade >= 0, grade, single.pool_grade),
            )
        )
        for kind, name in enumerate(("expected", "lowest", "highest")):
            tables[kind, at, standings.item] = np.where(judged, getattr(values, name), 0.0)
    sums = tables[0].sum(axis=1)
    top = int(np.abs(sums).argmax())
    gains = sums / sums[top] if sums[top] else np.zeros(len(grades))
    weights = tables[:, top]
    if not np.allclose(tables[0], gains[:, None] * weights[0], atol=ROUNDING):
        return "with these parameters a grade is not worth the same at every rank"
    return _Worth(gains, weights[0], weights[1], weights[2], checked.constant, checked.there, side.labels.owner)


class _Pair(NamedTuple):
    """The difference of two runs as a sum over passages, in the direction of the leading run.

    Attributes:
        measure: the measure.
        weights: [row] a_d, expected over tie orders; of the leading run less the other.
        least: [row] a_d at the worst orders of ties.
        gains: [grade] gains.
        own: [row] gain of the judge's grade.
        classes: [row] index of the judge's grade; below 0 where it gave none.
        constant: part of the difference that does not depend on labels.
        difference: first - second by the judge's labels.
        direction: 1 where this is the difference of the sum, -1 where it is of the other sign.
    """

    measure: Measure
    weights: Floats
    least: Floats
    gains: Floats
    own: Floats
    classes: Ints
    constant: float
    difference: float
    direction: float

    @classmethod
    def of(cls, measure: Measure, first: _Worth, second: _Worth, classes: Ints, counts: AuditCounts) -> _Pair:
        """The pair, with the run in the lead first."""
        there = first.there & second.there
        number = max(int(there.sum()), 1)
        counted = there[first.owner] & (classes >= 0)
        gains = first.gains if np.abs(first.gains).any() else second.gains
        own = np.where(classes >= 0, gains[classes], 0.0)
        constant = float((first.constant - second.constant)[there].sum()) / number
        apart = np.where(counted, first.expected - second.expected, 0.0) / number
        difference = float(apart @ own) + constant
        direction = -1.0 if difference < 0 else 1.0
        lead, other = (first, second) if direction > 0 else (second, first)
        least = np.where(counted, lead.lowest - other.highest, 0.0) / number
        return cls(measure, direction * apart, least, gains, own, classes, direction * constant, difference, direction)

    def by_system(self) -> Ints:
        """[row] classes by grade and by the run that a passage favors, or none."""
        side = np.where(self.weights > 0, 0, np.where(self.weights < 0, 1, 2))
        return np.where(self.classes >= 0, 3 * self.classes + side, -1).astype(np.int64)

    def verdict(
        self, first: str, second: str, classes: Ints, bounds: ErrorBounds, counts: AuditCounts
    ) -> BoundedVerdict:
        """Whether the leading run leads for all label tables inside the bounds.

        Args:
            first: name of the first run.
            second: name of the second run.
            classes: [row] index of its class; below 0 for rows of no class.
            bounds: how many passages of each class have each grade.
            counts: people's labels, which every table keeps.
        """
        seen = np.zeros(bounds.least.shape, dtype=np.int64)
        np.add.at(seen, (classes[counts.rows], counts.grade), 1)
        open_bounds = bounds._replace(least=bounds.least - seen, most=bounds.most - seen)
        classes, said = classes.copy(), self.gains[counts.grade]
        classes[counts.rows] = -1

        def worst_of(weights: Floats) -> float:
            return worst_difference(weights, classes, self.gains, open_bounds) + float(weights[counts.rows] @ said)

        worst = worst_of(self.weights) + self.constant
        best = self.constant - worst_of(-self.weights)
        with_ties = worst
        if (self.least < self.weights - ROUNDING * np.abs(self.weights)).any():
            # Gains below 0 would ask for the greatest weights.
            with_ties = worst_of(self.least) + self.constant if (self.gains >= 0).all() else math.nan
        judged, margin = self.classes >= 0, abs(self.difference)
        verdict = EQUAL if margin <= NO_DIFFERENCE else ROBUST if worst > NO_DIFFERENCE else DEPENDS
        turning = None
        if verdict != EQUAL:
            turning = labels_to_turn(self.weights[judged], self.own[judged], self.gains, margin)
        low, high = sorted((self.direction * worst, self.direction * best))
        return BoundedVerdict(
            str(self.measure),
            first,
            second,
            self.difference,
            low,
            high,
            self.direction * with_ties,
            turning,
            int(judged.sum()),
            verdict,
        )
