"""Calls: an index asked past the cut until the group of equal scores ends, and the same call repeated and compared.

Two calls for k documents differ *with equal scores* if every document that only one of them has in its context has the
score at the cutoff, and both have the same score there: the engine chose otherwise among equals. Any other difference
says that the engine is not deterministic, which no rule for ties mends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import InputError, TruevalError
from trueval.numerics import round_to
from trueval.report.text import counted
from trueval.retrieval.index import Index, LocalIndex, TextsAndVectors
from trueval.retrieval.indexes.hits import Hits, joined
from trueval.retrieval.ranks.lists import in_order, listed, places_of
from trueval.run import Run
from trueval.standings.groups import starts_of, tie_groups

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Documents to fetch at most for one query: Elasticsearch's window of results, and what other engines allow too.
MOST: Final = 10_000
# How much deeper each further call goes.
DEEPER: Final = 4


@dataclass(frozen=True, eq=False)
class Opened:
    """An index with what it is asked.

    Attributes:
        index: built or loaded.
        queries: [query] texts, or vectors, as the index takes them.
        query_ids: [query].
        doc_ids: [place].
        vectors: [place, dimension] embeddings of the documents, where the index is one of vectors.
        query_vectors: [query, dimension] those of the queries.
        dtype: of the model that made them.
    """

    index: Index | LocalIndex
    queries: Any
    query_ids: Sequence[str]
    doc_ids: pl.Series
    vectors: NDArray[Any] | None = None
    query_vectors: NDArray[Any] | None = None
    dtype: str | None = None

    def asked(self, places: Ints) -> Any:
        """Some of the queries, as the index takes them."""
        return _at(self.queries, places)


@dataclass(frozen=True, eq=False)
class Fetched:
    """Lists that go past the cut.

    Attributes:
        run: of the queries that find something.
        unfinished: [query of the run] whether the list ends inside the group, and there may be more.
        notes: one-line remarks.
    """

    run: Run
    unfinished: Bools
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Calls:
    """Repeated calls for k documents, compared with the first of them.

    Attributes:
        runs: of each call, its first k documents.
        by_ties: [query] calls whose documents differ from those of the first one by the choice among equal scores.
        otherwise: [query] calls whose documents differ in another way.
        reordered: [query] calls with the same documents in another order.
        rescored: [query] calls that give a document another score.
        contexts: [query] different contexts among the calls.
        largest_change: of a score.
        deeper: queries whose first call has documents that the deeper call has neither above the cutoff nor in the
            group at it; None where there is no deeper call.
    """

    runs: tuple[Run, ...]
    by_ties: Ints
    otherwise: Ints
    reordered: Ints
    rescored: Ints
    contexts: Ints
    largest_change: float
    deeper: int | None

    def entered(self) -> pl.DataFrame:
        """query_id, doc_id and entered, the share of the calls that have the document in their context."""
        rows = pl.concat([run.frame.select("query_id", "doc_id") for run in self.runs])
        share = (pl.len() / len(self.runs)).alias("entered")
        return rows.group_by("query_id", "doc_id", maintain_order=True).agg(share)


def fetch_past(opened: Opened, k: int, *, most: int, precision: str | float | None, name: str) -> Fetched:
    """Fetch k documents and as many more as it takes to see the end of the group at rank k.

    Args:
        opened: the index and its queries.
        k: documents of a context.
        most: documents to fetch at most for one query; k at least.
        precision: in which scores are compared.
        name: of the index.

    Raises:
        InputError: the index gives what is no list, or finds nothing at all.
    """
    deepest = getattr(opened.index, "deepest", None)  # where an engine has a limit
    most = max(most if deepest is None else min(most, deepest), k)
    depth = min(2 * k, most)
    parts = list(_parts(opened.index.search(opened.queries, depth), len(opened.query_ids)))
    twice, notes = 0, list[str]()
    full = np.array([len(places) >= depth for places, _ in parts])  # with the documents that are listed twice
    for at, part in enumerate(parts):
        parts[at], repeated = _clean(part, opened.query_ids[at], name)
        twice += repeated
    while len(wanting := np.flatnonzero([full[at] and _ends(part, k, precision) for at, part in enumerate(parts)])):
        if depth >= most:
            break
        further = min(DEEPER * depth, most)
        try:
            deeper = list(_parts(opened.index.search(opened.asked(wanting), further), len(wanting)))
        except TruevalError as error:
            notes.append(f"{name} does not go deeper than {depth}: {error}")
            break
        depth = further
        for at, part in zip(wanting.tolist(), deeper, strict=True):
            full[at] = len(part[0]) >= depth
            parts[at], repeated = _clean(part, opened.query_ids[at], name)
            twice += repeated
    run = joined(parts).to_run(opened.query_ids, opened.doc_ids, name)
    found = np.array([len(places) > 0 for places, _ in parts], dtype=bool)
    if not found.any():
        raise InputError(f"{name}: no query finds a document, so there is nothing to cut. Is the index filled?")
    unfinished = np.zeros(len(parts), dtype=bool)
    unfinished[wanting] = True
    notes += _remarks(twice, int((~found).sum()), len(wanting), depth, len(parts))
    return Fetched(run, unfinished[found], tuple(notes))


def repeat(opened: Opened, deep: Run, k: int, repeats: int, name: str) -> tuple[list[Run], list[str]]:
    """The runs of the same call for k documents, again and again, and remarks.

    Args:
        opened: the index and its queries.
        deep: what was fetched before; a call that finds nothing at all is refused.
        k: documents of a context.
        repeats: how many calls.
        name: of the index.

    Raises:
        InputError: a call gives what is no list, or nothing.
    """
    runs: list[Run] = []
    twice, notes, known = 0, list[str](), set(deep.query_ids.to_list())
    for call in range(repeats):
        try:
            found = list(_parts(opened.index.search(opened.queries, k), len(opened.query_ids)))
        except TruevalError as error:  # what was asked before is kept
            notes.append(f"Call {call + 1} of {repeats} failed, and none was made after it: {error}")
            break
        cleaned = [_clean(part, query, name) for part, query in zip(found, opened.query_ids, strict=True)]
        twice += sum(repeated for _, repeated in cleaned)
        for at in [at for at, (part, _) in enumerate(cleaned) if len(part[0]) and opened.query_ids[at] not in known]:
            notes.append(f"Query {opened.query_ids[at]!r} found nothing when more was asked for; it is left out.")
            cleaned[at] = ((cleaned[at][0][0][:0], cleaned[at][0][1][:0]), 0)
        run = joined([part for part, _ in cleaned]).to_run(opened.query_ids, opened.doc_ids, name)
        if not len(run.query_ids):
            raise InputError(
                f"{name}: a call for {k} documents found nothing, and one for more found {len(deep.frame)}."
            )
        runs.append(run)
    return runs, [*dict.fromkeys(notes), *_remarks(twice, 0, 0, k, len(opened.query_ids))]


def compared(
    runs: Sequence[Run],
    query_ids: pl.Series,
    k: int,
    precision: str | float | None,
    *,
    deep: Run | None = None,
    cuts: Mapping[int, frozenset[str]] | None = None,
) -> Calls | None:
    """Compare the first k documents of each call with those of the first one; None where there is no other.

    Args:
        runs: of the calls.
        query_ids: [query] in whose order results stand; of every call.
        k: documents of a context.
        precision: in which scores are compared.
        deep: what the index gives to a deeper call; None where there is none.
        cuts: place of a query → documents of the group at its cutoff, in the deeper call.
    """
    if len(runs) < 2:
        return None
    cut = tuple(_first(run, k) for run in runs)
    frames = [_framed(run, query_ids, precision) for run in cut]
    counts = {
        name: np.zeros(len(query_ids), dtype=np.int64) for name in ("by_ties", "otherwise", "reordered", "rescored")
    }
    largest = 0.0
    for frame in frames[1:]:
        found = _pair(frames[0], frame)
        for name, of in counts.items():
            of[found.filter(name)["place"].to_numpy()] += 1
        largest = max(largest, *found["change"].drop_nulls().to_list(), 0.0)
    keys = [frame.group_by("place").agg(pl.col("doc_id").sort().implode()) for frame in frames]
    distinct = pl.concat(keys).group_by("place").agg(pl.col("doc_id").list.join("\0").n_unique())
    contexts = np.zeros(len(query_ids), dtype=np.int64)
    contexts[distinct["place"].to_numpy()] = distinct["doc_id"].to_numpy()
    called = np.bincount(np.concatenate([each["place"].to_numpy() for each in keys]), minlength=len(contexts))
    contexts += (called > 0) & (called < len(frames))  # an empty context is one too
    beyond = None if deep is None else _beyond(frames[0], _framed(_first(deep, k), query_ids, precision), cuts or {})
    return Calls(cut, **counts, contexts=contexts, largest_change=float(largest), deeper=beyond)


def put_together(runs: Sequence[Run], k: int) -> tuple[Run, list[str]]:
    """One run of the documents of all, each with its score of the first that lists it, and remarks on absent queries.

    Args:
        runs: of repeated calls, or one.
        k: documents of a context.

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
    notes = list(_lacking(runs))
    rows = pl.concat([run.frame.select("query_id", "doc_id", "score") for run in runs])
    rows = rows.unique(["query_id", "doc_id"], keep="first", maintain_order=True)
    ids = pl.concat([run.query_ids for run in runs]).unique(maintain_order=True)
    rows = rows.with_columns(pl.Series("place", places_of(rows["query_id"], ids)))
    rows = rows.sort("place", "score", descending=[False, True], maintain_order=True)
    sizes = np.bincount(rows["place"].to_numpy(), minlength=len(ids))
    return Run(rows.select("doc_id", "score"), ids, starts_of(sizes), first.name, first.source), notes


