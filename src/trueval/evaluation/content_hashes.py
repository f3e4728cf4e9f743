"""Content hashes: hashes of the evaluated data, which tell whether two results are comparable.

A hash is of content, not of bytes: the same rows have the same hash as TREC, CSV or a dict, compressed or not, in any
order.

    rows       sorted by all their columns; every 2^20 of them column by column: texts as lengths and UTF-8,
               numbers as little-endian float64, -0 as 0
    queries    the ids of the evaluated queries, sorted
    policy     its choices as JSON with sorted names; the name of the convention, and a seed that nothing uses, left out
    texts      of documents and of queries: the sum modulo 2^256 of the hashes of (id, title, text), read line by line
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trueval.judgments import Judgments
    from trueval.policy.policy import Policy
    from trueval.run import Run

# Rows hashed at once. Part of the definition of the hash.
ROWS: Final = 2**20
# Documents sorted at once, which fit in the processor's cache.
BLOCK: Final = 2**17
# Content hashes in results, in this order.
NAMES: Final = ("judgments", "queries", "policy", "run", "corpus", "query_texts", "unjudged")


class ContentHashes:
    """Hashes of the data a run was evaluated on; the hash of judgments is computed when first needed.

    Args:
        known: name → hash, and the grade of `unjudged` documents if one was given.
        source: judgments whose hash is not computed yet; None if it is known or the judgments are not available.
    """

    def __init__(self, known: Mapping[str, object], source: Judgments | None = None) -> None:
        self.known, self.source = known, source

    @cached_property
    def all(self) -> dict[str, Any]:
        """All known hashes, by name."""
        made = {} if self.source is None else {"judgments": judgments_hash(self.source)}
        known = {**made, **self.known}
        return {name: known[name] for name in NAMES if known.get(name) is not None}

    def but(self, **known: object) -> ContentHashes:
        """A copy with further hashes."""
        return ContentHashes({**self.known, **known}, self.source)

    def __getstate__(self) -> dict[str, object]:
        """The state to pickle: hashes, without the judgments."""
        return {"known": self.all, "source": None}


def full_content(content: ContentHashes, run: Run, query_ids: Iterable[str], policy: Policy) -> ContentHashes:
    """Add the hashes of queries, policy and run to the known ones.

    Args:
        content: known hashes.
        run: the run as read.
        query_ids: ids of the evaluated queries.
        policy: policy of the evaluation.
    """
    return content.but(queries=queries_hash(query_ids), policy=policy_hash(policy), run=run_hash(run))


def judgments_hash(judgments: Judgments) -> str:
    """The hash of query, document, grade and, where there are facets, facet of every judgment.

    >>> from trueval import Judgments
    >>> one, other = Judgments.from_dict({"q": {"a": 1, "b": 0}}), Judgments.from_dict({"q": {"b": 0, "a": 1}})
    >>> judgments_hash(one) == judgments_hash(other)
    True
    """
    names = ("query_id", "doc_id", "grade", "facet")
    return rows_hash(judgments.frame.select([name for name in names if name in judgments.frame.columns]))


def run_hash(run: Run) -> str:
    """The hash of query, document and score of every row; ranks and the order of rows are left out.

    Queries that were given with an empty list have no row; where there are any, their ids are hashed too.
    """
    ordered = _sort_lists(run)
    rows = rows_hash(run.frame.select("query_id", "doc_id", "score")) if ordered is None else _hash_sorted_rows(ordered)
    if not run.empty:
        return rows
    from trueval.collection import text_hash  # late, as below

    return text_hash([rows, *sorted(run.empty)])


def queries_hash(query_ids: Iterable[str]) -> str:
    """The hash of the ids of queries, independent of their order."""
    from trueval.collection import text_hash  # here and below: late, since most evaluations hash nothing

    return text_hash(sorted(query_ids))


def policy_hash(policy: Policy) -> str:
    """The hash of a policy's choices; equal numbers hash alike: rel=4 in Python and --rel 4, which is read as 4.0."""
    import json

    from trueval.collection import text_hash

    whole = {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in choices_that_matter(policy).items()
    }
    return text_hash([json.dumps(whole, sort_keys=True)])


def choices_that_matter(policy: Policy) -> dict[str, object]:
    """A policy's choices by name, without the name of its convention and without an unused seed."""
    left_out = {"convention"} | ({"seed"} if policy.tie_order != "random" else set())
    return {name: value for name, value in policy.to_dict().items() if name not in left_out}


