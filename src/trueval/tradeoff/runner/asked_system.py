"""What the generators of a sweep are asked: questions, the contexts that ties leave open, and repetitions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from trueval.answers.generation.answer_requests import AnswerRequest, passages_of
from trueval.answers.generation.asked_questions import AskedQuestion, GenerationInputs, RankedDocument
from trueval.answers.generation.generation_plan import GenerationPlan
from trueval.answers.generation.generator_choice import is_served
from trueval.answers.generation.question_contexts import ContextOrders, context_orders
from trueval.errors import InputError
from trueval.retrieval.fusion.ranked_lists import rank_lists
from trueval.run import Run
from trueval.tradeoff.config.answers_plan import OF_THE_CALL, AnsweringGenerator, AnswersPlan
from trueval.tradeoff.config.grid import GridAxis, System, generator_name
from trueval.tradeoff.config.plan import SweepPlan
from trueval.tradeoff.config.sweep_inputs import SweepInputs
from trueval.tradeoff.runner.system_store import KEY_LENGTH, SystemStore

FOLDER: Final = "answers"


class AskedSystem(NamedTuple):
    """What a generator is asked of a system.

    Attributes:
        plan: as `trueval answers generate` has it.
        orders: query → contexts that ties leave open.
        requests: each order and repetition of each question.
        places: [request] (query, order, sample).
    """

    plan: GenerationPlan
    inputs: GenerationInputs
    orders: Mapping[str, ContextOrders]
    requests: tuple[AnswerRequest, ...]
    places: tuple[tuple[str, int, int], ...]


def folder_of(plan: SweepPlan, store: SystemStore) -> Path:
    """Where the answers of a sweep are kept.

    Raises:
        InputError: the sweep has no directory.
    """
    if store.folder is None:
        raise InputError(f"{plan.source}: answers are paid for, and must be kept. Add --out DIR.")
    return store.folder / FOLDER


def ask_for(
    plan: SweepPlan,
    answers: AnswersPlan,
    inputs: SweepInputs,
    generator: AnsweringGenerator,
    key: str,
    questions: tuple[AskedQuestion, ...],
) -> AskedSystem:
    """What a generator is asked: each order of each context, and what is timed as often as [latency] says.

    Args:
        key: of the answered system.
    """
    seed, latency = plan.measuring.seed, plan.tables["latency"]
    timed = {*inputs.query_ids[: latency["queries"]]}
    again = latency["repeats"] if is_served(generator.model) else 1
    found = GenerationInputs(questions, next(iter(inputs.collections.values())).documents, ())
    orders = {
        each.query: context_orders(each.ranked, generator.k, answers.orders, [seed, each.query]) for each in questions
    }
    requests, places = list[AnswerRequest](), list[tuple[str, int, int]]()
    for query, contexts in orders.items():
        number = 0
        for order, documents in enumerate(contexts.orders):
            passages = passages_of(found, documents)
            samples = generator.values["samples"]
            for sample in range(max(samples, again) if order == 0 and query in timed else samples):
                number += 1
                log = key if number == 1 else f"{key} {number}"
                requests.append(AnswerRequest(query, log, passages, sample, 1 / contexts.possible))
                places.append((query, order, sample))
    asked = GenerationPlan(
        plan.source,
        plan.collection,
        plan.fields,
        {"seed": seed},
        {**generator.values, "contexts": generator.k},
        {},
        answers.judge,
        answers.measures[0],
    )
    return AskedSystem(asked, found, orders, tuple(requests), tuple(places))


def questions_of(
    run: Run | None, inputs: SweepInputs, references: Mapping[str, Mapping[str, object]]
) -> tuple[AskedQuestion, ...]:
    """The questions with a reference, and the list of a run for each; an empty one where it found nothing.

    Args:
        run: None for no lists.
    """
    ranked = {} if run is None else _ranks(run)
    return tuple(
        AskedQuestion(query, inputs.texts[query], ranked.get(query, ()), (), frozenset(), references[query])
        for query in inputs.query_ids
        if has_reference(references.get(query, {}))
    )


def _ranks(run: Run) -> dict[str, tuple[RankedDocument, ...]]:
    lists = rank_lists(run)
    ids, scores = lists.documents["doc_id"].to_list(), lists.documents["score"].to_list()
    ends = lists.offsets.tolist()
    return {
        query: tuple(map(RankedDocument, ids[begin:end], scores[begin:end]))
        for query, begin, end in zip(lists.query_ids.to_list(), ends[:-1], ends[1:], strict=True)
    }


def has_reference(about: Mapping[str, Any]) -> bool:
    """Whether what the references say of a question has an answer."""
    return bool(AskedQuestion("", "", (), (), frozenset(), about).references)


def name_of(system: System, generator: AnsweringGenerator, axes: Sequence[GridAxis]) -> str:
    """Name of an answered system: the system, what differs between generators, and K."""
    told = "" if generator.alone else generator_name(generator, axes)
    return " ".join(filter(None, (generator.system or system.name, told, f"K={generator.k}")))


def answered_key(system: str, generator: AnsweringGenerator) -> str:
    """Key of an answered system.

    Args:
        system: key of the system.
    """
    about = json.dumps([system, generator.k, generator_hash(generator)])
    return hashlib.sha256(about.encode()).hexdigest()[:KEY_LENGTH]


def generator_hash(generator: AnsweringGenerator) -> str:
    """Hash of what a file says of a generator, as far as it decides answers."""
    kept = {name: value for name, value in generator.values.items() if name not in OF_THE_CALL}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:KEY_LENGTH]
