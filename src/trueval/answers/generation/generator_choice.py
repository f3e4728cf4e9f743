"""The generator that a plan names, with its prompts and prices."""

from __future__ import annotations

from typing import Final

from trueval.answers.generation.asked_questions import AskedQuestion, GenerationInputs
from trueval.answers.generation.distractors import with_chatter
from trueval.answers.generation.generation_plan import GenerationPlan
from trueval.answers.generation.generator_judge import GeneratorJudge
from trueval.answers.generation.model_generator import AnswerPrompts, ModelGenerator
from trueval.answers.generation.planted_generators import ExtractiveGenerator, PlantedErrors, PlantedGenerator
from trueval.errors import InputError
from trueval.golden.build.judge_choice import client_settings, prices_of
from trueval.golden.judge.judge import Judge
from trueval.golden.judge.prompt import prompts_for, read_prompt
from trueval.models.generator import Generator
from trueval.models.hosted.account import Account
from trueval.models.local_generator import LocalGenerator, LocalGeneratorSettings

LOCAL: Final = "local:"
EXTRACTIVE: Final = "extractive"
SPANS: Final = "extractive:spans"
PLANTED: Final = "planted"
MOST: Final = 128  # tokens of a local model's answer, unless max_tokens says otherwise


def is_served(model: str) -> bool:
    """Whether a server runs a model, rather than this machine or none at all."""
    return model not in (EXTRACTIVE, SPANS, PLANTED) and not model.startswith(LOCAL)


def make_generator(
    plan: GenerationPlan, model: str, inputs: GenerationInputs, account: Account, own: Generator | None = None
) -> Judge:
    """Make a generator, as the ledger asks it.

    Args:
        model: one of those of [generate].
        own: a generator of the caller, instead.

    Raises:
        InputError: its prompt or price book is bad, or max_cost has no prices to be counted with.
    """
    values = plan.generate
    if own is not None:
        return own if isinstance(own, ModelGenerator) else GeneratorJudge(own)
    abstention = f"{values['abstention']}."
    references = _references(plan, inputs.questions)
    if model in (EXTRACTIVE, SPANS):
        if model == SPANS and not references:
            raise InputError(f"{plan.source}: {SPANS} needs references that answer the questions. Name their file.")
        return GeneratorJudge(ExtractiveGenerator(references if model == SPANS else None, abstention))
    if model == PLANTED:
        errors = PlantedErrors(**values["planted"], seed=plan.asked["seed"])
        right = {question: texts[0] for question, texts in references.items()}
        return GeneratorJudge(PlantedGenerator(right, errors, abstention))
    prompts = AnswerPrompts(read_prompt(values["prompt"], "answer"), read_prompt(values["closed_prompt"], "answer"))
    if model.startswith(LOCAL):
        local = LocalGeneratorSettings(
            model.removeprefix(LOCAL),
            max_tokens=values["max_tokens"] or MOST,
            temperature=values["temperature"] or 0.0,
            top_p=values["top_p"] or 1.0,
            seed=values["seed"] or 0,
            dtype=values["dtype"],
            device=values["device"] or "",
        )
        return GeneratorJudge(LocalGenerator(local, prompts.messages, prompts.hashes))
    prices = prices_of(values, model)
    if account.limit is not None and None in prices:
        raise InputError(
            f"{model}: max_cost is {account.limit:g}, and the prices are not known. Set price_per_million_input and "
            "price_per_million_output in [generate], or a book with both. Nothing was sent."
        )
    return ModelGenerator(client_settings(values, model, prices), prompts_for("grade-1-5"), account, answering=prompts)


def _references(plan: GenerationPlan, questions: tuple[AskedQuestion, ...]) -> dict[str, tuple[str, ...]]:
    """Text of a question, and of it with chatter → its references; questions of the same text have those of both."""
    found: dict[str, tuple[str, ...]] = {}
    for each in questions:
        if each.references:
            for text in {each.text, *with_chatter(each.text, plan.brittle, plan.asked["seed"]).values()}:
                found[text] = (*found.get(text, ()), *each.references)
    return found
