"""Have generators answer among more and more distractors, and say what each of them costs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from trueval.errors import InputError, PolicyError
from trueval.report.number_texts import count_phrase

if TYPE_CHECKING:
    from trueval.answers.answer import Passage
    from trueval.answers.generation.answer_requests import Answered, AnsweredRequests, AnswerRequest, QuestionValue
    from trueval.answers.generation.asked_questions import AskedQuestion, GenerationInputs
    from trueval.answers.generation.brittle_result import (
        BrittleAnswers,
        BrittleGenerator,
        DosePoint,
        DoseSlope,
        HarmThreshold,
        PlaceEffect,
        QuestionUtility,
    )
    from trueval.answers.generation.dose_response import DoseValues
    from trueval.answers.generation.generation_plan import GenerationPlan
    from trueval.models.generator import Generator
    from trueval.models.missing_work import DryRun
    from trueval.retrieval.pipeline.stage_resources import Begin
    from trueval.standings.standings import Ints

# A file of a prompt: kind, place and dose, or gold documents alone; and the repetition.
_LOG: Final = re.compile(r"([a-z-]+-(first|middle|last)-\d+|gold)(-\d+)?\.jsonl")
CHATTER: Final = "chatter"  # as in distractors.py, which a plan alone need not import
FIRST: Final = "first"
MOST_K: Final = 1000  # largest K that a threshold is looked for


class _Prompt(NamedTuple):
    """Which prompt a log has; the dose 0 is the same at each place and of each kind."""

    kind: str
    place: str
    dose: int

    @property
    def log(self) -> str:
        """Name of its log."""
        return f"{self.kind}-{self.place}-{self.dose}" if self.dose else "gold"


def brittle_answers(
    config: GenerationPlan | Path | str,
    out: Path | str,
    *,
    generators: Sequence[Generator] | None = None,
    ledger: Path | None = None,
    max_cost: float | None = None,
    level: float = 0.95,
    begin: Begin | None = None,
) -> BrittleAnswers:
    """Have each generator of a plan answer with gold documents among so many distractors.

    Args:
        config: answers file, or its plan; doses, kinds and places are those of its table [brittle].
        out: folder of the logs, ledger and tables, created if absent; each generator has a folder of its own in it.
        generators: those of the caller, instead of the plan's.
        ledger: file of the ledger; ledger.sqlite of the folder by default.
        max_cost: spending limit of the generators, including earlier runs of the folder; that of the plan by default.
        level: of the intervals.
        begin: called with the name of each stage; the returned function is called with its progress.

    Raises:
        InputError: a file is bad, a model cannot be asked, or the money is spent; what was answered is kept.
        PolicyError: the level is not between 0 and 1.

    >>> brittle_answers("answers.toml", "brittle").slope("gpt-5-mini", "high-scoring").value  # doctest: +SKIP
    """
    from trueval.answers.generation.answer_requests import answer_all, file_name, notes_of
    from trueval.answers.generation.brittle_result import BrittleAnswers, SlopeDifference
    from trueval.answers.generation.dose_response import slope_difference
    from trueval.answers.generation.generate_answers import clusters_of, read_plan

    if not 0 < level < 1:
        raise PolicyError(f"level must be above 0 and below 1. Got {level}.")
    plan, folder = read_plan(config), Path(out)
    inputs = plan.read_inputs()
    requests = _requests(plan, inputs)
    names = plan.generate["model"] if generators is None else [each.name for each in generators]
    if len({file_name(each) for each in names}) < len(names):
        raise InputError("Two generators have the same name, or the same folder by their names. Rename one.")
    codes = clusters_of(inputs.questions)
    found: list[_Answers] = []
    notes: list[str] = []
    for at, name in enumerate(names):
        given = None if generators is None else generators[at]
        answered = answer_all(
            plan, name, inputs, requests, folder, generator=given, ledger=ledger, max_cost=max_cost, begin=begin
        )
        values, said = _value(plan, inputs, answered, folder, begin)
        found.append(_Answers(plan, inputs, name, answered, values, codes, level))
        notes += [each for each in (*notes_of(inputs, answered.answered, plan.measure), *said) if each not in notes]
    differences = [
        SlopeDifference(
            one.answered.name,
            other.answered.name,
            kind,
            slope_difference(kind, one.over_places(kind), other.over_places(kind), codes, level),
        )
        for one, other in combinations(found, 2)
        for kind in plan.brittle["kinds"]
    ]
    return BrittleAnswers(
        judge="" if plan.judge is None else plan.judge.model,
        measure=plan.measure,
        level=level,
        questions=len(inputs.questions),
        gold=sum(bool(each.gold) for each in inputs.questions),
        doses=tuple(sorted(plan.brittle["doses"])),
        generators=tuple(each.result() for each in found),
        differences=tuple(differences),
        notes=(*notes, *_notes(plan, inputs)),
    )


def estimate_brittle(
    config: GenerationPlan | Path | str, out: Path | str, *, ledger: Path | None = None, max_cost: float | None = None
) -> DryRun:
    """Calls, tokens and money that the answers still take; nothing is sent or written.

    Raises:
        InputError: a file is bad.
    """
    from trueval.answers.generation.answer_requests import estimate_answers
    from trueval.answers.generation.generate_answers import read_plan

    plan = read_plan(config)
    inputs = plan.read_inputs()
    requests = _requests(plan, inputs)
    models: tuple[str, ...] = plan.generate["model"]
    return estimate_answers(plan, models, inputs, requests, Path(out), ledger=ledger, max_cost=max_cost)


def _distractors(plan: GenerationPlan, inputs: GenerationInputs) -> Mapping[str, Sequence[str]]:
    from trueval.answers.generation.generation_plan import read_contradicting

    path = plan.brittle["contradicting"]
    return {} if path is None else read_contradicting(path, inputs.documents)


def _finder(
    plan: GenerationPlan, inputs: GenerationInputs
) -> Callable[[AskedQuestion], dict[str, tuple[Passage, ...]]]:
    """From a question to its distractors by kind."""
    from trueval.answers.generation.distractors import BUNDLES, bundle_texts, distractors_by_kind

    brittle = plan.brittle
    contradicting = _distractors(plan, inputs)
    bundles = bundle_texts(brittle["language"]) if BUNDLES in brittle["kinds"] else ()
    return lambda question: distractors_by_kind(
        question,
        inputs.documents,
        brittle["kinds"],
        contradicting,
        max(brittle["doses"]),
        bundles=bundles,
        seed=plan.asked["seed"],
    )


def _requests(plan: GenerationPlan, inputs: GenerationInputs) -> list[AnswerRequest]:
    from trueval.answers.generation.answer_requests import AnswerRequest, passages_of
    from trueval.answers.generation.distractors import with_chatter

    brittle, find = plan.brittle, _finder(plan, inputs)
    found = []
    for question in inputs.questions:
        gold = passages_of(inputs, question.gold[: plan.generate["contexts"]])
        if not gold:
            continue
        prompts = _prompts(brittle, gold, find(question))
        chatter = with_chatter(question.text, brittle, plan.asked["seed"])
        texts = {_Prompt(CHATTER, FIRST, level).log: text for level, text in chatter.items()}
        for name, passages in {**prompts, **dict.fromkeys(texts, gold)}.items():
            for sample in range(plan.generate["samples"]):
                log = name if sample == 0 else f"{name} {sample + 1}"
                found.append(AnswerRequest(question.query, log, passages, sample, text=texts.get(name, "")))
    return found


def _prompts(
    brittle: Mapping[str, Any], gold: tuple[Passage, ...], by_kind: Mapping[str, tuple[Passage, ...]]
) -> dict[str, tuple[Passage, ...]]:
    """Log → passages of the prompt, for each kind, place and dose that the distractors suffice for."""
    from trueval.answers.generation.distractors import place_gold

    found: dict[str, tuple[Passage, ...]] = {}
    for kind, passages in by_kind.items():
        for place in brittle["places"]:
            for dose in brittle["doses"]:
                if dose <= len(passages):
                    found.setdefault(_Prompt(kind, place, dose).log, place_gold(gold, passages[:dose], place))
    return found


def _value(
    plan: GenerationPlan, inputs: GenerationInputs, answered: AnsweredRequests, out: Path, begin: Begin | None
) -> tuple[dict[str, dict[str, QuestionValue]], tuple[str, ...]]:
    """Write the logs of a generator, have them judged, and value them."""
    from trueval.answers.generation.answer_requests import (
        JUDGED,
        file_name,
        judge_logs,
        remove_other_logs,
        value_answers,
        write_logs,
    )

    logs = dict.fromkeys(one.request.log for one in answered.answered)
    folders = {log: log.replace(" ", "-") for log in logs}
    folder = out / file_name(answered.name)
    files = write_logs(inputs, answered.answered, folder, folders=folders)
    tables, notes = judge_logs(plan.judge, files, folder, judging=out / JUDGED, measures=[plan.measure], begin=begin)
    remove_other_logs(folder, _LOG, {*files.values(), *tables.values()})
    return value_answers(plan.measure, files, tables), notes


class _Answers:
    """The answers of one generator, by prompt."""

    def __init__(
        self,
        plan: GenerationPlan,
        inputs: GenerationInputs,
        model: str,
        answered: AnsweredRequests,
        values: Mapping[str, Mapping[str, QuestionValue]],
        codes: Ints,
        level: float,
    ) -> None:
        self.plan, self.model, self.answered, self.codes, self.level = plan, model, answered, codes, level
        self.questions = inputs.questions
        self.doses = np.array(sorted(plan.brittle["doses"]), dtype=np.float64)
        place = {each.query: at for at, each in enumerate(inputs.questions)}
        # Log → [end, question] sums over repetitions, and the number of these: of values, and of abstention.
        self.sums: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]] = {}
        for one in answered.answered:
            name = one.request.log.partition(" ")[0]
            sums = self.sums.setdefault(name, np.zeros((5, len(place))))
            at = place[one.request.query]
            sums[:, at] += (*_bounds(one, values), *_abstention_bounds(one), 1.0)

    def values(self, kind: str, place: str, *, abstained: bool = False) -> DoseValues:
        """Values by dose."""
        from trueval.answers.generation.distractors import chatter_levels
        from trueval.answers.generation.dose_response import DoseValues

        rows = []
        doses = self.doses
        if kind == CHATTER:
            doses = np.array(chatter_levels(self.plan.brittle), dtype=np.float64)
        for dose in doses:
            sums = self.sums.get(_Prompt(kind, place, int(dose)).log)
            if sums is None:
                rows.append(np.full((2, len(self.questions)), np.nan))
                continue
            part = sums[2:4] if abstained else sums[:2]
            with np.errstate(invalid="ignore"):
                rows.append(part / np.where(sums[4] > 0, sums[4], np.nan))
        return DoseValues(doses, np.stack([each[0] for each in rows]), np.stack([each[1] for each in rows]))

    def over_places(self, kind: str, *, abstained: bool = False) -> DoseValues:
        """Values by dose, the mean over places."""
        from trueval.answers.generation.dose_response import mean_of

        places = (FIRST,) if kind == CHATTER else self.plan.brittle["places"]
        return mean_of([self.values(kind, place, abstained=abstained) for place in places])

    def result(self) -> BrittleGenerator:
        """What there is to say of it."""
        from trueval.answers.generation.brittle_result import ALL, BrittleGenerator
        from trueval.answers.generation.token_times import token_times
        from trueval.golden.validation.robustness_result import CallUsage

        usage = self.answered.usage
        points: list[DosePoint] = []
        slopes: list[DoseSlope] = []
        for kind in self.plan.brittle["kinds"]:
            places = self.plan.brittle["places"]
            several = (ALL,) if len(places) > 1 else ()
            for place in several or places if kind == CHATTER else (*several, *places):
                pair = (self._of(kind, place, abstained=False), self._of(kind, place, abstained=True))
                points += self._points(kind, place, *pair)
                slopes.append(self._slope(kind, place, *pair))
        return BrittleGenerator(
            self.answered.name,
            tuple(points),
            tuple(slopes),
            tuple(self._places()),
            tuple(self._threshold(kind) for kind in self.plan.brittle["kinds"]),
            token_times(self.answered.answered, self.level, self.plan.asked["seed"]),
            CallUsage(**{each.name: usage[each.name] for each in fields(CallUsage)}),
            self.model,
            tuple(self._utilities()),
        )

    def _utilities(self) -> Iterator[QuestionUtility]:
        from trueval.answers.generation.brittle_result import QuestionUtility
        from trueval.answers.generation.dose_response import known_slopes

        kinds = {kind: self.over_places(kind) for kind in self.plan.brittle["kinds"]}
        first = next(iter(kinds.values()))
        helps = (first.lowest + first.highest)[int(np.argmin(first.doses))] / 2
        none = np.full(len(self.questions), np.nan)
        by_kind = np.stack([none, *(known_slopes(each) for kind, each in kinds.items() if kind != CHATTER)])
        for at, question in enumerate(self.questions):
            if np.isnan(helps[at]):
                continue
            slopes = by_kind[~np.isnan(by_kind[:, at]), at]
            harms = -float(slopes.mean()) if len(slopes) else None
            yield QuestionUtility(question.query, question.gold, float(helps[at]), harms)

    def _of(self, kind: str, place: str, *, abstained: bool) -> DoseValues:
        from trueval.answers.generation.brittle_result import ALL

        if place == ALL or kind == CHATTER:
            return self.over_places(kind, abstained=abstained)
        return self.values(kind, place, abstained=abstained)

    def _points(self, kind: str, place: str, values: DoseValues, abstained: DoseValues) -> list[DosePoint]:
        from trueval.answers.generation.attribution import bounded_mean
        from trueval.answers.generation.brittle_result import DosePoint

        found = []
        for at, dose in enumerate(values.doses):
            kept = ~np.isnan(values.lowest[at])
            means = [
                bounded_mean(name, each.at(at), kept, self.codes, self.level, signed=False)
                for name, each in ((self.plan.measure, values), ("abstained", abstained))
            ]
            found.append(DosePoint(kind, place, int(dose), *means))
        return found

    def _slope(self, kind: str, place: str, values: DoseValues, abstained: DoseValues) -> DoseSlope:
        from trueval.answers.generation.brittle_result import DoseSlope
        from trueval.answers.generation.dose_response import mean_slope, slopes

        means = [
            mean_slope(name, slopes(each), each.whole, each.doses, self.codes, self.level)
            for name, each in ((self.plan.measure, values), ("abstained", abstained))
        ]
        return DoseSlope(kind, place, *means)

    def _places(self) -> list[PlaceEffect]:
        from trueval.answers.generation.brittle_result import PlaceEffect
        from trueval.answers.generation.dose_response import place_effect

        places = self.plan.brittle["places"]
        return [
            PlaceEffect(
                kind,
                place,
                place_effect(place, self.values(kind, FIRST), self.values(kind, place), self.codes, self.level),
            )
            for kind in self.plan.brittle["kinds"]
            for place in places
            if FIRST in places and place != FIRST and kind != CHATTER
        ]

    def _threshold(self, kind: str) -> HarmThreshold:
        """The least dose that surely harms; intervals hold for all doses at once (Bonferroni)."""
        from trueval.answers.generation.brittle_result import HarmThreshold
        from trueval.answers.generation.dose_response import drop, first_harm

        values = self.over_places(kind)
        doses = values.doses.astype(int).tolist()
        given = [at for at, dose in enumerate(doses) if dose > doses[0]]
        level = 1 - (1 - self.level) / len(given)
        drops = {doses[at]: drop(str(doses[at]), values, at, self.codes, level) for at in given}
        dose = first_harm(drops)
        shown = drops[max(drops) if dose is None else dose]
        k = None if dose is None or kind == CHATTER else largest_k(self.questions, dose)
        return HarmThreshold(kind, dose, shown, k)


def largest_k(questions: Sequence[AskedQuestion], dose: int) -> int | None:
    """The largest K whose lists hold fewer than so many documents without the answer, in the mean over questions.

    Lists that end before K hold what they hold. None if the first document is too many, or no K of the lists is.
    """
    from trueval.answers.generation.distractors import expected_distractors

    with_gold = [each for each in questions if each.gold]
    most = min(max((len(each.ranked) for each in with_gold), default=0), MOST_K)
    means = (
        (k, float(np.mean([expected_distractors(each.ranked, each.gold, k) for each in with_gold])))
        for k in range(1, most + 1)
    )
    first = next((k for k, mean in means if mean >= dose), None)
    return None if first in (None, 1) else int(first or 0) - 1


def _bounds(one: Answered, values: Mapping[str, Mapping[str, QuestionValue]]) -> tuple[float, float]:
    from trueval.answers.generation.answer_requests import UNKNOWN

    found = UNKNOWN if one.generation.problem else values[one.request.log].get(one.request.query, UNKNOWN)
    return found.low, found.high


def _abstention_bounds(one: Answered) -> tuple[float, float]:
    """Whether it abstained: any of both where the answer is not known."""
    return (0.0, 1.0) if one.generation.problem else (float(one.abstained), float(one.abstained))


def _notes(plan: GenerationPlan, inputs: GenerationInputs) -> list[str]:
    from trueval.answers.generation.distractors import HIGH_SCORING, SAME_TOPIC

    found = []
    bare = [each for each in inputs.questions if not each.gold]
    if bare:
        told = count_phrase(len(bare), "question has", "questions have")
        found.append(f"{told} no document judged to hold the answer, such as {bare[0].query!r}: they are left out.")
    find, most = _finder(plan, inputs), max(plan.brittle["doses"])
    made = [(each, find(each)) for each in inputs.questions if each.gold]
    for kind in plan.brittle["kinds"]:
        if kind == CHATTER:
            continue
        short = [question.query for question, by_kind in made if len(by_kind[kind]) < most]
        if short:
            told = count_phrase(len(short), "question has", "questions have")
            found.append(
                f"{told} fewer than {most} {kind} distractors, such as {short[0]!r}: no slope is taken of them."
            )
    pools = [
        (question, passage)
        for question, by_kind in made
        for kind in (HIGH_SCORING, SAME_TOPIC)
        for passage in by_kind.get(kind, ())
    ]
    unjudged = sum(passage.id not in question.judged for question, passage in pools)
    if unjudged:
        told = count_phrase(unjudged, "distractor has", "distractors have")
        found.append(f"{told} no judgment, of {len(pools):,}: some may hold the answer, and harm less.")
    return found
