"""The budget of answers: what their means vary by, and whether more questions, answers or labels buy the most.

The engine is that of `trueval budget`: values y[question, sample, round] of a system, where samples are repeated
answers of its generator and rounds are repetitions of the judge. Both are drawn anew for each question, so neither has
an effect of its own, and the parts are

    questions Q, samples QR, rounds QJ, samples and rounds together QRJ

The variance of the mean is the sum of Q/n, QR/(n r), QJ/(n j) and QRJ/(n r j). Each value is the mean over the orders
of ties that were answered. What one order of them adds is the variance between their means, less what samples explain
of it: s^2 - w/r of r samples with variance w (one-way analysis of variance: Searle, Casella & McCulloch 1992, §3).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trueval.answers.answer import AnswerLog
from trueval.answers.answer_logs import read_answers
from trueval.answers.answer_measures import AnswerMeasure, find_measures
from trueval.answers.claim_table import JudgedCells, cells_of, read_judged
from trueval.answers.evaluate_answers import PLANNED, JudgedLog
from trueval.answers.generation.question_contexts import GOLD, NOISY, NONE, REORDERED, SYSTEM
from trueval.comparison.budget.budget_choices import BudgetChoices
from trueval.comparison.budget.budget_result import Budget
from trueval.comparison.budget.doubt_budget import budget_of_scores
from trueval.errors import InputError
from trueval.evaluation.scores import Scores
from trueval.evaluation.ties import TieSummary
from trueval.judgments import Judgments
from trueval.policy.policy import Policy
from trueval.report.number_texts import count_phrase

if TYPE_CHECKING:
    from trueval.comparison.budget.interval_plan import UnitPrices
    from trueval.standings.standings import Floats

CONTEXTS: Final = (NONE, SYSTEM, GOLD, NOISY, REORDERED)


class _LogFiles(NamedTuple):
    """A log of answers, and its judged table; None without one."""

    log: Path
    table: Path | None


class _SystemValues(NamedTuple):
    """The values of a system.

    Attributes:
        queries: ids of the questions.
        expected: [question, sample, round, measure] values, the mean over orders of ties; NaN if not known.
        ties: [question, measure] variance between orders of ties.
        labels: mean number of labels of an answer in one round.
        notes: one-line remarks.
    """

    queries: tuple[str, ...]
    expected: Floats
    ties: Floats
    labels: float
    notes: tuple[str, ...]


def budget_answers(
    answers: Sequence[Path | str],
    measures: Sequence[str] | None = None,
    *,
    judged: Sequence[Path | str] | None = None,
    baseline: str | None = None,
    level: float = 0.95,
    half_width: float | None = None,
    prices: UnitPrices | None = None,
) -> Budget:
    """Split the variance of means and differences of answers, and plan what to add.

    Args:
        answers: folders of `generate_answers`, of which one is compared by its contexts and several by the answers
            from the system's; or logs of answers.
        measures: names; correctness by default, or token-F1 where nobody judged.
        judged: judged table of each log, in their order; folders have theirs.
        baseline: name of a system or context that the others are compared with; of one folder the system's context.
        level: level of intervals.
        half_width: half width to reach; None for half of the present one.
        prices: prices of questions, labels and answers; None for single purchases without prices.

    Raises:
        InputError: a file is bad, a folder has no answers, or there are fewer than two systems.
        MeasureError: a measure is unknown, or needs a judged table.
        PolicyError: a choice is out of range.

    >>> budget_answers(["generated"]).measures[0].differences[0].shorter  # doctest: +SKIP
    """
    systems = _systems([Path(each) for each in answers], None if judged is None else [Path(each) for each in judged])
    if len(systems) < 2:
        raise InputError(
            f"A budget compares at least two systems or contexts. Got {', '.join(systems) or 'none'}. Name another "
            "folder or log."
        )
    has_tables = all(files.table is not None for each in systems.values() for files in each)
    chosen = find_measures([PLANNED[not has_tables]] if measures is None else measures, judged=has_tables)
    found = {name: _values(files, chosen) for name, files in systems.items()}
    rounds = max(each.expected.shape[2] for each in found.values())
    labels = float(np.mean([each.labels for each in found.values()]))
    first = SYSTEM if baseline is None and len(answers) == 1 and SYSTEM in systems else baseline
    choices = BudgetChoices(first, level, half_width, prices=prices, answer_labels=labels)
    result = budget_of_scores(
        {name: _scores(name, each, chosen, rounds) for name, each in found.items()},
        [Judgments.from_dict({query: {"reference": 1} for query in next(iter(found.values())).queries})] * rounds,
        choices,
        judge_names=[f"round {at}" for at in range(1, rounds + 1)],
    )
    return replace(result, notes=(*result.notes, *_remarks(found, rounds, judged=has_tables)))


def _systems(answers: Sequence[Path], judged: Sequence[Path] | None) -> dict[str, list[_LogFiles]]:
    """Name of a system or context → its logs.

    Raises:
        InputError: a folder has no answers, names are equal, or tables are as many as logs.
    """
    logs = [each for each in answers if not each.is_dir()]
    if judged is not None and len(judged) != len(logs):
        raise InputError(f"A judged table must be given once for each of {len(logs)} logs. Got {len(judged)}.")
    tables = dict(zip(logs, judged or [], strict=False))
    found: dict[str, list[_LogFiles]] = {}
    for place in answers:
        if not place.is_dir():
            parts = {place.stem: [_LogFiles(place, tables.get(place))]}
        elif len(answers) == 1:
            parts = _contexts(place)
        else:
            parts = {place.name: _contexts(place).get(SYSTEM, [])}
        if not all(parts.values()) or not parts:
            raise InputError(f"{place}: it has no {SYSTEM}.jsonl. Name a folder of trueval answers generate, or a log.")
        twice = next((name for name in parts if name in found), None)
        if twice is not None:
            raise InputError(f"Two systems are called {twice!r}. Rename a folder or a log.")
        found |= parts
    return found


def _contexts(folder: Path) -> dict[str, list[_LogFiles]]:
    """Context → logs of its answers in a folder of `generate_answers`."""
    found = {}
    for name in CONTEXTS:
        files = [folder / f"{name}.jsonl", *sorted((folder / "variants").glob(f"{name}-*.jsonl"))]
        logs = [path for path in files if path.is_file() and path.stat().st_size]
        if logs and logs[0] == files[0]:
            tables = [folder / "judged" / path.relative_to(folder) for path in logs]
            found[name] = [
                _LogFiles(path, table if table.is_file() else None) for path, table in zip(logs, tables, strict=True)
            ]
    return found


def _values(files: Sequence[_LogFiles], measures: Sequence[AnswerMeasure]) -> _SystemValues:
    by_order: dict[str, dict[tuple[str, ...], dict[int, Floats]]] = {}  # question → order → sample → [round, measure]
    possible: dict[str, float] = {}
    cells = answers = open = unknown = 0
    for each in files:
        log = read_answers(str(each.log))
        by_round = _by_round(log, each, measures)
        cells += by_round.cells
        answers += len(log.answers)
        open += int((by_round.width > 0).any(axis=(0, 2)).sum())
        unknown += int(np.isnan(by_round.middle).all(axis=(0, 2)).sum())
        for at, (answer, row) in enumerate(zip(log.answers, _rows(each.log), strict=True)):
            order = tuple(passage.id for passage in answer.passages or ())
            sample = row.get("sample", 0)
            samples = by_order.setdefault(answer.query, {}).setdefault(order, {})
            samples[sample if isinstance(sample, int) else 0] = by_round.middle[:, at]
            chance = row.get("chance", 1.0)
            possible[answer.query] = 1 / chance if isinstance(chance, float) and chance > 0 else 1.0
    rounds = max(len(each) for orders in by_order.values() for found in orders.values() for each in found.values())
    size = 1 + max(sample for orders in by_order.values() for found in orders.values() for sample in found)
    expected = np.full((len(by_order), size, rounds, len(measures)), np.nan)
    spread = np.zeros((2, len(by_order), len(measures)))  # between orders, and the part that samples do not explain
    for at, (query, orders) in enumerate(by_order.items()):
        cube = np.full((len(orders), size, rounds, len(measures)), np.nan)
        for place, found in enumerate(orders.values()):
            for sample, values in found.items():
                cube[place, sample, : len(values)] = values
        expected[at] = _nan_mean(cube, 0)
        spread[:, at] = _between_orders(cube, whole=len(orders) >= possible[query] - 0.5)
    mean = spread.mean(axis=1)
    kept = np.divide(np.maximum(mean[1], 0.0), mean[0], out=np.zeros(len(measures)), where=mean[0] > 0)
    notes = []
    if unknown:
        told = count_phrase(unknown, "answer has", "answers have")
        notes.append(f"{files[0].log.stem}: {told} no value, of {answers:,}, and {unknown:,} left out.")
    if open:
        told = count_phrase(open, "answer lacks", "answers lack")
        notes.append(f"{files[0].log.stem}: {told} labels in some round; the middle of their bounds counts.")
    if size == 1 and (spread[0] > 0).any():
        notes.append(
            f"{files[0].log.stem}: each order of ties was answered once, so that what ties add holds what another "
            "answer would change. With samples = 2 in [generate] they are told apart."
        )
    return _SystemValues(tuple(by_order), expected, spread[0] * kept, cells / max(answers, 1), tuple(notes))


class _RoundValues(NamedTuple):
    """The values of a log in each round of the judge.

    Attributes:
        middle: [round, answer, measure] middle of the bounds of each value, NaN if not known.
        width: [round, answer, measure] how wide these are.
        cells: number of cells that a round labels.
    """

    middle: Floats
    width: Floats
    cells: int


def _by_round(log: AnswerLog, files: _LogFiles, measures: Sequence[AnswerMeasure]) -> _RoundValues:
    """The values of a log by the labels of each round of the judge."""
    judged = JudgedCells({}, "")
    if files.table is not None and files.table.stat().st_size:
        judged = read_judged(str(files.table), log)
    rounds = max((len(codes) for codes in judged.labels.values()), default=1)
    ends = np.full((2, rounds, len(log.answers), len(measures)), np.nan)
    for at in range(rounds):
        labels = {cell: codes[at : at + 1] for cell, codes in judged.labels.items() if len(codes) > at}
        values = JudgedLog.of(log, JudgedCells(labels, judged.source)).values(measures)
        for place, measure in enumerate(measures):
            ends[:, at, :, place] = values[measure.name].bounds
    cells = sum(len(list(cells_of(answer, relevance=judged.has_relevance))) for answer in log.answers)
    return _RoundValues(ends.mean(axis=0), np.nan_to_num(ends[1] - ends[0]), cells if files.table is not None else 0)


def _rows(path: Path) -> list[Mapping[str, object]]:
    """The objects of a log, with keys that only `generate_answers` writes."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            row = json.loads(line)
        except ValueError:  # a list over several lines, which no run of ours writes
            return [{}] * len(read_answers(str(path)).answers)
        found += row if isinstance(row, list) else [row]
    return found