def collection_hashes(folder: Path) -> dict[str, str]:
    """The hashes of a collection's documents and, where there are any, of the texts of its queries.

    Args:
        folder: folder with corpus.jsonl and optionally queries.jsonl, or with another form of a collection.

    Raises:
        InputError: the corpus is missing, or a line is not a text with an id.
    """
    from trueval.files.texts.text_files import find_parts

    corpus, queries = (find_parts(folder, name).paths for name in ("corpus", "queries"))
    found = {"corpus": _texts_hash(corpus)}
    return found | ({"query_texts": _texts_hash(queries)} if queries[0].exists() else {})


def _texts_hash(paths: Sequence[Path]) -> str:
    """The hash of the texts in files, read line by line."""
    from trueval.collection import text_hash
    from trueval.files.texts.text_row import join_fields
    from trueval.files.texts.text_rows import read_rows

    total = 0
    for row in read_rows(paths, ("title", "text")):
        parts = [row.id, join_fields(row.values, ("title",)), join_fields(row.values, ("text",))]
        total += int(text_hash(parts), 16)
    return f"{total % 2**256:064x}"


def rows_hash(frame: pl.DataFrame) -> str:
    """The SHA-256 of rows, independent of their order.

    Args:
        frame: columns of texts and numbers without nulls.
    """
    return _hash_sorted_rows(frame.sort(frame.columns))


def _hash_sorted_rows(ordered: pl.DataFrame) -> str:
    """The SHA-256 of rows that are sorted by all their columns."""
    import hashlib

    digest = hashlib.sha256(" ".join(ordered.columns).encode())
    for start in range(0, ordered.height, ROWS):
        for column in ordered.slice(start, ROWS).iter_columns():
            if column.dtype == pl.String:
                digest.update(column.str.len_bytes().to_numpy().astype("<u4").tobytes())
                digest.update(str(column.str.join("").item()).encode())
            else:
                digest.update((column.to_numpy().astype("<f8") + np.float64(0.0)).tobytes())  # + 0: no minus zero
    return digest.hexdigest()


def _sort_lists(run: Run) -> pl.DataFrame | None:
    """Sort a run's rows by query and document, list by list and as numbers, in a third of the time of a plain sort.

    Returns:
        query_id, doc_id, score; None where documents of one list cannot be told apart by `_words`.
    """
    lists = run.query_ids.arg_sort().to_numpy()
    begins, sizes = run.offsets[lists], np.diff(run.offsets)[lists]
    targets, words = sizes.cumsum() - sizes, _words(run.documents["doc_id"])
    order = np.empty(len(words), dtype=np.int64)
    for some in _of_one_size(sizes):
        inside = np.arange(sizes[some[0]])
        rows = begins[some, None] + inside
        given = words[rows]
        places = given.argsort(axis=1)
        ranked = np.take_along_axis(given, places, axis=1)
        if bool((ranked[:, 1:] == ranked[:, :-1]).any()):
            return None
        order[targets[some, None] + inside] = np.take_along_axis(rows, places, axis=1)
    queries = run.query_ids.gather(lists.repeat(sizes)).alias("query_id")
    return run.documents[order].select(queries, "doc_id", "score")


def _of_one_size(sizes: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Split lists into groups of equal length, of about BLOCK documents each."""
    order = sizes.argsort(kind="stable")
    for alike in np.split(order, np.flatnonzero(np.diff(sizes[order])) + 1):
        count = max(1, BLOCK // max(1, int(sizes[alike].max(initial=1))))
        yield from (alike[start : start + count] for start in range(0, len(alike), count))


def _words(texts: pl.Series) -> NDArray[np.uint64]:
    """The eight bytes of each text after their common prefix, as numbers: in the order of the texts, or equal.

    >>> _words(pl.Series(["d10", "d9", "d1"])).argsort().tolist()
    [2, 0, 1]
    """
    first, last = (str(text or "").encode() for text in (texts.min(), texts.max()))
    shared = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))))
    lengths = texts.str.len_bytes().to_numpy().astype(np.int64)
    data = str(texts.str.join("").item()).encode() + bytes(8)
    every = np.ndarray(len(data) - 7, dtype=">u8", buffer=data, strides=(1,))  # the word that begins at each byte
    words: NDArray[np.uint64] = every[lengths.cumsum() - lengths + shared].astype(np.uint64)
    behind = 8 * (8 - np.minimum(lengths - shared, 8)).astype(np.uint64)  # bits of the next text
    words >>= behind
    words <<= behind
    return words
