"""The result of `trueval golden questions`: written questions with the passages that they come from."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from trueval.golden.validation.robustness_result import CallUsage
from trueval.judgments import Judgments
from trueval.report.result import Result


@dataclass(frozen=True)
class SourcePassage:
    """A passage that a question was written from.

    Attributes:
        document: id.
        copies: ids of other documents with the same text, which answer as well.
        text: as the writer read it.
    """

    document: str
    copies: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class WrittenQuestion:
    """A question.

    Attributes:
        query: id, made of kind, text and documents.
        kind: "one", "several" or "none".
        text: the question.
        answer: as its writer gave it; of kind "none", what the passages lack.
        passages: what it was written from.
        overlap: share of its terms that are in the passages; None for a question of stop words alone.
        requests: how often it was asked for, until it had few enough words of its passages.
        speaks_to_judge: whether a passage seems to address a model rather than a reader.
        call: key of the call in the ledger.
    """

    query: str
    kind: str
    text: str
    answer: str
    passages: tuple[SourcePassage, ...]
    overlap: float | None
    requests: int
    speaks_to_judge: bool
    call: str


@dataclass(frozen=True)
class KindOfQuestions:
    """The questions of one kind.

    Attributes:
        kind: "one", "several" or "none".
        wanted: number that was asked for.
        written: number that is there.
        drawn: number of passages that were drawn.
        declined: passages to which the writer found no question.
        invalid: passages without a valid answer of the writer.
        answered: of kind "none", questions that a passage of the corpus answers by the judge's grades.
        unchecked: of kind "none", questions for which the judge gave no valid grade.
        repeated: questions that were written before from another passage.
        overlap: mean share of terms that are in the passages; None without a question.
        above: questions that kept more of their passages' words than was asked for; None without a limit.
        prompt: name and version of the prompt.
    """

    kind: str
    wanted: int
    written: int
    drawn: int
    declined: int
    invalid: int
    answered: int
    unchecked: int
    repeated: int
    overlap: float | None
    above: int | None
    prompt: str


@dataclass(frozen=True, repr=False)
class WrittenQuestions(Result):
    """Questions that a model wrote from passages of a corpus.

    Attributes:
        corpus: folder or name of the documents.
        judge: name of the model that wrote.
        seed: seed of the passages.
        language: whose stop words and stems overlaps are counted by; None for words as they are.
        most_overlap: limit of the overlap; None without one.
        kinds: counts by kind.
        questions: by kind, in the order in which their passages were drawn.
        usage: usage of the calls, of earlier runs too.
        notes: what a reader must know.
    """

    KIND: ClassVar[str] = "golden-questions"
    FORMAT: ClassVar[int] = 1  # 1: first version

    corpus: str
    judge: str
    seed: int
    language: str | None
    most_overlap: float | None
    kinds: tuple[KindOfQuestions, ...]
    questions: tuple[WrittenQuestion, ...]
    usage: CallUsage
    notes: Sequence[str]

    def queries(self) -> str:
        """The questions as JSON lines, as a collection has its queries, with what is known of them as metadata."""
        rows = (
            {
                "_id": each.query,
                "text": each.text,
                "metadata": {
                    "kind": each.kind,
                    "answer": each.answer,
                    "documents": [passage.document for passage in each.passages],
                },
            }
            for each in self.questions
        )
        return "".join(json.dumps(row) + "\n" for row in rows)

    def judgments(self) -> Judgments | None:
        """Judgments of grade 1 for the passages of each question and their copies; None where there are none.

        A question without an answer in the corpus is not in them: no document is relevant to it.
        """
        grades = {
            each.query: {id: 1.0 for passage in each.passages for id in (passage.document, *passage.copies)}
            for each in self.questions
            if each.kind != "none"
        }
        return Judgments.from_dict(grades) if grades else None

    def files(self) -> dict[str, str | Callable[[Path], object]]:
        """Names of the files of queries and judgments, with their texts or what writes them.

        Judgments are TREC text, or JSON lines where an id of a document has white space in it.
        """
        found: dict[str, str | Callable[[Path], object]] = {"queries.jsonl": self.queries()}
        judgments = self.judgments()
        if judgments is not None:
            spaced = any(len(id.split()) != 1 for id in judgments.frame["doc_id"].unique().to_list())
            found["qrels.jsonl" if spaced else "qrels.trec"] = judgments.write
        return found