def _between_orders(cube: Floats, *, whole: bool) -> tuple[Floats, Floats]:
    """[measure] variance between the means of orders, and that less what samples explain of it.

    Args:
        cube: [order, sample, round, measure] values.
        whole: whether these are all orders, rather than some that were drawn.
    """
    orders, size, _, measures = cube.shape
    if orders < 2:
        return np.zeros(measures), np.zeros(measures)
    by_sample = _nan_mean(cube, 2)
    known = np.nan_to_num(_nan_mean(by_sample, 1), nan=0.0)
    factor = (orders - 1) / orders if whole else 1.0
    between = known.var(axis=0, ddof=1)
    within = np.nan_to_num(np.nanmean(_nan_var(by_sample), axis=0)) / size if size > 1 else np.zeros(measures)
    return between * factor, (between - within) * factor


def _nan_mean(values: Floats, axis: int) -> Floats:
    """Mean of the known values; NaN where none is."""
    there = ~np.isnan(values)
    count = there.sum(axis=axis)
    total = np.where(there, values, 0.0).sum(axis=axis)
    return np.asarray(np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0))


def _nan_var(values: Floats) -> Floats:
    """[order, measure] variance over samples of [order, sample, measure] values; 0 where fewer than two are known."""
    there = ~np.isnan(values)
    count = there.sum(axis=1)
    apart = np.where(there, values - _nan_mean(values, 1)[:, None], 0.0)
    squares = (apart**2).sum(axis=1)
    return np.asarray(np.divide(squares, count - 1, out=np.zeros(squares.shape), where=count > 1))


