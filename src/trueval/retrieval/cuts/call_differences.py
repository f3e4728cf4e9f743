"""Call differences: how the results of repeated identical calls differ.

Two calls for k documents differ *with equal scores* if every document that only one of them has in its context has the
score at the cutoff, and both have the same score there: the engine chose differently among equal scores. Any other
difference shows that the engine is not deterministic, which no tie rule can repair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from trueval.numerics import round_to
from trueval.retrieval.fusion.ranked_lists import places_of, rank_lists
from trueval.run import Run
from trueval.standings.standings import Ints


@dataclass(frozen=True, eq=False)
class Calls:
    """Repeated calls for k documents, compared with the first of them.

    Attributes:
        runs: the first k documents of each call.
        by_ties: [query] number of calls whose documents differ from the first call's only by the choice among equal
            scores.
        otherwise: [query] number of calls whose documents differ in another way.
        reordered: [query] number of calls with the same documents in another order.
        rescored: [query] number of calls in which a document has another score.
        contexts: [query] number of distinct contexts among the calls.
        largest_change: largest change of a score.
        deeper: queries whose first call has documents that the deeper call has neither above the cutoff nor in the
            group at it; None if there is no deeper call.
    """

    runs: tuple[Run, ...]
    by_ties: Ints
    otherwise: Ints
    reordered: Ints
    rescored: Ints
    contexts: Ints
    largest_change: float
    deeper: int | None

    def context_shares(self) -> pl.DataFrame:
        """query_id, doc_id and entered, the share of calls with the document in their context."""
        rows = pl.concat([run.frame.select("query_id", "doc_id") for run in self.runs])
        share = (pl.len() / len(self.runs)).alias("entered")
        return rows.group_by("query_id", "doc_id", maintain_order=True).agg(share)


def compare_calls(
    runs: Sequence[Run],
    query_ids: pl.Series,
    k: int,
    precision: str | float | None,
    *,
    deep: Run | None = None,
    cuts: Mapping[int, frozenset[str]] | None = None,
) -> Calls | None:
    """Compare the first k documents of each call with those of the first one; None if there is no other.

    Args:
        runs: runs of the calls.
        query_ids: [query] ids of the queries of every call, in the order of the results.
        k: number of documents in a context.
        precision: precision in which scores are compared.
        deep: results of a deeper call; None if there is none.
        cuts: index of a query → documents of the group at its cutoff, in the deeper call.
    """
    if len(runs) < 2:
        return None
    cut = tuple(_first(run, k, query_ids) for run in runs)
    frames = [_build_frame(run, query_ids, precision) for run in cut]
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
    beyond = (
        None
        if deep is None
        else _beyond(frames[0], _build_frame(_first(deep, k, query_ids), query_ids, precision), cuts or {})
    )
    return Calls(cut, **counts, contexts=contexts, largest_change=float(largest), deeper=beyond)


def _first(run: Run, k: int, query_ids: pl.Series) -> Run:
    """The first k documents per query; a query with results in another call only has an empty list here."""
    cut = rank_lists(run, k)
    found = cut.only(np.ones(len(cut.rank), dtype=bool), run.name, run.source)
    others = query_ids.filter(~query_ids.is_in(run.query_ids.implode())).to_list()
    return replace(found, empty=tuple(dict.fromkeys([*run.empty, *others])))


def _build_frame(run: Run, query_ids: pl.Series, precision: str | float | None) -> pl.DataFrame:
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
