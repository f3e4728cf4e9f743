"""Calls: search an index past the cut until the tie group ends, and repeat the same call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import InputError, TruevalError
from trueval.numerics import round_to
from trueval.report.number_texts import count_phrase
from trueval.retrieval.fusion.ranked_lists import in_order, places_of
from trueval.retrieval.indexes.hits import Hits, join_hits
from trueval.retrieval.indexes.index import Index, LocalIndex, TextsAndVectors
from trueval.run import Run, find_empty_queries
from trueval.standings.groups import starts_of, tie_groups

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Maximum number of documents to fetch per query: Elasticsearch's result window, which other engines allow too.
MOST: Final = 10_000
# Factor by which each further call goes deeper.
DEEPER: Final = 4


@dataclass(frozen=True, eq=False)
class SearchSession:
    """An index with the queries for it.

    Attributes:
        index: built or loaded index.
        queries: [query] texts or vectors, as the index takes them.
        query_ids: [query] ids.
        doc_ids: [place] ids.
        vectors: [place, dimension] embeddings of the documents, where the index is one of vectors.
        query_vectors: [query, dimension] embeddings of the queries.
        dtype: dtype of the model of the embeddings.
    """

    index: Index | LocalIndex
    queries: Any
    query_ids: Sequence[str]
    doc_ids: pl.Series
    vectors: NDArray[Any] | None = None
    query_vectors: NDArray[Any] | None = None
    dtype: str | None = None

    def select(self, places: Ints) -> Any:
        """Some of the queries, in the form that the index takes."""
        return _at(self.queries, places)


@dataclass(frozen=True, eq=False)
class PastCutLists:
    """Lists that extend past the cut.

    Attributes:
        run: run of the queries with results.
        unfinished: [query of the run] whether the list ends inside the group, so that there may be more.
    """

    run: Run
    unfinished: Bools
    notes: tuple[str, ...]


def fetch_past(opened: SearchSession, k: int, *, most: int, precision: str | float | None, name: str) -> PastCutLists:
    """Fetch k documents, and more until the group at rank k ends.

    Args:
        opened: the index and its queries.
        k: number of documents in a context.
        most: maximum number of documents to fetch per query; at least k.
        precision: precision in which scores are compared.

    Raises:
        InputError: the index gives what is no list, or finds nothing at all.
    """
    deepest = getattr(opened.index, "deepest", None)  # engines may have a limit
    most = max(most if deepest is None else min(most, deepest), k)
    depth = min(2 * k, most)
    parts = list(_parts(opened.index.search(opened.queries, depth), len(opened.query_ids)))
    twice, notes = 0, list[str]()
    full = np.array([len(places) >= depth for places, _ in parts])  # including documents that are listed twice
    for at, part in enumerate(parts):
        parts[at], repeated = _clean(part, opened.query_ids[at], name)
        twice += repeated
    while len(wanting := np.flatnonzero([full[at] and _ends(part, k, precision) for at, part in enumerate(parts)])):
        if depth >= most:
            break
        further = min(DEEPER * depth, most)
        try:
            deeper = list(_parts(opened.index.search(opened.select(wanting), further), len(wanting)))
        except TruevalError as error:
            notes.append(f"{name} does not go deeper than {depth}: {error}")
            break
        depth = further
        for at, part in zip(wanting.tolist(), deeper, strict=True):
            full[at] = len(part[0]) >= depth
            parts[at], repeated = _clean(part, opened.query_ids[at], name)
            twice += repeated
    run = join_hits(parts).to_run(opened.query_ids, opened.doc_ids, name)
    found = np.array([len(places) > 0 for places, _ in parts], dtype=bool)
    if not found.any():
        raise InputError(f"{name}: no query finds a document, so there is nothing to cut. Is the index filled?")
    unfinished = np.zeros(len(parts), dtype=bool)
    unfinished[wanting] = True
    notes += _remarks(twice, int((~found).sum()), len(wanting), depth, len(parts))
    return PastCutLists(run, unfinished[found], tuple(notes))


def repeat(opened: SearchSession, deep: Run, k: int, repeats: int, name: str) -> tuple[list[Run], list[str]]:
    """Repeat the same call for k documents; returns the runs and remarks.

    Args:
        opened: the index and its queries.
        deep: result of the earlier, deeper call; a call that finds nothing at all is refused.
        k: number of documents in a context.
        repeats: number of calls.

    Raises:
        InputError: a call gives what is no list, or nothing.
    """
    runs: list[Run] = []
    twice, notes, known = 0, list[str](), set(deep.query_ids.to_list())
    for call in range(repeats):
        try:
            found = list(_parts(opened.index.search(opened.queries, k), len(opened.query_ids)))
        except TruevalError as error:  # earlier calls are kept
            notes.append(f"Call {call + 1} of {repeats} failed, and none was made after it: {error}")
            break
        cleaned = [_clean(part, query, name) for part, query in zip(found, opened.query_ids, strict=True)]
        twice += sum(repeated for _, repeated in cleaned)
        for at in [at for at, (part, _) in enumerate(cleaned) if len(part[0]) and opened.query_ids[at] not in known]:
            notes.append(f"Query {opened.query_ids[at]!r} found nothing when more was asked for; it is left out.")
            cleaned[at] = ((cleaned[at][0][0][:0], cleaned[at][0][1][:0]), 0)
        run = join_hits([part for part, _ in cleaned]).to_run(opened.query_ids, opened.doc_ids, name)
        if not len(run.query_ids):
            raise InputError(
                f"{name}: a call for {k} documents found nothing, and a deeper one found {len(deep.frame)}. "
                "Check its filters and its limit."
            )
        runs.append(run)
    return runs, [*dict.fromkeys(notes), *_remarks(twice, 0, 0, k, len(opened.query_ids))]


def combine_calls(runs: Sequence[Run], k: int) -> tuple[Run, list[str]]:
    """Merge runs into one, with each document's score in the first run that lists it, and note missing queries.

    Args:
        runs: runs of repeated calls, or a single one.
        k: number of documents in a context.

    Raises:
        InputError: no list goes past k where there is one run, or no query is in all runs.
    """
    first, *others = runs
    if not others:
        if int(np.diff(first.offsets).max(initial=0)) <= k:
            raise InputError(
                f"{first.source}: no list goes past rank {k}, so nobody can see what ties at the cut. Give a deeper "
                "run, a smaller -k, or several runs of repeated calls."
            )
        return first, []
    notes = list(_describe_missing_queries(runs))
    rows = pl.concat([run.frame.select("query_id", "doc_id", "score") for run in runs])
    rows = rows.unique(["query_id", "doc_id"], keep="first", maintain_order=True)
    ids = pl.concat([run.query_ids for run in runs]).unique(maintain_order=True)
    rows = rows.with_columns(pl.Series("place", places_of(rows["query_id"], ids)))
    rows = rows.sort("place", "score", descending=[False, True], maintain_order=True)
    sizes = np.bincount(rows["place"].to_numpy(), minlength=len(ids))
    empty = find_empty_queries(runs, ids)
    return Run(rows.select("doc_id", "score"), ids, starts_of(sizes), first.name, first.source, empty=empty), notes


def may_go_on(runs: Sequence[Run], together: Run, k: int, precision: str | float | None) -> Bools:
    """[query] whether a call's list of its run's maximum length ends at or above the score at the cutoff.

    Args:
        runs: runs of the calls.
        together: run merged by combine_calls.
        k: number of documents in a context.
        precision: precision in which scores are compared.
    """
    last = np.full(len(together.query_ids), np.nan)
    for run in runs:
        sizes = np.diff(run.offsets)
        ends = np.minimum.reduceat(round_to(run.documents["score"].to_numpy(), precision), run.offsets[:-1])
        full = sizes == sizes.max(initial=1)
        np.fmax.at(last, places_of(run.query_ids, together.query_ids)[full], ends[full])
    scores = round_to(together.documents["score"].to_numpy(), precision)
    listed = np.diff(together.offsets)
    order = in_order(tie_groups(scores, together.offsets))
    at = order[np.minimum(together.offsets[:-1] + k, together.offsets[1:]) - 1]
    unfinished: Bools = (last >= scores[at]) & (listed >= k)
    return unfinished


def _describe_missing_queries(runs: Sequence[Run]) -> Iterator[str]:
    """Yield a remark on each run that lacks queries of another one.

    Raises:
        InputError: no query is in all of them.
    """
    sets = [set(run.query_ids.to_list()) for run in runs]
    everything = set().union(*sets)
    if not set.intersection(*sets):
        raise InputError(
            f"{', '.join(run.source for run in runs)} share no query. Runs of repeated calls must be of the same ones."
        )
    for run, own in zip(runs, sets, strict=True):
        if lacking := everything - own:
            example = next(query for each in runs for query in each.query_ids.to_list() if query in lacking)
            yield (
                f"{run.source} lacks {len(lacking)} of {len(everything)} queries, such as {example!r}; there its calls "
                "count as empty."
            )


def _at(queries: Any, places: Ints) -> Any:
    if isinstance(queries, np.ndarray):
        return queries[places]
    if isinstance(queries, TextsAndVectors):
        return TextsAndVectors(_at(queries.texts, places), queries.vectors[places])
    return [queries[at] for at in places.tolist()]


def _parts(hits: Hits, queries: int) -> Iterator[tuple[Ints, Floats]]:
    """[query] places and scores.

    Raises:
        InputError: they are not of as many queries.
    """
    if len(hits.offsets) != queries + 1:
        raise InputError(f"The index gave {len(hits.offsets) - 1} lists for {queries} queries. Repair its adapter.")
    for begin, end in zip(hits.offsets[:-1].tolist(), hits.offsets[1:].tolist(), strict=True):
        yield hits.places[begin:end], hits.scores[begin:end]


def _clean(part: tuple[Ints, Floats], query: str, name: str) -> tuple[tuple[Ints, Floats], int]:
    """Remove repeated documents from a list; returns the list and their number.

    Raises:
        InputError: a score is NaN.
    """
    places, scores = part
    if np.isnan(scores).any():
        raise InputError(
            f"{name} gives NaN as a score for query {query!r}. Its order means nothing; rebuild the index."
        )
    first = np.sort(np.unique(places, return_index=True)[1])
    return (places[first], scores[first]), len(places) - len(first)


def _ends(part: tuple[Ints, Floats], k: int, precision: str | float | None) -> bool:
    """Whether a list ends with the score of rank k."""
    scores = part[1]
    if len(scores) < k:
        return False
    ordered = np.sort(round_to(scores, precision))[::-1]
    return bool(ordered[k - 1] == ordered[-1])


def _remarks(twice: int, nothing: int, unfinished: int, depth: int, queries: int) -> Iterator[str]:
    if twice:
        yield f"The index lists {count_phrase(twice, 'document', 'documents')} twice in one list; each counts once."
    if nothing:
        yield f"{nothing} of {queries} queries find nothing."
    if unfinished:
        yield (
            f"In {count_phrase(unfinished, 'query', 'queries')} the group at the cutoff does not end within {depth:,} "
            "documents; its size is a least one."
        )