def _scores(name: str, values: _SystemValues, measures: Sequence[AnswerMeasure], rounds: int) -> list[list[Scores]]:
    """[sample][round] scores of a system; a round that it does not have is not known."""
    sd = np.sqrt(values.ties)
    found = []
    for sample in range(values.expected.shape[1]):
        row = []
        for at in range(rounds):
            there = at < values.expected.shape[2]
            each = values.expected[:, sample, at] if there else np.full_like(values.expected[:, 0, 0], np.nan)
            row.append(
                Scores(
                    name,
                    values.queries,
                    tuple(measure.measure for measure in measures),
                    each,
                    each,
                    each,
                    np.where(sd > 0, np.nan, each),
                    sd,
                    (True,) * len(measures),
                    TieSummary(None, None, ()),
                    (),
                    (),
                    Policy(missing="skip"),
                    values.notes,
                )
            )
        found.append(row)
    return found


def _remarks(found: Mapping[str, _SystemValues], rounds: int, *, judged: bool) -> list[str]:
    notes = []
    once = [name for name, each in found.items() if each.expected.shape[1] == 1]
    if once:
        notes.append(
            f"Samples: {', '.join(once)} answered each question once, so that what another answer would change is "
            "counted with questions. Ask for more: samples = 2 in [generate]."
        )
    if judged and rounds == 1:
        notes.append("Labels: the judge was asked once, so that what another round would change is with questions.")
    if judged:
        notes.append("What another judge, or people, would say is in no part: people's labels correct (--people).")
    return notes
