"""Judges without a model: existing labels with stated errors, and the replay of a ledger.

They answer in the same form as a model and through the same ledger, so that a whole golden set can be tried before
paying for one. Every error is drawn from a hash of the seed and its subject: the same question gets the same answer in
every run, and another sample an independent one.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from trueval.collection import text_hash
from trueval.errors import InputError, PolicyError
from trueval.golden.judge.judge import ANSWERING, NUGGETS, WRITING, JudgeAnswer, JudgeLabel, Question, Task, key_for
from trueval.golden.judge.ledger import Ledger


@dataclass(frozen=True)
class LabelErrors:
    """The error model of a judge, in grades.

    Attributes:
        noise: standard deviation of the error drawn anew for each call and passage.
        persistent: standard deviation of the error drawn once per query and passage, which persists.
        position: bonus of the first slot of a question over the last, linear in between.
        length: bonus of a passage e times as long as 100 words.
        gross: share of grades drawn uniformly from all grades.
        invalid: share of passages without a grade.
        seed: seed of all random draws.
    """

    noise: float = 0.0
    persistent: float = 0.0
    position: float = 0.0
    length: float = 0.0
    gross: float = 0.0
    invalid: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("noise", "persistent"):
            if not 0 <= getattr(self, name) < math.inf:
                raise PolicyError(f"{name} of a judge must be a number of at least 0. Got {getattr(self, name)!r}.")
        for name in ("gross", "invalid"):
            if not 0 <= getattr(self, name) <= 1:
                raise PolicyError(f"{name} of a judge must be from 0 to 1. Got {getattr(self, name)!r}.")


class LabelJudge:
    """A judge that answers from known labels, with added errors.

    Args:
        labels: (query text, passage text) → grade of the rubric.
        errors: its error model; none by default.
        unknown: grade of a pair without a label; None refuses the question.
        name: name in ledgers.
    """

    def __init__(
        self,
        labels: Mapping[tuple[str, str], int],
        errors: LabelErrors = LabelErrors(),
        *,
        unknown: int | None = None,
        name: str = "labels",
    ) -> None:
        self.labels, self.errors, self.unknown, self.name = labels, errors, unknown, name
        pairs = sorted((text_hash(pair), grade) for pair, grade in labels.items())
        self._content = hashlib.sha256(json.dumps(pairs).encode()).hexdigest()

    def count_labels(self, queries: Mapping[str, str], documents: Mapping[str, str]) -> dict[str, int]:
        """Query id → number of its documents with a label.

        Args:
            queries: id → text.
            documents: id → text.
        """
        wanted = {text for _, text in self.labels}
        copies = Counter(text for text in documents.values() if text in wanted)
        by_query = Counter[str]()
        for query, text in self.labels:
            by_query[query] += copies[text]
        return {query: by_query[text] for query, text in queries.items()}

    def identity(self, task: Task) -> Mapping[str, object]:
        """The labels and the error model."""
        return {"model": self.name, "labels": self._content, "errors": asdict(self.errors), "unknown": self.unknown}

    def ask(self, question: Question) -> JudgeAnswer:
        """Answer from the labels.

        Raises:
            InputError: a pair has no label, or other words for a query or a question are asked for.
        """
        if question.task in WRITING:
            raise InputError(f"{self.name}: labels write no questions. Name a model as the judge.")
        if question.task == ANSWERING:
            raise InputError(f"{self.name}: labels answer no questions. Name a generator.")
        if question.task == NUGGETS:
            raise InputError(f"{self.name}: labels write no nuggets. Name a model as the judge.")
        if question.task == "rewrite":
            raise InputError(f"{self.name}: labels know no other words for a query. Choose another rewrite.")
        values = self._values(question)
        if question.task == "order":
            return JudgeAnswer(order=tuple(np.argsort(-values, kind="stable").tolist()), model=self.name)
        grades = np.clip(np.rint(values), 1, 5).astype(int).tolist()
        drawn = self._generator("other", question).random((3, len(grades)))
        chosen = [
            None if lost < self.errors.invalid else JudgeLabel(1 + int(5 * at) if wild < self.errors.gross else grade)
            for grade, lost, wild, at in zip(grades, *drawn.tolist(), strict=True)
        ]
        problems = [f"passage {slot} has no entry" for slot, label in enumerate(chosen, start=1) if label is None]
        return JudgeAnswer(tuple(chosen), problems=tuple(problems), model=self.name)

    def _values(self, question: Question) -> np.ndarray[Any, np.dtype[np.float64]]:
        """[slot] noisy value of each passage in this call."""
        slots = len(question.passages)
        known = np.array([self._grade(question.query, text) for text in question.passages], dtype=np.float64)
        once = np.zeros(slots)
        if self.errors.persistent:
            once = np.array([self._generator("once", question.query, text).normal() for text in question.passages])
        place = np.linspace(0.5, -0.5, slots) if slots > 1 else np.zeros(slots)
        length = np.log([max(1, len(text.split())) / 100 for text in question.passages])
        own = self.errors
        noise = own.noise * self._generator("noise", question).normal(size=slots)
        return known + own.persistent * once + own.position * place + own.length * length + noise

    def _grade(self, query: str, text: str) -> int:
        grade = self.labels.get((query, text), self.unknown)
        if grade is None:
            raise InputError(
                f"{self.name}: there is no label for a passage of {query[:60]!r}, which begins {text[:60]!r}. Judge "
                "what is labeled alone, or say what the others are (unknown)."
            )
        return grade

    def _generator(self, what: str, *about: Any) -> np.random.Generator:
        digest = hashlib.sha256(json.dumps([self.errors.seed, what, *about]).encode()).digest()
        return np.random.default_rng(int.from_bytes(digest[:8], "big"))


class ReplayJudge:
    """A judge that replays a ledger and answers nothing else.

    Args:
        ledger: ledger with the calls.
        name: name of the judge in the ledger.
    """

    def __init__(self, ledger: Ledger, name: str) -> None:
        self.ledger, self.name = ledger, name
        self._identities: dict[str, Mapping[str, object]] = {}
        for call in ledger.calls():
            if call["judge"] == name:
                known = self._identities.setdefault(call["task"], call["identity"])
                if known != call["identity"]:
                    raise InputError(
                        f"{ledger.path}: {name} answered under several prompts or parameters. Export one of them into "
                        "a ledger of its own."
                    )
        if not self._identities:
            raise InputError(f"{ledger.path}: no call of a judge {name!r}. Name one of the ledger's.")

    def identity(self, task: Task) -> Mapping[str, object]:
        """The identity of the recorded judge."""
        return self._identities.get(task, {"model": self.name, "task": task})

    def ask(self, question: Question) -> JudgeAnswer:
        """Answer from the ledger.

        Raises:
            InputError: this was never asked.
        """
        found = self.ledger.find(key_for(self.identity(question.task), question))
        if found is None:
            raise InputError(
                f"{self.ledger.path}: {self.name} was never asked this ({question.task}, {len(question.passages)} "
                f"passages of {question.query[:60]!r}). Ask the judge itself."
            )
        return found
