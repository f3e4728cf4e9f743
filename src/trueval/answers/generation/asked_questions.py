"""Questions with all that their contexts are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from trueval.answers.answer_logs import REFERENCE_KEYS


class RankedDocument(NamedTuple):
    """A document of a list."""

    id: str
    score: float


@dataclass(frozen=True)
class AskedQuestion:
    """A question with all that its contexts are made of.

    Attributes:
        ranked: the system's list, best first; tied documents in the order of the run.
        gold: ids of documents that hold the answer, best grade first; empty if none is judged so.
        judged: ids of documents with a judgment.
        about: what the references say of it, as in the file.
    """

    query: str
    text: str
    ranked: tuple[RankedDocument, ...]
    gold: tuple[str, ...]
    judged: frozenset[str]
    about: Mapping[str, Any]

    @property
    def references(self) -> tuple[str, ...]:
        """Its reference answers."""
        found = next((self.about[name] for name in REFERENCE_KEYS if self.about.get(name)), ())
        return (found,) if isinstance(found, str) else tuple(map(str, found))


@dataclass(frozen=True, eq=False)
class GenerationInputs:
    """What a plan names.

    Attributes:
        questions: with their lists.
        documents: id → text.
        notes: one-line remarks.
    """

    questions: tuple[AskedQuestion, ...]
    documents: Mapping[str, str]
    notes: tuple[str, ...]
