"""Generators: a question and passages in, an answer out, with the moment of each of its tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable


class Generation(NamedTuple):
    """What a generator wrote.

    Attributes:
        text: the answer; "" if there is none.
        problem: why there is none; "" if there is. An answer with a problem is not known, and never counts as wrong.
        moments: [token] seconds from sending the question to each token; empty for generators without a model.
        tokens_in: tokens of the prompt; None if not known.
        tokens_out: tokens of the answer; None if not known.
        cost: in the currency of its prices; None if not known.
        model: name of the model, as its server says it.
        seconds: until the answer was whole.
    """

    text: str
    problem: str = ""
    moments: tuple[float, ...] = ()
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    model: str = ""
    seconds: float = 0.0


@runtime_checkable
class Generator(Protocol):
    """The protocol of what answers questions from passages.

    Attributes:
        name: display name in reports.
    """

    name: str

    def identity(self) -> Mapping[str, object]:
        """Everything that determines its answers: model, parameters, prompts; JSON values."""
        ...

    def generate(self, question: str, passages: Sequence[str], sample: int = 0) -> Generation:
        """Answer a question.

        Args:
            passages: texts in the order of the prompt; none for an answer without a context.
            sample: number that distinguishes repetitions.

        Raises:
            InputError: it cannot be asked at all.
        """
        ...
