"""Generate answers from several contexts of each question, and say where their losses come from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from trueval.errors import InputError, PolicyError
from trueval.report.number_texts import count_phrase

if TYPE_CHECKING:
    from trueval.answers.generation.answer_requests import Answered, AnswerRequest, QuestionValue
    from trueval.answers.generation.asked_questions import AskedQuestion, GenerationInputs
    from trueval.answers.generation.attribution import ContextValues
    from trueval.answers.generation.generation_plan import GenerationPlan
    from trueval.answers.generation.generation_result import ContextMean, GeneratedAnswers, TieReach
    from trueval.answers.generation.question_contexts import QuestionContexts
    from trueval.models.generator import Generator
    from trueval.models.missing_work import DryRun
    from trueval.retrieval.pipeline.stage_resources import Begin
    from trueval.standings.standings import Ints

VARIANTS: Final = "variants"
# A file of a context, as in generation_tables.CONTEXTS, or of a variant of it.
_LOG: Final = re.compile(r"(none|system|gold|gold\+distractors|reordered)\.jsonl|variants/[a-z+]+-\d+\.jsonl")
LISTED: Final = 50  # questions with ties that a result holds


def generate_answers(
    config: GenerationPlan | Path | str,
    out: Path | str,
    *,
    generator: Generator | None = None,
    ledger: Path | None = None,
    max_cost: float | None = None,
    level: float = 0.95,
    begin: Begin | None = None,
) -> GeneratedAnswers:
    """Generate answers from the contexts of a plan, judge them, and attribute their losses.

    Args:
        config: answers file, or its plan.
        out: folder of the logs, ledger and tables, created if absent. A context NAME has its answers in NAME.jsonl;
            further orders of ties and repetitions are in variants/NAME-2.jsonl and on.
        generator: that of the caller, instead of the plan's.
        ledger: file of the ledger; ledger.sqlite of the folder by default.
        max_cost: spending limit of the generator, including earlier runs of the folder; that of the plan by default.
        level: of the intervals.
        begin: called with the name of each stage; the returned function is called with its progress.

    Raises:
        InputError: a file is bad, a model cannot be asked, or the money is spent; what was answered is kept.
        PolicyError: the level is not between 0 and 1.

    >>> generate_answers("answers.toml", "generated")["retrieval"].value  # doctest: +SKIP
    """
    from trueval.answers.generation.answer_requests import (
        JUDGED,
        answer_all,
        judge_logs,
        notes_of,
        remove_other_logs,
        value_answers,
        write_logs,
    )
    from trueval.answers.generation.attribution import FIRST_ORDER, context_values, first_order, gap, losses
    from trueval.answers.generation.generation_result import GeneratedAnswers
    from trueval.answers.generation.question_contexts import SYSTEM
    from trueval.answers.generation.token_times import token_times
    from trueval.golden.validation.robustness_result import CallUsage

    if not 0 < level < 1:
        raise PolicyError(f"level must be above 0 and below 1. Got {level}.")
    plan, folder = read_plan(config), Path(out)
    inputs = plan.read_inputs()
    made, requests, folders = _requests(plan, inputs)
    found = answer_all(
        plan,
        _model(plan),
        inputs,
        requests,
        folder,
        generator=generator,
        ledger=ledger,
        max_cost=max_cost,
        begin=begin,
    )
    files = write_logs(inputs, found.answered, folder, folders=folders)
    tables, judged = judge_logs(
        plan.judge, files, folder, judging=folder / JUDGED, measures=[plan.measure], begin=begin
    )
    remove_other_logs(folder, _LOG, {*files.values(), *tables.values()})
    values = value_answers(plan.measure, files, tables)
    by_context: dict[str, list[Answered]] = {name: [] for name in plan.asked["contexts"]}
    for one in found.answered:
        by_context[_context(one.request.log)].append(one)
    queries = [each.query for each in inputs.questions]
    contexts = {name: context_values(answered, values, queries) for name, answered in by_context.items() if answered}
    codes = clusters_of(inputs.questions)
    first = context_values(first_order(by_context.get(SYSTEM, [])), values, queries)
    return GeneratedAnswers(
        generator=found.name,
        judge="" if plan.judge is None else plan.judge.model,
        measure=plan.measure,
        level=level,
        questions=len(queries),
        k=plan.generate["contexts"],
        contexts=tuple(_mean(name, each, by_context[name], codes, level) for name, each in contexts.items()),
        losses=losses({**contexts, FIRST_ORDER: first}, codes, level),
        gap=gap(contexts, codes, level),
        ties=_ties(made, by_context.get(SYSTEM, []), values),
        times=token_times(found.answered, level, plan.asked["seed"]),
        usage=CallUsage(**{each.name: found.usage[each.name] for each in fields(CallUsage)}),
        files={name: path.name for name, path in files.items() if name in contexts},
        tables={name: path.relative_to(folder).as_posix() for name, path in tables.items() if name in contexts},
        notes=(*notes_of(inputs, found.answered, plan.measure), *_notes(plan, inputs, made), *judged),
    )


def estimate_generation(
    config: GenerationPlan | Path | str, out: Path | str, *, ledger: Path | None = None, max_cost: float | None = None
) -> DryRun:
    """Calls, tokens and money that generating still takes; nothing is sent or written.

    Raises:
        InputError: a file is bad.
    """
    from trueval.answers.generation.answer_requests import estimate_answers

    plan = read_plan(config)
    inputs = plan.read_inputs()
    requests = _requests(plan, inputs)[1]
    return estimate_answers(plan, [_model(plan)], inputs, requests, Path(out), ledger=ledger, max_cost=max_cost)


def read_plan(config: GenerationPlan | Path | str) -> GenerationPlan:
    """The plan of an answers file, or the plan itself.

    Raises:
        InputError: as in GenerationPlan.read.
    """
    if not isinstance(config, Path | str):
        return config
    from trueval.answers.generation.generation_plan import GenerationPlan

    return GenerationPlan.read(Path(config))


def _model(plan: GenerationPlan) -> str:
    models: tuple[str, ...] = plan.generate["model"]
    if len(models) > 1:
        raise InputError(
            f"{plan.source}: model in [generate] lists {len(models)} models, and generate asks one. Name one, or run "
            "trueval answers brittle, which compares several."
        )
    return models[0]


def _requests(
    plan: GenerationPlan, inputs: GenerationInputs
) -> tuple[list[QuestionContexts], list[AnswerRequest], dict[str, str]]:
    """The contexts, the requests, and log → file of each log."""
    from trueval.answers.generation.answer_requests import AnswerRequest, passages_of
    from trueval.answers.generation.question_contexts import contexts_of

    asked, generate = plan.asked, plan.generate
    made = [
        contexts_of(
            question,
            asked["contexts"],
            k=generate["contexts"],
            distractors=asked["distractors"],
            orders=asked["orders"],
            seed=asked["seed"],
        )
        for question in inputs.questions
    ]
    requests: list[AnswerRequest] = []
    folders: dict[str, str] = {}
    for each in made:
        for name, contexts in each.by_name.items():
            variants = [(order, sample) for order in contexts.orders for sample in range(generate["samples"])]
            for number, (order, sample) in enumerate(variants, start=1):
                log = name if number == 1 else f"{name} {number}"
                folders[log] = name if number == 1 else f"{VARIANTS}/{name}-{number}"
                passages = passages_of(inputs, order)
                requests.append(AnswerRequest(each.question.query, log, passages, sample, 1 / contexts.possible))
    return made, requests, folders


def _context(log: str) -> str:
    return log.partition(" ")[0]


def clusters_of(questions: Sequence[AskedQuestion]) -> Ints:
    """[question] number of its cluster, where the references name one for each; else each question is its own."""
    from trueval.answers.answer_logs import CLUSTER

    named = [each.about.get(CLUSTER) for each in questions]
    if any(each is None for each in named):
        return np.arange(len(questions))
    return np.unique([str(each) for each in named], return_inverse=True)[1]


def _mean(name: str, values: ContextValues, answered: Sequence[Answered], codes: Ints, level: float) -> ContextMean:
    from trueval.answers.claim_measures import Bounds
    from trueval.answers.generation.attribution import bounded_mean
    from trueval.answers.generation.generation_result import ContextMean

    kept = values.there
    whole = [one for one in answered if not one.generation.problem]
    filled = Bounds(np.where(kept, values.bounds.lowest, 0.0), np.where(kept, values.bounds.highest, 1.0))
    return ContextMean(
        mean=bounded_mean(name, values.bounds, kept, codes, level, signed=False),
        abstained=sum(one.abstained for one in whole) / len(whole) if whole else None,
        answers=len(answered),
        unknown=int((kept & ~values.known).sum()),
        without=int((~kept).sum()),
        all_lowest=float(filled.lowest.mean()),
        all_highest=float(filled.highest.mean()),
        tie_lowest=float(values.least[kept].mean()) if kept.any() else None,
        tie_highest=float(values.most[kept].mean()) if kept.any() else None,
    )


def _ties(
    made: Sequence[QuestionContexts], answered: Sequence[Answered], values: Mapping[str, Mapping[str, QuestionValue]]
) -> TieReach:
    """Questions whose context is a matter of ties, the widest range of values first."""
    from trueval.answers.generation.answer_requests import UNKNOWN
    from trueval.answers.generation.generation_result import TiedContext, TiedQuestion, TieReach
    from trueval.answers.generation.question_contexts import SYSTEM

    by_query: dict[str, dict[tuple[str, ...], list[Answered]]] = {}
    for one in answered:
        context = tuple(each.id for each in one.request.passages)
        by_query.setdefault(one.request.query, {}).setdefault(context, []).append(one)
    several = [each for each in made if SYSTEM in each.by_name and each.by_name[SYSTEM].possible > 1]
    listed, moved = [], 0
    for each in several:
        contexts = []
        for documents, samples in by_query.get(each.question.query, {}).items():
            found = [
                UNKNOWN if one.generation.problem else values[one.request.log].get(one.request.query, UNKNOWN)
                for one in samples
            ]
            low, high = (float(np.mean(ends)) for ends in zip(*((one.low, one.high) for one in found), strict=True))
            text = samples[0].generation.text or samples[0].generation.problem
            contexts.append(TiedContext(documents, samples[0].request.chance, low, high, text))
        if not contexts:
            continue
        # Surely different: one context's greatest value is below another's least.
        moved += max(one.lowest for one in contexts) > min(one.highest for one in contexts)
        ends = min(one.lowest for one in contexts), max(one.highest for one in contexts)
        count = float(each.by_name[SYSTEM].possible)
        listed.append(TiedQuestion(each.question.query, each.question.text, count, *ends, tuple(contexts)))
    listed.sort(key=lambda one: one.lowest - one.highest)
    every = sum(each.by_name[SYSTEM].all for each in several)
    return TieReach(len(several), every, moved, tuple(listed[:LISTED]))


def _notes(plan: GenerationPlan, inputs: GenerationInputs, made: Sequence[QuestionContexts]) -> list[str]:
    from trueval.answers.generation.question_contexts import GOLD, NOISY, SYSTEM, distractors_of

    found = []
    bare = [each.query for each in inputs.questions if not each.gold]
    if bare and {GOLD, NOISY} & {*plan.asked["contexts"]}:
        told = count_phrase(len(bare), "question has", "questions have")
        found.append(
            f"{told} no document judged to hold the answer, such as {bare[0]!r}: losses are over the others, and means "
            "over all questions are bounded."
        )
    short = [each.question.query for each in made if NOISY not in each.by_name and each.question.gold]
    if short and NOISY in plan.asked["contexts"]:
        told = count_phrase(len(short), "question has", "questions have")
        found.append(f"{told} fewer than {plan.asked['distractors']} distractors in the run, such as {short[0]!r}.")
    if NOISY in plan.asked["contexts"]:
        used = [(each, distractors_of(each)[: plan.asked["distractors"]]) for each in inputs.questions]
        unjudged = sum(id not in each.judged for each, ids in used for id in ids)
        if unjudged:
            told = count_phrase(unjudged, "distractor has", "distractors have")
            found.append(f"{told} no judgment, of {sum(len(ids) for _, ids in used):,}: some may hold the answer.")
    drawn = [each for each in made if SYSTEM in each.by_name and not each.by_name[SYSTEM].all]
    if drawn:
        told = count_phrase(len(drawn), "question has", "questions have")
        found.append(
            f"{told} more contexts than {plan.asked['orders']} by ties, such as {drawn[0].question.query!r}: so many "
            "were drawn. Their mean estimates that of all; ranges are of those drawn."
        )
    return found
