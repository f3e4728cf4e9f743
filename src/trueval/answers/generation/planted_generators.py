"""Generators without a model: extracts from the passages, and planted errors whose chances are known.

They answer in the same form as a model and through the same ledger, so that a whole plan can be tried before paying.
Everything random is drawn from a hash of the seed and its subject: the same question gets the same answer in every run.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from trueval.answers.reference_measures import normalize
from trueval.errors import PolicyError
from trueval.models.generator import Generation
from trueval.retrieval.chunking.sentence_ends import sentence_spans

_WORD = re.compile(r"\w+")


class ExtractiveGenerator:
    """Answers with what stands in a passage, word for word, and cites it.

    With spans, the answer is the first passage's span: texts that answer the question, such as its references; a
    question of which no passage holds a span is not answered. Without spans, it is the sentence that shares most
    words with the question, the earlier of two; a question that shares none with any is not answered.

    Args:
        spans: question → texts that answer it; empty to choose sentences by their words.
        abstention: what it writes where it does not answer.
    """

    def __init__(self, spans: Mapping[str, Sequence[str]] | None = None, abstention: str = "I cannot answer.") -> None:
        self.name = "extractive"
        self.spans, self.abstention = spans or {}, abstention
        pairs = sorted((question, list(texts)) for question, texts in self.spans.items())
        self._content = hashlib.sha256(json.dumps(pairs).encode()).hexdigest()

    def identity(self) -> Mapping[str, object]:
        """Its spans, and what it writes without any."""
        return {"model": self.name, "spans": self._content, "abstention": self.abstention}

    def generate(self, question: str, passages: Sequence[str], sample: int = 0) -> Generation:
        """Answer a question; see Generator.

        >>> found = ExtractiveGenerator().generate("When was it built?", ["It is high. It was built in 1889.", "No."])
        >>> found.text
        'It was built in 1889. [1]'
        """
        found = self._by_span(question, passages) if self.spans else _by_words(question, passages)
        return Generation(found or self.abstention, model=self.name)

    def _by_span(self, question: str, passages: Sequence[str]) -> str:
        for number, passage in enumerate(passages, start=1):
            for span in self.spans.get(question, ()):
                if holds(passage, span):
                    return f"{span.strip()} [{number}]"
        return ""


def holds(passage: str, span: str) -> bool:
    """Whether a passage holds a text, after SQuAD's normalization, at the bounds of words."""
    return bool(normalize(span)) and f" {normalize(span)} " in f" {normalize(passage)} "


def _by_words(question: str, passages: Sequence[str]) -> str:
    asked = {*_WORD.findall(question.lower())}
    best, text = 0, ""
    for number, passage in enumerate(passages, start=1):
        for start, end in sentence_spans(passage):
            sentence = passage[start:end].strip()
            shared = len(asked & {*_WORD.findall(sentence.lower())})
            if shared > best:
                best, text = shared, f"{sentence} [{number}]"
    return text


@dataclass(frozen=True)
class PlantedErrors:
    """What a planted generator does, as chances.

    With r passages that hold the answer among n, it is right with the chance

        (1 - misreads) (1 - distracted)^(n - r) (1 - forgets [all that hold it stand between others])

    and without one it is right with the chance knows (1 - distracted)^n, knows being drawn once for each question.
    Where it is not right, it abstains with the chance `abstains`, and else says what a passage without the answer says,
    or a wrong word.

    Attributes:
        knows: share of questions that it answers without a context.
        misreads: chance that it misses an answer in front of it.
        distracted: chance that a passage without the answer misleads it.
        forgets: chance that it misses an answer that is neither in the first nor in the last passage.
        abstains: chance that it says so where it is not right.
        seed: of everything random.
    """

    knows: float = 0.0
    misreads: float = 0.0
    distracted: float = 0.0
    forgets: float = 0.0
    abstains: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("knows", "misreads", "distracted", "forgets", "abstains"):
            if not 0 <= getattr(self, name) <= 1:
                raise PolicyError(f"{name} of a planted generator must be from 0 to 1. Got {getattr(self, name)!r}.")


class PlantedGenerator:
    """Answers rightly or wrongly with known chances.

    Args:
        answers: question → its right answer; other questions are never answered rightly.
        errors: its chances.
        abstention: what it writes where it abstains.
    """

    def __init__(
        self,
        answers: Mapping[str, str],
        errors: PlantedErrors = PlantedErrors(),
        abstention: str = "I cannot answer.",
        name: str = "planted",
    ) -> None:
        self.name, self.answers, self.errors, self.abstention = name, answers, errors, abstention
        self._content = hashlib.sha256(json.dumps(sorted(answers.items())).encode()).hexdigest()

    def identity(self) -> Mapping[str, object]:
        """Its answers and chances."""
        about = {"answers": self._content, "errors": asdict(self.errors), "abstention": self.abstention}
        return {"model": self.name, **about}

    def chance(self, question: str, passages: Sequence[str]) -> float:
        """The chance of a right answer; 0 for a question that it does not have."""
        right = self.answers.get(question)
        if right is None:
            return 0.0
        own = self.errors
        gold = [at for at, passage in enumerate(passages) if holds(passage, right)]
        led = (1 - own.distracted) ** (len(passages) - len(gold))
        if not gold:
            return led * (self._draw("knows", question) < own.knows)
        middle = gold[0] > 0 and gold[-1] < len(passages) - 1
        return (1 - own.misreads) * led * (1 - own.forgets * middle)

    def generate(self, question: str, passages: Sequence[str], sample: int = 0) -> Generation:
        """Answer a question; see Generator."""
        if self._draw("right", question, *passages, sample) < self.chance(question, passages):
            return Generation(self.answers[question], model=self.name)
        if self._draw("abstains", question, *passages, sample) < self.errors.abstains:
            return Generation(self.abstention, model=self.name)
        right = self.answers.get(question, "")
        other = next((each for each in passages if not holds(each, right)), "a wrong word")
        return Generation(f"{other[:200].strip()}", model=self.name)

    def _draw(self, what: str, *about: object) -> float:
        digest = hashlib.sha256(json.dumps([self.errors.seed, what, *about]).encode()).digest()
        return int.from_bytes(digest[:7], "big") / 2**56
