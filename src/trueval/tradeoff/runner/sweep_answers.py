"""Answers of a sweep: each generator answers from the first K documents of each system, judged and timed end to end.

An answered system is a system, K and a generator; it has one configuration. Its quality is that of the answers: the
mean over the contexts that ties leave open, lowest and highest over these and over what is not known. Its latency is
that of all stages of retrieval and of the whole answer, its cost that of retrieval and of the tokens of its answers.

    answers/ledger.sqlite   every answer, before it is used: the same command asks nothing twice
    answers/sent.jsonl      what each call cost
    answers/KEY.jsonl       answers of an answered system; further orders of ties and repetitions in variants/
    answers/judged/         what the judge of [answers] said of them, with its ledger
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, sqrt
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from trueval.answers.generation.answer_requests import (
    JUDGED,
    UNKNOWN,
    Answered,
    QuestionValue,
    answer_all,
    judge_logs,
    notes_of,
    value_answers,
    write_logs,
)
from trueval.answers.generation.asked_questions import AskedQuestion
from trueval.answers.generation.generate_answers import VARIANTS
from trueval.answers.generation.generation_plan import read_references
from trueval.answers.generation.generator_choice import is_served, make_generator
from trueval.errors import InputError
from trueval.golden.build.build import SENT, open_account
from trueval.models.generator import Generation
from trueval.models.hosted.account import Account, NoMoneyError
from trueval.numerics import or_null
from trueval.report.json_fields import decode
from trueval.report.number_texts import count_phrase
from trueval.retrieval.pipeline.stage_resources import Begin
from trueval.tradeoff.config.answers_plan import AnsweringGenerator, AnswersPlan
from trueval.tradeoff.config.grid import GridAxis, Reason, System, generator_axes, generator_name
from trueval.tradeoff.config.plan import SweepPlan
from trueval.tradeoff.config.sweep_inputs import SweepInputs
from trueval.tradeoff.quality.quality import ContextQuality, RunQuality, mean_intervals
from trueval.tradeoff.quality.quality_settings import QualitySettings
from trueval.tradeoff.runner.asked_system import (
    FOLDER,
    AskedSystem,
    answered_key,
    ask_for,
    folder_of,
    generator_hash,
    has_reference,
    name_of,
    questions_of,
)
from trueval.tradeoff.runner.measured_sweep import MeasuredSystem
from trueval.tradeoff.runner.sweep_result import FirstToken, SweepResult, SystemAnswers
from trueval.tradeoff.runner.system_builder import one_line
from trueval.tradeoff.runner.system_store import SystemStore
from trueval.tradeoff.runner.timing import NOTHING, SystemTimes, Timer

_log = logging.getLogger(__name__)

FIRST, OTHERS, WHOLE = "first token", "other tokens", "answer"
QUERIES: Final = 1_000  # that a cost is of


class AnsweredSystems(NamedTuple):
    """What became of the answers.

    Attributes:
        systems: answered systems, in the order of the systems, their generators and K.
        failed: those of which the generator could not be asked.
        notes: one-line remarks.
    """

    systems: tuple[MeasuredSystem, ...]
    failed: tuple[Reason, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Pending:
    """An answered system before its answers are judged."""

    measured: MeasuredSystem
    generator: AnsweringGenerator
    name: str
    key: str
    asked: AskedSystem
    answered: tuple[Answered, ...]
    files: Mapping[str, Path]

    @property
    def by_question(self) -> dict[str, dict[int, list[Answered]]]:
        """Query → order → its repetitions."""
        found: dict[str, dict[int, list[Answered]]] = {}
        for (query, order, _), one in zip(self.asked.places, self.answered, strict=True):
            found.setdefault(query, {}).setdefault(order, []).append(one)
        return found


@dataclass(frozen=True, eq=False)
class SweepAnswering:
    """Has the generators of a sweep answer from its systems.

    Args:
        store: the directory of the sweep.
        account: spending limit of the whole sweep; None for none.
        priced: whether anything of the sweep has a price.
    """

    plan: SweepPlan
    answers: AnswersPlan
    inputs: SweepInputs
    store: SystemStore
    account: Account | None
    begin: Begin
    priced: bool

    @property
    def folder(self) -> Path:
        """Where answers are kept.

        Raises:
            InputError: the sweep has no directory.
        """
        return folder_of(self.plan, self.store)

    def check(self) -> None:
        """Refuse generators that cannot be made, before hours of work.

        Raises:
            InputError: the sweep has no directory, the references or a prompt are bad, or a limit has no prices to be
                counted with.
        """
        references = read_references(self.answers.references)
        questions = questions_of(None, self.inputs, references)
        if not questions:
            raise InputError(
                f"{self.answers.references}: no question of the sweep has a reference there. Questions are called "
                f"{self.inputs.query_ids[:3]}; are the ids the same?"
            )
        account = open_account(self.folder / SENT, None)
        account.within = self.account
        for generator in {generator_hash(each): each for one in self.plan.systems for each in one.generators}.values():
            asked = ask_for(self.plan, self.answers, self.inputs, generator, "", questions)
            make_generator(asked.plan, generator.model, asked.inputs, account)

    def answer(self, systems: Sequence[MeasuredSystem], timer: Timer) -> AnsweredSystems:
        """Ask, judge and measure; answers that are there are not asked for again.

        Args:
            systems: measured and timed.

        Raises:
            InputError: the references are bad, the money is spent, or the judge cannot be asked; what was answered is
                kept.
        """
        references = read_references(self.answers.references)
        axes = generator_axes(self.plan.systems)
        pending, failed = list[_Pending](), list[Reason]()
        for each in systems:
            questions = self._read_questions(each, references)
            for generator in each.system.generators:
                name = name_of(each.system, generator, axes)
                key = answered_key(each.key, generator)
                try:
                    pending.append(self._ask(each, generator, name, key, questions))
                except NoMoneyError:
                    raise
                except InputError as error:  # a server that is down must not stop the others
                    _log.error("%s failed", name, exc_info=True)
                    failed.append(Reason(name, one_line(error), key))
        files = {log: path for each in pending for log, path in each.files.items()}
        tables, notes = judge_logs(
            self.answers.judge,
            files,
            self.folder,
            judging=self.folder / JUDGED,
            measures=self.answers.measures,
            within=self.account,
            begin=self.begin,
        )
        values = {name: value_answers(name, files, tables) for name in self.answers.measures}
        found = tuple(self._measure(each, values, timer, tables.get(each.key)) for each in pending)
        return AnsweredSystems(found, tuple(failed), (*self._omissions(references), *_crowds(found, pending), *notes))

    def _read_questions(
        self, measured: MeasuredSystem, references: Mapping[str, Mapping[str, object]]
    ) -> tuple[AskedQuestion, ...]:
        kept = self.store.read(measured.key)
        if kept is None:
            raise InputError(f"{self.store.about(measured.key)} is gone. Run the same command again.")
        return questions_of(kept[1], self.inputs, references)

    def _ask(
        self,
        measured: MeasuredSystem,
        generator: AnsweringGenerator,
        name: str,
        key: str,
        questions: tuple[AskedQuestion, ...],
    ) -> _Pending:
        asked = ask_for(self.plan, self.answers, self.inputs, generator, key, questions)
        found = answer_all(
            asked.plan,
            generator.model,
            asked.inputs,
            asked.requests,
            self.folder,
            within=self.account,
            begin=lambda stage: self.begin(f"{name}: {stage}"),
        )
        logs = dict.fromkeys(one.log for one in asked.requests)
        files = write_logs(asked.inputs, found.answered, self.folder, folders={log: _file(log) for log in logs})
        return _Pending(measured, generator, name, key, asked, found.answered, files)

    def _omissions(self, references: Mapping[str, Mapping[str, object]]) -> list[str]:
        lacking = [query for query in self.inputs.query_ids if not has_reference(references.get(query, {}))]
        if not lacking:
            return []
        told = count_phrase(len(lacking), "question has", "questions have")
        return [f"{told} no reference, such as {lacking[0]!r}: not answered, and in no value of answers."]

    def _measure(
        self,
        pending: _Pending,
        values: Mapping[str, Mapping[str, Mapping[str, QuestionValue]]],
        timer: Timer,
        table: Path | None,
    ) -> MeasuredSystem:
        """An answered system as the sweep measures systems."""
        measured, generator, answered = pending.measured, pending.generator, pending.answered
        at = next(each for each in measured.qualities.at if each.k == generator.k)
        rows = pl.concat([_rows(name, pending, of) for name, of in values.items()])
        of_answers = {name: _mean(rows.filter(measure=name), self.plan.measuring) for name in values}
        names = (*values, *at.measures)
        lists = measured.qualities.rows.filter(pl.col("measure").is_in(list(at.measures)))
        quality = ContextQuality(generator.k, {**of_answers, **at.measures}, next(iter(values)), None, at.judged, None)
        kept = notes_of(pending.asked.inputs, answered, self.answers.measures[0])
        timed = self._time(pending, timer)
        whole = [one for one in answered if not one.generation.problem]
        tokens = _known_mean([one.generation.tokens_in for one in answered])
        spent = measured.spent._replace(
            prompts={generator.k: measured.spent.prompts[generator.k] if tokens is None else tokens},
            costs={generator.k: self._cost(pending, measured.spent.costs[generator.k])},
        )
        return replace(
            measured,
            system=replace(
                measured.system,
                name=pending.name,
                method=_method(measured.system, generator, generator_axes(self.plan.systems)),
                contexts=(generator.k,),
                values={**measured.system.values, **_axis_values(generator, generator_axes(self.plan.systems))},
            ),
            key=pending.key,
            qualities=RunQuality(
                (quality,),
                pl.concat([rows, lists.select(rows.columns)]),
                (names,),
                measured.qualities.ties,
                (*measured.qualities.notes, *(f"{pending.name}: {note}" for note in kept)),
            ),
            spent=spent,
            timed=timed,
            answers=SystemAnswers(
                retrieval=measured.key,
                generator=generator_hash(generator),
                model=generator.model,
                k=generator.k,
                file=f"{FOLDER}/{pending.key}.jsonl",
                table=None if table is None else table.relative_to(self.folder.parent).as_posix(),
                questions=len(pending.asked.orders),
                answers=len(answered),
                unknown=len(answered) - len(whole),
                abstained=sum(one.abstained for one in whole) / len(whole) if whole else None,
                tokens_in=tokens,
                tokens_out=_known_mean([one.generation.tokens_out for one in answered]),
                first=None if timed.first is None else decode(FirstToken, timed.first, SweepResult.KIND),
            ),
        )

    def _time(self, pending: _Pending, timer: Timer) -> SystemTimes:
        """Latency end to end: that of the stages of retrieval, then of the answer."""
        kept = timer.read(pending.measured.key)
        if kept is None or pending.measured.timed.latency is None:
            return NOTHING
        about, samples = kept
        repetitions = {query: found[0] for query, found in pending.by_question.items()}
        generations = [
            None if query not in repetitions else repetitions[query][repeat % len(repetitions[query])].generation
            for query, repeat in samples.select("query_id", "repeat").iter_rows()
        ]
        whole = pl.Series([each is not None and not each.problem for each in generations], dtype=pl.Boolean)
        stages = _stages([each for each, there in zip(generations, whole, strict=True) if each is not None and there])
        first = about["stages"][0]  # each query and repetition is there once in each stage of retrieval
        once = [
            (row, each)
            for row, each, there in zip(samples.iter_rows(named=True), generations, whole, strict=True)
            if there and each is not None and row["stage"] == first
        ]
        parts = [samples.filter(whole)]
        for stage, seconds in stages.items():
            rows = [{**row, "stage": stage, "seconds": seconds(each)} for row, each in once]
            parts.append(pl.DataFrame(rows, schema=samples.schema))
        found = {**about, "stages": [*about["stages"], *stages], "loads": []}
        return timer.keep(pending.key, found, pl.concat(parts), first=FIRST if FIRST in stages else None)

    def _cost(self, pending: _Pending, retrieval: Mapping[str, float | None]) -> dict[str, float | None]:
        """Cost of 1,000 queries: retrieval, and each question's mean over its answers."""
        if not self.priced:
            return dict.fromkeys(("rerank", "embed", "generator", "total"))
        generator: float | None = 0.0
        if is_served(pending.generator.model):
            means = [
                _known_mean([one.generation.cost for some in orders.values() for one in some])
                for orders in pending.by_question.values()
            ]
            generator = None if None in means or not means else QUERIES * fsum(filter(None, means)) / len(means)
        parts = {**retrieval, "generator": generator}
        parts.pop("total")
        known = [each for each in parts.values() if each is not None]
        return {**parts, "total": fsum(known) if len(known) == len(parts) else None}