def may_go_on(runs: Sequence[Run], together: Run, k: int, precision: str | float | None) -> Bools:
    """[query] whether some call's list, as long as any of that run, ends at or above the score of the cutoff.

    Args:
        runs: of the calls.
        together: what put_together made of them.
        k: documents of a context.
        precision: in which scores are compared.
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


def _lacking(runs: Sequence[Run]) -> Iterator[str]:
    """A remark on each run that lacks queries of another one.

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
    """A list without the second mention of a document, and how many of these there were.

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
    """Whether a list ends with the score at rank k."""
    scores = part[1]
    if len(scores) < k:
        return False
    ordered = np.sort(round_to(scores, precision))[::-1]
    return bool(ordered[k - 1] == ordered[-1])


def _remarks(twice: int, nothing: int, unfinished: int, depth: int, queries: int) -> Iterator[str]:
    if twice:
        yield f"The index lists {counted(twice, 'document', 'documents')} twice in one list; each counts once."
    if nothing:
        yield f"{nothing} of {queries} queries find nothing."
    if unfinished:
        yield (
            f"In {counted(unfinished, 'query', 'queries')} the group at the cutoff does not end within {depth:,} "
            "documents; its size is a least one."
        )


def _first(run: Run, k: int) -> Run:
    cut = listed(run, k)
    return cut.only(np.ones(len(cut.rank), dtype=bool), run.name, run.source)


def _framed(run: Run, query_ids: pl.Series, precision: str | float | None) -> pl.DataFrame:
    """place, doc_id, score, tied (the rounded score), rank and last, the lowest score of the list."""
    place = places_of(run.query_ids, query_ids)
    sizes = np.diff(run.offsets)
    return (
        run.documents.select("doc_id", "score")
        .with_columns(
            pl.Series("place", place.repeat(sizes)),
            pl.Series("rank", np.arange(len(run.documents)) - run.offsets[:-1].repeat(sizes)),
            pl.Series("tied", round_to(run.documents["score"].to_numpy(), precision)),
        )
        .with_columns(last=pl.col("tied").min().over("place"))
    )


def _pair(first: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """place, by_ties, otherwise, reordered, rescored and change of each query of two calls."""
    both = first.join(other, on=["place", "doc_id"], how="full", coalesce=True, suffix="_other")
    alone, alone_other = pl.col("score_other").is_null(), pl.col("score").is_null()
    at_cutoff = (
        pl.when(alone).then(pl.col("tied") == pl.col("last")).otherwise(pl.col("tied_other") == pl.col("last_other"))
    )
    found = both.group_by("place").agg(
        differs=(alone | alone_other).any(),
        at_cutoff=at_cutoff.filter(alone | alone_other).all(),
        same_cutoff=(pl.col("last").max() == pl.col("last_other").max()).fill_null(False),
        moved=(pl.col("rank") != pl.col("rank_other")).fill_null(False).any(),
        rescored=(pl.col("score") != pl.col("score_other")).fill_null(False).any(),
        change=(pl.col("score") - pl.col("score_other")).abs().fill_nan(None).max(),
        alone=alone.sum(),
        alone_other=alone_other.sum(),
    )
    ties = pl.col("at_cutoff") & pl.col("same_cutoff") & (pl.col("alone") == pl.col("alone_other"))
    return found.select(
        "place",
        "rescored",
        "change",
        by_ties=pl.col("differs") & ties,
        otherwise=pl.col("differs") & ~ties,
        reordered=~pl.col("differs") & pl.col("moved"),
    )


def _beyond(call: pl.DataFrame, deep: pl.DataFrame, cuts: Mapping[int, frozenset[str]]) -> int:
    """Queries whose call has documents that the deeper call has neither among its first k nor in the group there."""
    strange = call.join(deep, on=["place", "doc_id"], how="anti")
    rows = zip(strange["place"].to_list(), strange["doc_id"].to_list(), strict=True)
    return len({place for place, doc in rows if doc not in cuts.get(place, ())})
