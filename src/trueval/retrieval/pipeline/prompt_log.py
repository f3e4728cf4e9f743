"""Prompts: the top documents of each list as a context log, for a generator and for `trueval evaluate`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from trueval.errors import InputError, PolicyError
from trueval.files.atomic_files import write_whole
from trueval.retrieval.fusion.ranked_lists import RankedLists, rank_lists
from trueval.run import Run


class PromptLog(NamedTuple):
    """Statistics of a context log.

    Attributes:
        contexts: number of lists in it.
        k: maximum number of documents of each.
        inside_ties: number of lists that end inside a tie group, so that omitted documents tie with the last one.
    """

    contexts: int
    k: int
    inside_ties: int

    @property
    def note(self) -> str:
        """The remark on ties at the cut; empty without any."""
        if not self.inside_ties:
            return ""
        return (
            f"{self.inside_ties:,} of {self.contexts:,} contexts end inside a tie: which of the tied documents are "
            f"among the {self.k} is up to the order of the run."
        )


def write_contexts(
    run: Run, k: int, file: Path, queries: Mapping[str, str], documents: Mapping[str, str] | None = None
) -> PromptLog:
    """Write the top documents of each list, one JSON object per line; the file appears once it is complete.

        {"query_id": "q1", "question": "...", "documents": [{"id": "d7", "score": 0.83, "text": "..."}]}

    Args:
        run: run; ties are in the order listed.
        k: number of documents per list.
        queries: texts by id.
        documents: texts by id; None omits them.

    Raises:
        InputError: a query or a document has no text.
        PolicyError: k is below 1.
        OSError: the file cannot be written.
    """
    if k < 1:
        raise PolicyError(f"k of contexts must be an integer >= 1. Got {k!r}.")
    lists = rank_lists(run)

    def write(path: Path) -> None:
        with path.open("wb") as out:
            out.writelines(_rows(lists, k, queries, documents))

    try:
        write_whole(file, write)
    except KeyError as error:
        raise InputError(f"{run.name}: {error} has no text. Use the collection that the run was made from.") from None
    scores, ends = lists.documents["score"].to_numpy(), lists.offsets[:-1] + k
    cut = ends[ends < lists.offsets[1:]]
    return PromptLog(len(lists.query_ids), k, int((scores[cut] == scores[cut - 1]).sum()))


def _rows(
    lists: RankedLists, k: int, queries: Mapping[str, str], documents: Mapping[str, str] | None
) -> Iterator[bytes]:
    for place, query in enumerate(lists.query_ids.to_list()):
        begin = int(lists.offsets[place])
        rows = lists.documents[begin : min(begin + k, int(lists.offsets[place + 1]))].select("doc_id", "score").rows()
        found = [
            {"id": doc, "score": score} | ({} if documents is None else {"text": documents[doc]}) for doc, score in rows
        ]
        yield _line({"query_id": query, "question": queries[query], "documents": found})


def _line(row: Mapping[str, object]) -> bytes:
    try:
        return f"{json.dumps(row, ensure_ascii=False)}\n".encode()
    except UnicodeEncodeError:  # lone surrogates can be written in JSON, but not in UTF-8
        return f"{json.dumps(row)}\n".encode()
