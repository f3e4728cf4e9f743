"""The estimate of a sweep's answers: calls, tokens and money that they still take; nothing is sent or written.

Of systems whose runs exist the prompts are known, so calls are exact, and answers that two systems share count once. Of
the others only the number of questions is known: prompts are estimated from drawn documents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from trueval.answers.generation.answer_requests import CUT, ENDLESS, questions_to
from trueval.answers.generation.asked_questions import RankedDocument
from trueval.answers.generation.generation_plan import read_references
from trueval.answers.generation.generator_choice import is_served, make_generator
from trueval.golden.build.build import LEDGER, SENT, open_account
from trueval.golden.build.build_estimate import SAMPLED, estimate_stage, longest
from trueval.golden.build.rounds import rng_of
from trueval.golden.judge.judge import ANSWERING, Judge, Question
from trueval.golden.judge.ledger import Ledger, open_existing_ledger
from trueval.golden.judge.model_judge import CAPS
from trueval.models.hosted.account import Account
from trueval.models.missing_work import MissingWork
from trueval.run import Run
from trueval.tradeoff.config.answers_plan import AnsweringGenerator, AnswersPlan
from trueval.tradeoff.config.grid import System
from trueval.tradeoff.config.plan import SweepPlan
from trueval.tradeoff.config.sweep_inputs import SweepInputs
from trueval.tradeoff.runner.asked_system import ask_for, folder_of, generator_hash, questions_of
from trueval.tradeoff.runner.system_store import SystemStore

TIED: Final = (
    "Documents that tie leave several contexts, of which each question has at most {orders}: of systems that are not "
    "made yet nobody knows how many. What answers cost at most counts them all."
)
JUDGING: Final = "The judge of [answers] reads what is answered, so nobody knows yet how many calls it takes."


class AnswersEstimate:
    """Estimates the answers of a sweep.

    Args:
        store: the directory of the sweep.
        account: spending limit of the whole sweep; None for none.

    Raises:
        InputError: the sweep has no directory, or the references are bad.
    """

    def __init__(
        self,
        plan: SweepPlan,
        answers: AnswersPlan,
        inputs: SweepInputs,
        store: SystemStore,
        account: Account | None,
    ) -> None:
        self.plan, self.answers, self.inputs = plan, answers, inputs
        self.folder = folder_of(plan, store)
        self.account = open_account(self.folder / SENT, None)
        self.account.within = account
        self.references = read_references(answers.references)
        self.questions = questions_of(None, inputs, self.references)
        self.notes: list[str] = [] if answers.judge is None else [JUDGING]

    def estimate(self, systems: Mapping[str, System], runs: Mapping[str, Run]) -> list[MissingWork]:
        """The work of each generator.

        Args:
            systems: by run key.
            runs: those that exist, by run key.

        Raises:
            InputError: a generator cannot be made.
        """
        found = []
        every = [(key, each) for key, system in systems.items() for each in system.generators]
        by_generator: dict[str, list[tuple[str, AnsweringGenerator]]] = {}
        for key, each in every:
            by_generator.setdefault(generator_hash(each), []).append((key, each))
        with open_existing_ledger(self.folder / LEDGER) as book:
            for some in by_generator.values():
                work = self._of_generator(some, runs, book)
                found += work
                if any(each.calls for each in work):
                    self._note(some[0][1], exact=all(each.exact for each in work))
        return found

    def _of_generator(
        self, asked_of: Sequence[tuple[str, AnsweringGenerator]], runs: Mapping[str, Run], book: Ledger | None
    ) -> list[MissingWork]:
        """The work of one generator, that differs in K and in the system alone."""
        generator = asked_of[0][1]
        about = ask_for(self.plan, self.answers, self.inputs, generator, "", self.questions)
        judge = make_generator(about.plan, generator.model, about.inputs, self.account)
        known = [question for key, each in asked_of if key in runs for question in self._questions(each, runs[key])]
        found = [estimate_stage(judge, book, ANSWERING, known)]
        found += [self._unknown(judge, book, each) for key, each in asked_of if key not in runs]
        return found if is_served(generator.model) else [replace(each, calls=0) for each in found]

    def _note(self, generator: AnsweringGenerator, *, exact: bool) -> None:
        """What the numbers of calls to a server leave out."""
        endless = all(generator.values[name] is None for name in CAPS)
        tied = not exact and self.answers.orders > 1
        self.notes += [CUT, *[ENDLESS] * endless, *[TIED.format(orders=self.answers.orders)] * tied]

    def _questions(self, generator: AnsweringGenerator, run: Run) -> list[Question]:
        """What a generator is asked of a system whose run exists."""
        questions = questions_of(run, self.inputs, self.references)
        asked = ask_for(self.plan, self.answers, self.inputs, generator, "", questions)
        return questions_to(asked.inputs, asked.requests)

    def _unknown(self, judge: Judge, book: Ledger | None, generator: AnsweringGenerator) -> MissingWork:
        """The work where the run of the system does not exist yet."""
        rng = rng_of(self.plan.measuring.seed, "estimate")
        texts = next(iter(self.inputs.collections.values())).documents
        ids = list(texts)
        calls = len(ask_for(self.plan, self.answers, self.inputs, generator, "", self.questions).requests)
        k = min(generator.k, len(ids))
        drawn = tuple(
            replace(
                each,
                ranked=tuple(
                    RankedDocument(ids[at], -float(rank))
                    for rank, at in enumerate(rng.choice(len(ids), k, replace=False).tolist())
                ),
            )
            for each in self.questions[:SAMPLED]
        )
        asked = ask_for(self.plan, self.answers, self.inputs, generator, "", drawn)
        longest_query = longest((each.text for each in self.questions), 1)[0]
        largest = Question(ANSWERING, longest_query, longest(texts.values(), k))
        examples = questions_to(asked.inputs, asked.requests)
        return estimate_stage(judge, book, ANSWERING, examples, calls, [(calls * self.answers.orders, largest)])
