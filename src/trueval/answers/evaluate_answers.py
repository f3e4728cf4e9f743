"""Evaluate answers: measures of a log and its judged table, with intervals over questions, corrected by people."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trueval.answers.answer import AnswerLog, LoggedAnswer
from trueval.answers.answer_logs import read_answers
from trueval.answers.answer_measures import FRACTIONS, MEASURES, RELEVANCE, AnswerMeasure, find_measures, scores_of
from trueval.answers.answers_evaluation import (
    AnswerMean,
    AnswersEvaluation,
    JudgedClaim,
    JudgedQuestion,
    JudgedText,
    Losses,
    PeopleAgreement,
)
from trueval.answers.claim_measures import AnswerValues, losses
from trueval.answers.claim_table import (
    ANSWER,
    LABELS,
    MISSING,
    Cell,
    ClaimTable,
    JudgedCells,
    cells_of,
    read_judged,
    texts_of,
)
from trueval.comparison.compare import Comparison, compare_scores
from trueval.comparison.labels.both_labels import PairedValues
from trueval.comparison.labels.design_estimate import NEW, interval, varies, without_interval
from trueval.comparison.labels.query_design import by_queries
from trueval.comparison.resampling.clusters import Clusters, QueryUnits
from trueval.errors import InputError, MeasureError, PolicyError
from trueval.evaluation.corrected_values import EstimateWithInterval
from trueval.evaluation.scores import Scores
from trueval.files import Source
from trueval.measures.span import ANYTHING, ValueRange
from trueval.report.number_texts import count_phrase
from trueval.standings.standings import Bools, Floats, Ints

if TYPE_CHECKING:
    from os import PathLike
    from typing import Unpack

    from trueval.comparison.budget.budget_result import Budget
    from trueval.comparison.compare_choices import CompareChoices
    from trueval.comparison.power.power_result import Power

PLANNED: Final = ("correctness", "token-F1")  # what power and budgets are about, with judged tables, and without
LISTED: Final = 200  # questions whose claims a result holds
SAME: Final = 1e-9  # values closer together than this are equal
PEOPLE: Final = "people.jsonl"  # of an audit's folder


class JudgedLog(NamedTuple):
    """A log with its table."""

    log: AnswerLog
    judged: JudgedCells
    table: ClaimTable

    @classmethod
    def of(cls, log: AnswerLog | Source, judged: JudgedCells | Source | None) -> JudgedLog:
        """Read a log, and its judged table.

        Args:
            judged: None for a log that nobody judged.

        Raises:
            InputError: a file is bad.
        """
        read = log if isinstance(log, AnswerLog) else read_answers(log)
        cells = JudgedCells({}, "") if judged is None else judged
        cells = cells if isinstance(cells, JudgedCells) else read_judged(cells, read)
        return cls(read, cells, ClaimTable.of(read, cells))

    def values(self, measures: Sequence[AnswerMeasure]) -> dict[str, AnswerValues]:
        """The values of measures, by name."""
        return {each.name: each.values(self.log, self.table) for each in measures}

    def cells(self, answer: LoggedAnswer) -> list[Cell]:
        """The cells of an answer: those against the question too where the table holds such."""
        return list(cells_of(answer, relevance=self.judged.has_relevance))


class _PeopleLabels(NamedTuple):
    """Which questions people labeled.

    Attributes:
        whole: [query] whether every cell has their label.
        settled: [query] whether the question has no cell, so that it has one value under all labels.
    """

    whole: Bools
    settled: Bools


def answer_scores(
    log: AnswerLog | Source, judged: JudgedCells | Source | None = None, measures: Sequence[str] | None = None
) -> Scores:
    """The values of answers per question, as scores that `compare_scores` and `gate` take.

    Args:
        log: log of answers, or where it is.
        judged: judged table, or where it is; None for measures without a judge.
        measures: names; None for all that can be computed.

    Raises:
        InputError: a file is bad.
        MeasureError: a name is unknown, or needs a judged table.
    """
    found = JudgedLog.of(log, judged)
    return scores_of(found.log, found.values(_choose(measures, [found], judged=judged is not None)))


def _choose(names: Sequence[str] | None, logs: Sequence[JudgedLog], *, judged: bool) -> tuple[AnswerMeasure, ...]:
    """The measures of some names, or all that the tables of logs allow.

    Args:
        judged: whether every log has a table.

    Raises:
        MeasureError: a name is unknown, or needs what a table lacks.
    """
    chosen = find_measures(names, judged=judged)
    lacking = next((each for each in logs if not each.judged.has_relevance), None)
    if lacking is not None and names is not None and RELEVANCE in names:
        raise MeasureError(
            f"{RELEVANCE} needs labels of claims against the question, and {lacking.judged.source} has none. Judge the "
            "log with them: trueval answers judge LOG --judge MODEL --relevance."
        )
    return chosen if lacking is None else tuple(each for each in chosen if each.name != RELEVANCE)


def evaluate_answers(
    log: AnswerLog | Source,
    judged: JudgedCells | Source | None = None,
    measures: Sequence[str] | None = None,
    *,
    people: JudgedCells | Source | None = None,
    clusters: Clusters | Mapping[str, str] | Source | None = None,
    level: float = 0.95,
) -> AnswersEvaluation:
    """Evaluate the answers of a system.

    The interval of a mean is over questions drawn from a larger population, by t (and the score interval near 0 and 1),
    with clusters as units. Missing labels widen it: it reaches from the lower end for the lowest values to the upper
    end for the highest. With people's labels of questions drawn at random, means are corrected (prediction-powered).

    Args:
        log: log of answers, or where it is.
        judged: judged table, or where it is; None for measures without a judge.
        measures: names; None for all that can be computed.
        people: table with people's labels, or the folder of their audit (claim_audit.py); questions of which every cell
            is labeled count.
        clusters: id of a question → its cluster, or a file; those of the log by default.
        level: of the intervals.

    Raises:
        InputError: a file is bad, or a question has no cluster.
        MeasureError: a name is unknown, or needs a judged table.
        PolicyError: the level is not between 0 and 1.

    >>> evaluate_answers("log.jsonl", "table.jsonl")["correctness"].value  # doctest: +SKIP
    """
    if not 0 < level < 1:
        raise PolicyError(f"level must be above 0 and below 1. Got {level}.")
    if people is not None and judged is None:
        raise InputError(
            "People's labels correct a judged table, and none is given. Give one, or people's labels as that table."
        )
    found = JudgedLog.of(log, judged)
    chosen = _choose(measures, [found], judged=judged is not None)
    groups = Clusters.of(clusters)
    if groups is None and found.log.clusters:
        groups = Clusters(found.log.clusters, found.log.source)
    codes = np.arange(len(found.log.answers)) if groups is None else groups.codes(found.log.query_ids)
    by_people = None if people is None else JudgedLog.of(found.log, find_people(people))
    # A question without cells has the same value under all labels: nobody labels it, and none is drawn.
    settled = np.array([not found.cells(answer) for answer in found.log.answers], dtype=bool)
    labeled = np.zeros(len(codes), dtype=bool) if by_people is None else (by_people.table.missing == 0) & ~settled
    labels = _PeopleLabels(labeled, settled)
    values, theirs = found.values(chosen), {} if by_people is None else by_people.values(chosen)
    means = tuple(_mean(each, values[each.name], theirs.get(each.name), labels, codes, level) for each in chosen)
    cells = [cell for answer in found.log.answers for cell in found.cells(answer)] if judged is not None else []
    return AnswersEvaluation(
        log=found.log.name,
        judged=found.judged.source,
        level=level,
        questions=len(codes),
        cells=len(cells),
        missing=sum(found.judged.label(cell) == MISSING for cell in cells),
        disagreeing=sum(len({*found.judged.labels.get(cell, ())} - {MISSING}) > 1 for cell in cells),
        losses=None if judged is None else _losses(found.table, codes, level),
        measures=means,
        listed=_list(found) if judged is not None else (),
        clusters="" if groups is None else groups.source,
        notes=(*found.log.notes, *_notes(by_people, labeled, groups)),
    )


def find_people(people: JudgedCells | Source) -> JudgedCells | Source:
    """People's table: of the folder of an audit the file in it; anything else as it is."""
    if isinstance(people, str | Path) and Path(people).is_dir():
        return str(Path(people) / PEOPLE)
    return people


