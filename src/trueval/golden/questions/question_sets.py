"""Sets of judged questions, written or real, with the share of their terms that their passages have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trueval.collection import Collection
from trueval.errors import InputError
from trueval.golden.questions.wording import Wording
from trueval.golden.questions.written_questions import WrittenQuestions
from trueval.judgments import Judgments

RESULT: Final = "questions.json"


@dataclass(frozen=True, eq=False)
class QuestionSet:
    """Judged questions.

    Attributes:
        source: folder or file that they came from.
        overlaps: query id → share of the question's terms that its passages have; empty where texts are not known.
    """

    source: str
    judgments: Judgments
    overlaps: Mapping[str, float]

    @classmethod
    def read(cls, place: str | Path, language: str | None) -> QuestionSet:
        """Read a set of questions.

        Args:
            place: folder of `trueval golden questions`; or a collection with corpus, queries and judgments; or a file
                of judgments alone, whose overlaps are not known.
            language: whose stop words and stems overlaps of a collection are counted by; None for words as they are.

        Raises:
            InputError: it is none of these, or has no judgments.
        """
        path = Path(place)
        if (path / RESULT).is_file():
            return cls._read_folder(path)
        if path.is_file():
            return cls(str(place), Judgments.read(str(place)), {})
        collection = Collection.read(str(place))
        return cls(str(place), collection.graded, _overlaps(collection, language))

    @classmethod
    def _read_folder(cls, folder: Path) -> QuestionSet:
        place = folder / RESULT
        try:
            data = json.loads(place.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{place}: cannot be read ({error}). Write the questions again.") from None
        if not isinstance(data, dict) or data.get("kind") != WrittenQuestions.KIND:
            raise InputError(f"{place}: not the result of trueval golden questions. Name its folder.")
        found = WrittenQuestions.from_dict(data, str(place))
        judgments = found.judgments()
        if judgments is None:
            raise InputError(f"{place}: no question has an answer in the corpus, so no system can be measured on them.")
        overlaps = {each.query: each.overlap for each in found.questions if each.overlap is not None}
        return cls(str(folder), judgments, overlaps)


def _overlaps(collection: Collection, language: str | None) -> dict[str, float]:
    """Mean overlap of each question with its best-graded documents; only of grades above 0, and of texts that exist."""
    wording = Wording.of(language)
    best: dict[str, list[str]] = {}
    top: dict[str, float] = {}
    for query, document, grade in collection.graded.frame.select("query_id", "doc_id", "grade").iter_rows():
        if grade <= 0 or query not in collection.queries or document not in collection.documents:
            continue
        if grade > top.get(query, 0.0):
            top[query], best[query] = grade, []
        if grade == top[query]:
            best[query].append(document)
    found = {}
    for query, documents in best.items():
        shares = [wording.overlap(collection.queries[query], [collection.documents[each]]) for each in documents]
        known = [share for share in shares if share is not None]
        if known:
            found[query] = sum(known) / len(known)
    return found
