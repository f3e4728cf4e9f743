"""What edits do to the measures of a judge's table: paired differences with intervals, and exact sign tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from trueval.answers.answer import AnswerLog
from trueval.answers.answer_measures import AnswerMeasure
from trueval.answers.claim_measures import Bounds
from trueval.answers.claim_table import MISSING, Cell, ClaimTable, JudgedCells, cells_of
from trueval.answers.evaluate_answers import JudgedLog
from trueval.answers.generation.attribution import bounded_mean, difference
from trueval.answers.generation.dose_response import times
from trueval.answers.validation.answer_stress_result import OWN, AnswerEdit, MeasureShift
from trueval.answers.validation.stressed_answers import BACKWARDS, CLEAN, PEOPLE, StressedAnswers, StressPool
from trueval.comparison.resampling.clusters import QueryUnits
from trueval.comparison.resampling.multiplicity import holm
from trueval.golden.judge.judge import JudgeAnswer
from trueval.golden.validation.robustness import is_below, sign_test
from trueval.standings.standings import Ints

POSITION: Final = "position"
# In the order of the page.
ABOUT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "longer": "claims behind words that add nothing, answers among sentences that say nothing",
        "confident": "claims and answers behind words of certainty",
        "language": "claims and answers behind words in another language",
        "order": "the claims of the whole answer, last one first",
        POSITION: "texts early in the judge's call, against late in it",
        "note in the answer": "a note in claims and answers that tells the judge to support them",
        "note in a passage": "a note in one passage that tells the judge to support every claim",
        OWN: "answers of the judge's own model, against those of others, both against people's labels",
    }
)


class _Sides(NamedTuple):
    """Values of the same answers, or questions, on two sides.

    Attributes:
        clean: measure → [unit] bounds.
        edited: likewise.
        ids: [unit] ids, which name its cluster.
        signed: whether values are from -1 to 1, and not from 0 to 1.
    """

    clean: Mapping[str, Bounds]
    edited: Mapping[str, Bounds]
    ids: Sequence[str]
    signed: bool = False


def find_shifts(
    pool: StressPool, said: Sequence[JudgeAnswer], measures: Sequence[AnswerMeasure], level: float
) -> tuple[AnswerEdit, ...]:
    """What each edit does to each measure, decided for all of them together.

    Args:
        said: [question] answers of the judge, in the order of `pool.questions`.
    """
    labels, rest = dict[str, list[tuple[int, ...]]](), iter(said)
    for trial in pool.trials:
        labels[trial.kind] = [_codes(next(rest), len(each.cells)) for each in trial.asked]
    tables = {trial.kind: _table_of(trial, labels[trial.kind]) for trial in pool.trials}
    logs = {trial.kind: trial.log for trial in pool.trials}
    if BACKWARDS in logs:
        logs[POSITION] = logs.pop(BACKWARDS)
    found = []
    for kind in (each for each in ABOUT if each in logs or (each == OWN and PEOPLE in logs)):
        sides = (
            _of_own_model(pool, logs[PEOPLE], tables[PEOPLE], measures)
            if kind == OWN
            else _of_position(pool, labels, measures)
            if kind == POSITION
            else _of_edit(logs[CLEAN], tables[CLEAN], logs[kind], tables[kind], measures)
        )
        judged = tables[{OWN: PEOPLE, POSITION: BACKWARDS}.get(kind, kind)]
        log = logs[PEOPLE if kind == OWN else kind]
        missing = sum(judged.label(cell) == MISSING for answer in log.answers for cell in cells_of(answer))
        shifts = tuple(_shift(each.name, sides, pool.clusters, level) for each in measures)
        found.append(AnswerEdit(kind, ABOUT[kind], len(log.answers), missing, shifts))
    return _decide(found, level)


def _codes(answer: JudgeAnswer, slots: int) -> tuple[int, ...]:
    return tuple(MISSING if label is None else label.grade - 1 for label in answer.labels or (None,) * slots)


def _table_of(trial: StressedAnswers, labels: Sequence[tuple[int, ...]]) -> JudgedCells:
    return _gather(
        (cell, code)
        for asked, codes in zip(trial.asked, labels, strict=True)
        for cells, code in zip(asked.cells, codes, strict=True)
        for cell in cells
    )


def _gather(labels: Iterator[tuple[Cell, int]]) -> JudgedCells:
    found: dict[Cell, tuple[int, ...]] = {}
    for cell, code in labels:
        found[cell] = (*found.get(cell, ()), code)
    return JudgedCells(found, "")


def _values(log: AnswerLog, judged: JudgedCells, measures: Sequence[AnswerMeasure]) -> dict[str, Bounds]:
    values = JudgedLog(log, judged, ClaimTable.of(log, judged)).values(measures)
    return {name: each.bounds for name, each in values.items()}


def _of_edit(
    log: AnswerLog, judged: JudgedCells, edited: AnswerLog, other: JudgedCells, measures: Sequence[AnswerMeasure]
) -> _Sides:
    """Clean answers against edited ones; those that cannot be edited so are left out."""
    there = {*edited.query_ids}
    some = replace(log, answers=tuple(each for each in log.answers if each.query in there))
    return _Sides(_values(some, judged, measures), _values(edited, other, measures), edited.query_ids)


def _of_position(
    pool: StressPool, labels: Mapping[str, Sequence[tuple[int, ...]]], measures: Sequence[AnswerMeasure]
) -> _Sides:
    """Each label from the call that shows the text late, against that from the call that shows it early.

    The text in the middle of a call is there in both, and has its label of the first.
    """
    clean = pool.trials[0]
    early, late = list[tuple[Cell, int]](), list[tuple[Cell, int]]()
    for asked, first, backwards in zip(clean.asked, labels[CLEAN], labels[BACKWARDS], strict=True):
        last = len(asked.cells) - 1
        for slot, cells in enumerate(asked.cells):
            codes = first[slot], backwards[last - slot]
            before, after = codes if 2 * slot < last else codes[::-1] if 2 * slot > last else codes[:1] * 2
            early += [(cell, before) for cell in cells]
            late += [(cell, after) for cell in cells]
    values = [_values(clean.log, _gather(iter(each)), measures) for each in (late, early)]
    return _Sides(values[0], values[1], clean.log.query_ids)


def _of_own_model(pool: StressPool, log: AnswerLog, judged: JudgedCells, measures: Sequence[AnswerMeasure]) -> _Sides:
    """Judge minus people on answers of the judge's own model, and of others: means over those of each question."""
    people = _values(log, pool.people, measures)
    questions = [each.query.partition("\n")[2] for each in log.answers]
    ids = list(dict.fromkeys(questions))
    own = np.array([each.model.startswith(pool.own) for each in log.answers], dtype=bool)
    place = np.array([ids.index(each) for each in questions], dtype=np.int64)
    sides: tuple[dict[str, Bounds], dict[str, Bounds]] = ({}, {})
    for name, values in _values(log, judged, measures).items():
        added = difference(values, people[name])
        for side, some in zip(sides, (~own, own), strict=True):
            counts = np.bincount(place[some], minlength=len(ids))
            side[name] = Bounds(*(np.bincount(place[some], each[some], len(ids)) / counts for each in added))
    return _Sides(
        *sides, [next(each.query for each in log.answers if each.query.endswith(f"\n{id}")) for id in ids], signed=True
    )