def compare_answers(
    logs: Sequence[tuple[AnswerLog | Source, JudgedCells | Source | None]],
    measures: Sequence[str] | None = None,
    *,
    baseline: str | None = None,
    clusters: Clusters | Mapping[str, str] | Source | None = None,
    **choices: Unpack[CompareChoices],
) -> Comparison:
    """Compare the answers of several systems to the same questions, paired by question.

    Args:
        logs: [system] log and judged table.
        measures: names; None for all that can be computed.
        baseline: name of the system to compare the others with; None for all pairs.
        clusters: as in `evaluate_answers`; those of the first log by default.
        choices: attributes of ComparisonChoices, as in `compare`.

    Raises:
        InputError: a file is bad, or names are equal.
        MeasureError: a name is unknown, or needs a judged table that some log lacks.

    >>> compare_answers([("old.jsonl", None), ("new.jsonl", None)], ["token-F1"])  # doctest: +SKIP
    """
    found = [JudgedLog.of(*each) for each in logs]
    chosen = _choose(measures, found, judged=all(judged is not None for _, judged in logs))
    scores = [scores_of(each.log, each.values(chosen)) for each in found]
    groups = clusters if clusters is not None or not found or not found[0].log.clusters else found[0].log.clusters
    return compare_scores(scores, baseline=baseline, clusters=groups, **choices)