def _crowds(systems: Sequence[MeasuredSystem], pending: Sequence[_Pending]) -> Iterator[str]:
    """A remark where answers were timed while others were under way."""
    timed = [each for each, of in zip(pending, systems, strict=True) if of.timed.latency]
    served = [each.generator.values["concurrency"] for each in timed if is_served(each.generator.model)]
    if max(served, default=1) > 1:
        yield (
            f"Answers were timed with up to {max(served)} calls at once. For times of one query at a time set "
            "concurrency = 1 in [generate] before the first run."
        )


def _file(log: str) -> str:
    """File of a log, without suffix."""
    key, _, number = log.partition(" ")
    return f"{VARIANTS}/{key}-{number}" if number else key


def _axis_values(generator: AnsweringGenerator, axes: Sequence[GridAxis]) -> dict[str, Any]:
    return {each.key: generator.axes[each.key] for each in axes}


def _method(system: System, generator: AnsweringGenerator, axes: Sequence[GridAxis]) -> str:
    """The method of an answered system; jitter is pooled, and points are colored, by method."""
    return " ".join(filter(None, (system.method, generator_name(generator, axes))))


def _rows(measure: str, pending: _Pending, values: Mapping[str, Mapping[str, QuestionValue]]) -> pl.DataFrame:
    """Values of the questions; as RunQuality.rows."""
    columns: dict[str, list[Any]] = {name: [] for name in ("query_id", "expected", "lowest", "highest", "sd")}
    for query, orders in pending.by_question.items():
        ends = np.array([_ends(query, some, values) for some in orders.values()])  # [order, end]
        middle = ends.mean(axis=1)
        row = (query, middle.mean(), ends[:, 0].min(), ends[:, 1].max(), middle.std())
        for name, value in zip(columns, row, strict=True):
            columns[name].append(value)
    found = pl.DataFrame(columns, schema={"query_id": pl.String, **dict.fromkeys(list(columns)[1:], pl.Float64)})
    return found.select("query_id", pl.lit(measure).alias("measure"), "expected", "lowest", "highest", "sd")