def _shift(measure: str, sides: _Sides, clusters: Mapping[str, str], level: float) -> MeasureShift:
    clean, edited = sides.clean[measure], sides.edited[measure]
    names = [clusters[each] for each in sides.ids]
    numbers = {name: at for at, name in enumerate(dict.fromkeys(names))}
    codes: Ints = np.array([numbers[each] for each in names], dtype=np.int64)
    kept = ~(np.isnan(clean.lowest) | np.isnan(edited.lowest))
    size = 2.0 if sides.signed else 1.0
    change = difference(edited, clean)
    halved = Bounds(change.lowest / size, change.highest / size)
    lifted = lowered = 0
    if kept.any():
        sums = [np.round(QueryUnits.of(codes[kept]).sums(each[kept]), 12) for each in change]
        lifted, lowered = int((sums[0] > 0).sum()), int((sums[1] < 0).sum())
    before, after = (bounded_mean(measure, each, kept, codes, level, signed=sides.signed) for each in (clean, edited))
    return MeasureShift(
        measure=measure,
        clean=before,
        edited=after,
        change=times(bounded_mean(measure, halved, kept, codes, level, signed=True), size),
        lifted=lifted,
        lowered=lowered,
        p=min(1.0, 2 * sign_test(max(lifted, lowered), min(lifted, lowered))),
    )


def _decide(edits: Sequence[AnswerEdit], level: float) -> tuple[AnswerEdit, ...]:
    """Adjust the p-values of all edits and measures together.

    The sign test is conditional on the number of questions that differ, so that those where none does cannot decide,
    and do not count (Tarone 1990).
    """
    tested = [shift for each in edits for shift in each.shifts if shift.lifted or shift.lowered]
    adjusted = dict(zip(map(id, tested), holm(np.array([each.p for each in tested])).tolist(), strict=True))
    found = []
    for each in edits:
        decided = [(shift, adjusted.get(id(shift), 1.0)) for shift in each.shifts]
        shifts = tuple(replace(shift, p_holm=p, moved=is_below(p, level)) for shift, p in decided)
        found.append(replace(each, shifts=shifts))
    return tuple(found)
