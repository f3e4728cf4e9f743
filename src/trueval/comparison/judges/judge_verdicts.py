"""Whether a difference holds for other judges: by their labels, and for every judge inside the bounds of an audit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

import numpy as np

from trueval.comparison.judges.error_bounds import AuditCounts, bound_errors
from trueval.comparison.judges.judge_result import DEPENDS, EQUAL, ROBUST, BoundedVerdict, JudgeVerdict, JudgeVerdicts
from trueval.comparison.judges.pair_bounds import PairBounds, gain_weights
from trueval.comparison.judges.ratio_bounds import SUMS, RatioBounds, RatioWeights, ratio_weights
from trueval.comparison.labels.audit_sample import AuditSample
from trueval.comparison.labels.both_labels import LabelSets, Sides
from trueval.comparison.labels.gain_weights import GainWeights, scale_of
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
        measures: measures; those that are no sums over passages, nor such a sum over its best order, are refused.
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
    if audited.batches is not None:
        raise InputError(
            "--judge-error needs an audit of whole queries or of passages with equal chances inside strata: this one "
            "was drawn for a decision. Draw another with trueval golden audit --out."
        )
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
    sums: list[tuple[Measure, list[GainWeights | RatioWeights]]] = []
    for measure in measures:
        of_run = ratio_weights if measure.name in SUMS else gain_weights
        weights = [of_run(side, measure, counts.grades) for side in sides]
        if texts := [each for each in weights if isinstance(each, str)]:
            refused.append(f"{measure}: {texts[0]}.")
        else:
            sums.append((measure, [each for each in weights if not isinstance(each, str)]))
    # By system each pair and measure has classes, and so bounds, of its own: Bonferroni over them too.
    of_each = 1 - (1 - level) / max(len(sums) * len(pairs), 1)
    for measure, known in sums:
        for first, second in pairs:
            if not (_counts(known[first]) & _counts(known[second])).any():
                refused.append(f"{measure}: no query counts for both {runs[first].name} and {runs[second].name}.")
                continue
            bound: Any = RatioBounds if isinstance(known[first], RatioWeights) else PairBounds
            pair = bound.of(measure, known[first], known[second], classes)
            own = classes if by_grade else pair.by_system()
            bounds = by_grade or bound_errors(counts, own, of_each)
            found.append(pair.verdict(runs[first].name, runs[second].name, own, bounds, counts))
    return found, refused


def _counts(weights: GainWeights | RatioWeights) -> Bools:
    return weights.sums.there if isinstance(weights, RatioWeights) else weights.there


def _pairs(names: Sequence[str], baseline: str | None) -> list[tuple[int, int]]:
    if baseline is None:
        return list(combinations(range(len(names)), 2))
    at = names.index(baseline)
    return [(other, at) for other in range(len(names)) if other != at]


def _audit_counts(labels: LabelSets) -> AuditCounts:
    """People's labels by row of the judgments, on the scale of all grades that judge or people gave, or could."""
    audited = labels.audited
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
    grades = scale_of(labels)
    return AuditCounts(rows, np.searchsorted(grades, said[rows]), query, stratum, population, grades)
