"""Anchoring: labels are matched to questions and passages by the hashes of their texts, not by ids.

Where a corpus was chunked differently, a label stays with its text under its new id. Where a question was reworded, its
labels no longer apply: they are left out, counted and listed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import polars as pl

from trueval.collection import Collection, text_hash, texts_with_ids_hash
from trueval.errors import InputError
from trueval.golden.build.golden_set import GoldenSet
from trueval.judgments import Judgments
from trueval.report.number_texts import count_phrase

SHOWN: Final = 3  # maximum number of question ids in a message


class AnchoredJudgments(NamedTuple):
    """Judgments transferred to another version of the corpus.

    Attributes:
        judgments: judgments of the documents whose text was judged, for unchanged questions.
        kept: number of judged passages whose text still exists.
        moved: number of these with another id, or several.
        lost: number of judged passages whose text no longer exists.
        reworded: ids of the judged questions whose text has changed.
        left: number of judged passages of these questions; they are in none of the counts above.
        unread: number of judged questions without a text in the collection, whose labels are kept since they cannot be
            checked.
        notes: one-line remarks on the collection.
    """

    judgments: Judgments
    kept: int
    moved: int
    lost: int
    reworded: tuple[str, ...]
    left: int
    unread: int
    notes: tuple[str, ...] = ()

    def sentences(self) -> list[str]:
        """What was carried over, one line per fact."""
        told = [
            f"{self.kept:,} of {self.kept + self.lost:,} judged passages are there word for word, {self.moved:,} of "
            f"them under other ids; {self.lost:,} are lost."
        ]
        if self.reworded:
            told.append(
                f"{in_other_words(self.reworded)}: {count_phrase(self.left, 'label', 'labels')} of the old words "
                f"{'is' if self.left == 1 else 'are'} left out. trueval golden grade has the passages judged for the "
                "new words, or trueval golden build with these queries."
            )
        if self.unread:
            told.append(
                f"{count_phrase(self.unread, 'judged query has', 'judged queries have')} no text in the "
                "collection: nobody "
                "checked that it is asked as it was, and its labels are kept. --queries names another file of queries."
            )
        return told


class CollectionChanges(NamedTuple):
    """Changes of a collection since a golden set was built from it.

    Attributes:
        same: whether documents, ids and order are unchanged.
        passages: number of judged passages, by text and query.
        lost: number of these whose text no document has any more.
        reworded: ids of the judged questions whose text has changed.
    """

    same: bool
    passages: int
    lost: int
    reworded: tuple[str, ...]

    def sentences(self) -> list[str]:
        """One line per change; empty where nothing changed."""
        told = []
        if not self.same:
            told.append(
                f"The corpus is not the one that the golden set was built from: {self.lost:,} of {self.passages:,} "
                "judged passages are not in it any more. trueval golden anchor carries its labels over to the texts "
                "that are still there."
            )
        if self.reworded:
            told.append(
                f"{in_other_words(self.reworded)}, and their labels are of the old ones: put the old words back, or "
                "build the golden set again with these queries. trueval golden build asks about them alone."
            )
        return told


def in_other_words(queries: Sequence[str]) -> str:
    """The beginning of a sentence about questions that were reworded since they were judged.

    >>> in_other_words(["q1", "q2"])
    "2 queries are asked in other words than were judged ('q1', 'q2')"
    """
    shown = ", ".join(map(repr, queries[:SHOWN]))
    more = ", ..." if len(queries) > SHOWN else ""
    return (
        f"{count_phrase(len(queries), 'query is', 'queries are')} asked in other words than were judged ({shown}{more})"
    )


def find_changes(golden: GoldenSet, collection: Collection) -> CollectionChanges:
    """The changes of a collection since a golden set was built from it."""
    judged, reworded = _select_graded_labels(golden), _find_reworded_queries(golden, collection)
    if texts_with_ids_hash(collection.documents) == golden.result.collection.sha256["documents"]:
        return CollectionChanges(True, len(judged), 0, reworded)
    known = _ids_by_text(collection, {each["text"] for each in judged})
    return CollectionChanges(False, len(judged), sum(each["text"] not in known for each in judged), reworded)


def anchor_judgments(golden: GoldenSet, collection: Collection) -> AnchoredJudgments:
    """Transfer judgments to another version of the corpus: a label stays with its question and its text.

    Args:
        golden: golden set whose labels are transferred.
        collection: the new documents, and the queries under their old ids.

    Raises:
        InputError: nothing is judged, every question is asked in other words, or no judged text is in it.
    """
    judged, reworded = _select_graded_labels(golden), _find_reworded_queries(golden, collection)
    if not judged:
        raise InputError(f"{golden.folder}: nothing is judged in this golden set. Build it to the end.")
    asked = [each for each in judged if each["query"] not in reworded]
    if not asked:
        raise InputError(
            f"{collection.source}: {in_other_words(reworded)}, and no other one is judged in {golden.folder}. Name "
            "the queries that were judged, or build the golden set again with these."
        )
    found = _carry_grades(asked, collection)
    if not found.rows:
        raise InputError(
            f"{collection.source}: none of the {len(asked)} judged passages of {golden.folder} is there, word for "
            "word. Was the text changed too, and not the cuts alone? Then judge it anew."
        )
    frame = pl.DataFrame(
        [(query, document, grade) for (query, document), grade in found.rows.items()],
        schema={"query_id": pl.String, "doc_id": pl.String, "grade": pl.Float64},
        orient="row",
    )
    unread = len({each["query"] for each in asked} - set(collection.queries))
    counts = (len(asked) - found.lost, found.moved, found.lost, reworded, len(judged) - len(asked), unread)
    return AnchoredJudgments(Judgments.from_frame(frame), *counts, collection.notes)


def anchor(folder: Path, collection: str, out: Path, *, queries: str | None = None) -> AnchoredJudgments:
    """Write the judgments of a golden set for another version of its corpus; the call behind `trueval golden anchor`.

    Args:
        collection: path of the new documents, and of the queries under their old ids.
        out: output file of the judgments, outside the golden set.
        queries: file of the queries, if not in the collection.

    Raises:
        InputError: as in `GoldenSet.read`, `Collection.read` and `anchor_judgments`, or `out` is in the golden set.
    """
    golden = GoldenSet.read(folder)
    refuse_inside(out, folder)
    found = anchor_judgments(golden, Collection.read(collection, queries=queries))
    found.judgments.write(out)
    return found


def refuse_inside(out: Path, folder: Path) -> None:
    """Refuse to write into a golden set.

    Raises:
        InputError: it is in that folder.
    """
    if out.resolve().parent == folder.resolve():
        raise InputError(f"{out}: is in the golden set, whose files belong together. Name another place.")


class _MovedLabels(NamedTuple):
    rows: Mapping[tuple[str, str], float]
    moved: int
    lost: int


def _carry_grades(judged: Sequence[Mapping[str, Any]], collection: Collection) -> _MovedLabels:
    """The grade of each query and document of the new corpus."""
    known = _ids_by_text(collection, {each["text"] for each in judged})
    rows: dict[tuple[str, str], float] = {}
    moved = lost = 0
    for each in judged:
        ids = known.get(each["text"], [])
        lost += not ids
        moved += bool(ids) and ids != [each["document"]]
        for document in ids:
            # A text that is twice in a pool may have two grades; the higher one is used, as the judge saw the text both
            # times.
            pair = (each["query"], document)
            rows[pair] = max(rows.get(pair, 0.0), float(each["grade"]))
    return _MovedLabels(rows, moved, lost)


def _select_graded_labels(golden: GoldenSet) -> list[Mapping[str, Any]]:
    return [each for each in golden.labels if each["grade"] is not None]


def _find_reworded_queries(golden: GoldenSet, collection: Collection) -> tuple[str, ...]:
    """Judged questions whose text has changed; all of them where labels do not record their questions."""
    asked = {each["query"]: each.get("asked") for each in _select_graded_labels(golden)}
    texts = {query: collection.queries[query] for query in asked if query in collection.queries}
    return tuple(query for query, text in texts.items() if text_hash([text]) != asked[query])


def _ids_by_text(collection: Collection, wanted: set[str]) -> dict[str, list[str]]:
    """Text hash → ids of the documents with that text."""
    found: dict[str, list[str]] = {}
    for document, text in collection.documents.items():
        key = text_hash([text])
        if key in wanted:
            found.setdefault(key, []).append(document)
    return found