def power_answers(
    logs: Sequence[tuple[AnswerLog | Source, JudgedCells | Source | None]],
    measures: Sequence[str] | None = None,
    *,
    baseline: str | None = None,
    clusters: Clusters | Mapping[str, str] | Source | None = None,
    level: float = 0.95,
    power: float = 0.8,
    difference: float | None = None,
    budget: Budget | str | PathLike[str] | None = None,
) -> Power:
    """Compute which differences between the answers of systems these questions can find, as `power` does for runs.

    Args:
        logs: [system] log and judged table, two or more, of the same questions.
        measures: names; correctness by default, or token-F1 where some log has no table.
        baseline: name of the system to compare the others with; None for all pairs.
        clusters: as in `evaluate_answers`; those of the first log by default.
        level: of the test and of intervals.
        power: probability of detecting a difference.
        difference: difference for which needed questions are counted; None for the measured one of each pair.
        budget: result of `budget_answers`: what is found with other answers and rounds of the judge too.

    Raises:
        InputError: a file is bad, there is one log, names are equal, or the baseline is unknown.
        MeasureError: a name is unknown, or needs what a table lacks.
        PolicyError: a choice is out of range.

    >>> power_answers([("old.jsonl", None), ("new.jsonl", None)], difference=0.05)  # doctest: +SKIP
    """
    from trueval.comparison.power.power_analysis import power_of_scores  # late, as only this needs it

    found = [JudgedLog.of(*each) for each in logs]
    judged = all(table is not None for _, table in logs)
    chosen = _choose([PLANNED[not judged]] if measures is None else measures, found, judged=judged)
    scores = [scores_of(each.log, each.values(chosen)) for each in found]
    groups = clusters if clusters is not None or not found or not found[0].log.clusters else found[0].log.clusters
    told = power_of_scores(
        scores,
        baseline=baseline,
        clusters=groups,
        level=level,
        power=power,
        difference=difference,
        budget=budget,
    )
    return replace(told, choices={**told.choices, "of": "answers"})


def _mean(
    measure: AnswerMeasure,
    values: AnswerValues,
    people: AnswerValues | None,
    labels: _PeopleLabels,
    codes: Ints,
    level: float,
) -> AnswerMean:
    """The mean of a measure with its interval, and corrected by people's values where they labeled whole questions."""
    low, high = values.bounds
    kept = ~np.isnan(low)
    unknown, queries = int(values.unknown.sum()), len(low)
    count = int(kept.sum())
    ends = [mean_interval(each[kept], codes[kept], level) for each in (low, high)]
    span = [None if math.isnan(each.estimate) else each.estimate for each in ends]
    corrected = agreement = None
    if people is not None and measure.judged:
        corrected = _correct_mean(measure, values, people, labels, level)
        agreement = _agreement(values, people, labels, codes, level)
    known = count + unknown
    return AnswerMean(
        name=measure.name,
        better=measure.measure.better,
        value=None if not count else (ends[0].estimate + ends[1].estimate) / 2,
        low=_or_none(ends[0].low),
        high=_or_none(ends[1].high),
        lowest=span[0],
        highest=span[1],
        questions=count,
        empty=queries - known,
        unknown=unknown,
        all_lowest=float(low[kept].sum()) / known if known else None,
        all_highest=(float(high[kept].sum()) + unknown) / known if known else None,
        units=len(np.unique(codes[kept])),
        corrected=corrected,
        labeled=0 if people is None else int((labels.whole & ~values.unknown & ~people.unknown).sum()),
        agreement=agreement,
    )


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def mean_interval(values: Floats, codes: Ints, level: float, span: ValueRange = FRACTIONS) -> EstimateWithInterval:
    """Mean and interval, clusters as units: variance n / (n - 1) sum of e^2 / N^2, e sums of values minus the mean."""
    if not len(values):
        return EstimateWithInterval(*[math.nan] * 5)
    mean = float(values.mean())
    sums = QueryUnits.of(codes).sums(values - mean)
    units = len(sums)
    if units < 2:
        return EstimateWithInterval(mean, *[math.nan] * 4)
    variance = units / (units - 1) * float(sums @ sums) / len(values) ** 2
    if span == FRACTIONS and values.min() == values.max():
        return _of_equal_values(mean, units, level)
    return interval(mean, variance, units - 1, level, span)


def _of_equal_values(value: float, units: int, level: float) -> EstimateWithInterval:
    """The interval where all units have one value c: c - c u and c + (1 - c) u, with u = 1 - ((1 - level) / 2)^(1 / n).

    A share p of other units leaves n equal ones with the chance (1 - p)^n, and moves the mean by at most p to an end.
    """
    other = 1 - ((1 - level) / 2) ** (1 / units)
    return EstimateWithInterval(value, value * (1 - other), value + (1 - value) * other, 0.0, units - 1)


