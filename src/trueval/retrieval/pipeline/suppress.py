"""Suppression: removes near duplicates of a document and excess documents of one source from a list.

Two texts are near duplicates if their sets of word n-grams are similar: Jaccard = shared / all >= a threshold (Broder
1997). Every list is scanned from the top, and a document stays unless it is a near duplicate of a document kept before
it. Among tied documents the one that the run lists first stays; this affects only the order, since their texts are
nearly equal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import InputError, PolicyError
from trueval.rag.document_sources import read_sources
from trueval.retrieval.chunking.chunks import document_of
from trueval.retrieval.fusion.ranked_lists import places_of, rank_lists
from trueval.run import Run

Ints = NDArray[np.int64]

WORD: Final = re.compile(r"\w+")
SHOWN: Final = 3  # maximum number of ids in an error
BLOCK: Final = 512  # documents compared per block


@dataclass(frozen=True, eq=False)
class SuppressedRun:
    """A run without near duplicates or excess documents of a source.

    Attributes:
        run: the kept documents, in their order.
        dropped: query_id, doc_id of the removed documents, and kept, the document kept in place of each.
    """

    run: Run
    dropped: pl.DataFrame


def suppress_duplicates(
    run: Run, texts: Mapping[str, str], *, threshold: float = 0.8, words: int = 5, name: str | None = None
) -> SuppressedRun:
    """Remove documents that are near duplicates of an earlier one.

    Args:
        run: run whose documents all have a text.
        texts: texts by document id.
        threshold: minimum Jaccard similarity of near duplicates, above 0; 1 for texts with equal n-gram sets only.
        words: number of words in an n-gram; a shorter text is one n-gram.
        name: name of the new run; that of the old one if None.

    Raises:
        InputError: documents have no text.
        PolicyError: a threshold or a number of words that cannot be.

    >>> texts = {"a": "Wings lift planes.", "b": "wings LIFT planes", "c": "Heat flows."}
    >>> found = suppress_duplicates(Run.from_dict({"q": {"a": 3.0, "b": 2.0, "c": 1.0}}), texts)
    >>> found.run.documents["doc_id"].to_list(), found.dropped.rows()
    (['a', 'c'], [('q', 'b', 'a')])
    """
    if not 0 < threshold <= 1 or words < 1:
        raise PolicyError(f"threshold must be in (0, 1] and words >= 1. Got {threshold} and {words}.")
    lists = rank_lists(run)
    ids = lists.documents["doc_id"].unique(maintain_order=True)
    places, documents = places_of(lists.documents["doc_id"], ids), ids.to_list()
    lacking = [doc for doc in documents if doc not in texts]
    if lacking:
        shown = ", ".join(map(repr, lacking[:SHOWN]))
        raise InputError(f"{len(lacking)} documents of {run.name} have no text, such as {shown}. Use their own corpus.")
    grams, sizes = _grams([texts[doc] for doc in documents], words)
    kept_for = np.concatenate(
        [
            begin + _first_alike(grams[places[begin:end]], sizes[places[begin:end]], threshold)
            for begin, end in zip(lists.offsets[:-1].tolist(), lists.offsets[1:].tolist(), strict=True)
        ]
    )
    return _build_suppressed_run(run, kept_for, name)


def limit_sources(run: Run, sources: Mapping[str, str], *, most: int, name: str | None = None) -> SuppressedRun:
    """Remove documents of a source (paper, site, file) beyond a maximum number per list.

    Args:
        run: run of any documents; one without a source counts as its own source.
        sources: source by document id.
        most: maximum number of documents of one source in a list.
        name: name of the new run; that of the old one if None.

    Raises:
        PolicyError: most is below 1.

    >>> run = Run.from_dict({"q": {"a": 3.0, "b": 2.0, "c": 1.0}})
    >>> limit_sources(run, {"a": "one", "b": "one", "c": "two"}, most=1).run.documents["doc_id"].to_list()
    ['a', 'c']
    """
    if most < 1:
        raise PolicyError(f"most must be an integer >= 1. Got {most!r}.")
    lists = rank_lists(run)
    ids = lists.documents["doc_id"].to_list()
    frame = pl.DataFrame(
        {"row": np.arange(len(ids)), "list": lists.of_row, "source": [sources.get(doc, f"\0{doc}") for doc in ids]}
    )
    counted = frame.with_columns(
        place=pl.int_range(pl.len()).over("list", "source"), first=pl.col("row").first().over("list", "source")
    )
    row, place, first = (counted[column].to_numpy() for column in ("row", "place", "first"))
    return _build_suppressed_run(run, np.where(place < most, row, first), name)


def sources_of(doc_ids: Sequence[str], file: str | None) -> dict[str, str]:
    """The source of each document: from a file, or the document that a chunk belongs to.

    Args:
        doc_ids: distinct ids.
        file: a document id and its source on each line; None for the ids of `trueval chunk`, DOCUMENT#NUMBER.

    Raises:
        InputError: the file is bad, or no id has a source.
    """
    if file is not None:
        sources = read_sources(Path(file))
        found = {doc: sources[doc] for doc in doc_ids if doc in sources}
    else:
        found = {doc: document for doc in doc_ids if (document := document_of(doc)) is not None}
    if not found:
        told = (
            f"{file}: names no document of the run" if file else "per_source: no id is that of a chunk, DOCUMENT#NUMBER"
        )
        cure = "Name a file with a document id and its source on each line as sources, or leave per_source out."
        raise InputError(f"{told}, such as {doc_ids[0]!r}. {cure}")
    return found


def _grams(texts: Sequence[str], words: int) -> tuple[Any, Ints]:
    """[text, n-gram] sparse occurrence matrix, and [text] number of n-grams."""
    from scipy.sparse import csr_array

    numbers: dict[tuple[str, ...], int] = {}
    columns, ends = list[int](), [0]
    for text in texts:
        found = WORD.findall(text.lower()) or [text]  # punctuation only: only equal texts are similar
        own = {tuple(found[at : at + words]) for at in range(max(len(found) - words, 0) + 1)}
        columns += [numbers.setdefault(gram, len(numbers)) for gram in own]
        ends.append(len(columns))
    shape = (len(texts), max(len(numbers), 1))
    return csr_array((np.ones(len(columns), dtype=np.int64), columns, ends), shape=shape), np.diff(ends)


def _first_alike(grams: object, sizes: Ints, threshold: float) -> Ints:
    """[document] index of the document kept in its place: its own if it is kept.

    Blocks of rows are compared with the kept documents before them, and with themselves: memory grows with the kept
    documents, not with the pairs of a list full of duplicates.
    """
    found = np.arange(len(sizes))
    stays = np.zeros(0, dtype=np.int64)
    for begin in range(0, len(sizes), BLOCK):
        block = np.arange(begin, min(begin + BLOCK, len(sizes)))
        if len(stays):
            later, earlier = _alike(grams, sizes, block, stays, threshold)
            np.minimum.at(found, later, earlier)  # the first kept document; all of these come before the block
        rest = block[found[block] == block]
        later, earlier = _alike(grams, sizes, rest, rest, threshold)
        pairs = earlier < later
        # A removed document removes no others: documents similar only to it are kept.
        order = np.lexsort((earlier[pairs], later[pairs]))
        for one, other in zip(later[pairs][order].tolist(), earlier[pairs][order].tolist(), strict=True):
            if found[one] == one and found[other] == other:
                found[one] = other
        stays = np.concatenate([stays, rest[found[rest] == rest]])
    return found


def _alike(grams: Any, sizes: Ints, some: Ints, others: Ints, threshold: float) -> tuple[Ints, Ints]:
    """The pairs of near duplicates between some documents and others, as two index arrays."""
    shared = (grams[some] @ grams[others].T).tocoo()
    one, other = some[shared.coords[0]], others[shared.coords[1]]
    # Compared as a quotient, since both sides are then rounded alike: 0.55 times 20 is above 11, but 11 / 20 is 0.55.
    alike = shared.data / (sizes[one] + sizes[other] - shared.data) >= threshold
    return one[alike], other[alike]


def _build_suppressed_run(run: Run, kept_for: Ints, name: str | None) -> SuppressedRun:
    lists = rank_lists(run)
    stays = kept_for == np.arange(len(kept_for))
    ids = lists.documents["doc_id"]
    dropped = pl.DataFrame(
        {
            "query_id": lists.query_ids[lists.of_row[~stays]],
            "doc_id": ids.filter(pl.Series(~stays)),
            "kept": ids[kept_for[~stays]],
        }
    )
    return SuppressedRun(replace(lists.only(stays, name or run.name, run.source), empty=run.empty), dropped)