def _ends(
    query: str, repetitions: Sequence[Answered], values: Mapping[str, Mapping[str, QuestionValue]]
) -> tuple[float, float]:
    """Least and greatest value of a context, the means over its repetitions."""
    found = [UNKNOWN if one.generation.problem else values[one.request.log].get(query, UNKNOWN) for one in repetitions]
    return fsum(each.low for each in found) / len(found), fsum(each.high for each in found) / len(found)


def _mean(rows: pl.DataFrame, measuring: QualitySettings) -> dict[str, Any]:
    """The mean over questions; as ContextQuality.measures."""
    expected = rows["expected"].to_numpy()
    if not len(expected):
        return {**dict.fromkeys(("expected", "lowest", "highest", "range", "sd", "low", "high")), "queries": 0}
    low, high = mean_intervals(expected[:, None], measuring)[0].clip(0, 1).tolist()  # NaN stays
    lowest, highest = (float(rows[name].to_numpy().mean()) for name in ("lowest", "highest"))
    return {
        "expected": float(expected.mean()),
        "lowest": lowest,
        "highest": highest,
        "range": highest - lowest,
        "sd": sqrt(fsum(rows["sd"].to_numpy() ** 2)) / len(expected),
        "queries": len(expected),
        "low": or_null(low),
        "high": or_null(high),
    }


def _stages(generations: Sequence[Generation]) -> dict[str, Callable[[Generation], float]]:
    """Stage → its seconds: the first token and the others where all answers were streamed, else the answer."""
    if generations and all(each.moments for each in generations):
        return {FIRST: lambda each: each.moments[0], OTHERS: lambda each: each.seconds - each.moments[0]}
    return {WHOLE: lambda each: each.seconds}


def _known_mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fsum(known) / len(known) if known else None