def _correct_mean(
    measure: AnswerMeasure, values: AnswerValues, people: AnswerValues, labels: _PeopleLabels, level: float
) -> EstimateWithInterval | None:
    """The mean for people's labels of all questions, from whole questions that they labeled."""
    judge, theirs = ((each.bounds.lowest + each.bounds.highest) / 2 for each in (values, people))
    there = ~values.unknown
    labeled, settled = labels.whole & there & ~people.unknown, labels.settled & ~np.isnan(judge)
    paired = PairedValues(judge, np.where(labeled, theirs, judge), there, settled)
    found = by_queries(paired, labeled, NEW, level, measure.measure.span)
    if found is None:
        return None
    return found.corrected if varies(found.corrected) else without_interval(found.corrected)


def _agreement(
    values: AnswerValues, people: AnswerValues, labels: _PeopleLabels, codes: Ints, level: float
) -> PeopleAgreement | None:
    """How far the judge's values are people's, over questions that these labeled in whole; None without any."""
    judge, theirs = ((each.bounds.lowest + each.bounds.highest) / 2 for each in (values, people))
    kept = labels.whole & ~np.isnan(judge) & ~np.isnan(theirs)
    if not kept.any():
        return None
    one, other = judge[kept], theirs[kept]
    varied = min(np.ptp(one), np.ptp(other)) > SAME
    half = mean_interval((one - other + 1) / 2, codes[kept], level)  # as a fraction, for its interval
    mean, low, high = (2 * each - 1 for each in (half.estimate, half.low, half.high))
    return PeopleAgreement(
        questions=int(kept.sum()),
        equal=float((np.abs(one - other) <= SAME).mean()),
        difference=EstimateWithInterval(mean, low, high, 2 * half.se, half.degrees),
        correlation=float(np.corrcoef(one, other)[0, 1]) if varied else None,
    )


def _losses(table: ClaimTable, codes: Ints, level: float) -> Losses:
    found, known = losses(table), table.has_reference & table.has_context
    gap = mean_interval((found.retrieval - found.reading)[known].astype(np.float64), codes[known], level, ANYTHING)
    answered, reading, retrieval, undecided = (int(each.sum()) for each in found)
    return Losses(answered, reading, retrieval, undecided, gap)


def _notes(people: JudgedLog | None, labeled: Bools, groups: Clusters | None) -> Iterator[str]:
    if people is None:
        return
    begun = {cell.query for cell in people.judged.labels}
    whole = {people.log.query_ids[at] for at in np.flatnonzero(labeled).tolist()}
    if partly := sorted(begun - whole):
        told = count_phrase(len(partly), "question", "questions")
        yield (
            f"people labeled only some cells of {told}, such as {partly[0]!r}: only questions labeled in whole correct."
        )
    yield "corrected values hold for questions that were drawn at random to be labeled."
    if groups is not None:
        yield "the intervals of corrected values count questions one by one, not clusters."


def _list(found: JudgedLog) -> tuple[JudgedQuestion, ...]:
    """Questions with their claims, the least correct first."""
    low = MEASURES["correctness"].values(found.log, found.table).bounds.lowest
    order = np.argsort(np.where(np.isnan(low), np.inf, low), kind="stable")[:LISTED]
    return tuple(_question(found.log.answers[at], found, _or_none(float(low[at]))) for at in order.tolist())


def _question(answer: LoggedAnswer, found: JudgedLog, correctness: float | None) -> JudgedQuestion:
    by_claim: dict[tuple[str, int], list[Cell]] = {
        **{(ANSWER, number): [] for number in range(1, len(answer.claims) + 1)},
    }
    for cell in found.cells(answer):
        by_claim.setdefault((cell.of, cell.claim), []).append(cell)
    claims = []
    for (of, number), cells in by_claim.items():
        claim = (answer.claims if of == ANSWER else answer.reference_claims)[number - 1]
        cited = ", ".join("not given" if at < 0 else str(at + 1) for at in getattr(claim, "citations", ()))
        claims.append(JudgedClaim(of, claim.text, cited, tuple(_text(answer, cell, found.judged) for cell in cells)))
    return JudgedQuestion(answer.query, answer.question, answer.text, correctness, tuple(claims))


def _text(answer: LoggedAnswer, cell: Cell, judged: JudgedCells) -> JudgedText:
    code = judged.label(cell)
    name = str(cell.against)
    if isinstance(cell.against, int):
        own = (answer.passages or ())[cell.against - 1].id
        name += f" ({own})" * (own != name)
    label = "missing" if code == MISSING else LABELS[code]
    return JudgedText(name, label, texts_of(answer, cell)[1], judged.calls.get(cell, ()))
