"""The reshuffle of runs: how much their lists differ, as means over queries, for every compared pair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from trueval.comparison.resampling.resampled_sums import RESHUFFLE, generator
from trueval.comparison.resampling.reshuffle import DEPTH, PERSISTENCE, K, TiedLists, reshuffle
from trueval.standings.counting import list_documents
from trueval.standings.groups import Floats, Ints, ranges

if TYPE_CHECKING:
    from trueval.comparison.resampling.tie_order_values import TieOrders
    from trueval.judgments import Judgments
    from trueval.policy.policy import Policy
    from trueval.run import Run

# A mean of shares over 1,000 queries has a standard error below .016. 50 runs are 1,225 pairs: each over 48 queries.
MOST_QUERIES: Final = 1_000
MOST_LISTS: Final = 60_000


@dataclass(frozen=True)
class PairReshuffle:
    """Agreement of the lists of two runs.

    Attributes:
        first: name of the first run.
        second: name of the second run.
        queries: number of queries for which both list documents.
        overlap: mean of the expected share of common documents in the top k; NaN where there are no queries.
        tau: mean of the top k τ.
        rbo: mean of the rank-biased overlap.
    """

    first: str
    second: str
    queries: int
    overlap: float
    tau: float
    rbo: float


@dataclass(frozen=True)
class RunReshuffle:
    """Agreement of the lists of several runs, pair by pair.

    Attributes:
        k: cutoff of overlap and τ.
        depth: depth of RBO.
        p: persistence of RBO.
        queries: number of queries used.
        of: number of queries available; if larger, the queries used are a random sample.
        pairs: pairs in the order of the comparison.
        single: number of queries used for which some run lists one document, so that RBO has one rank to go by.
    """

    k: int
    depth: int
    p: float
    queries: int
    of: int
    pairs: tuple[PairReshuffle, ...]
    single: int = 0


def reshuffle_runs(
    orders: Sequence[TieOrders], names: Sequence[str], pairs: Ints, query_ids: Sequence[str], seed: int
) -> RunReshuffle:
    """Compare the lists of runs, pair by pair.

    Args:
        orders: [run] each run's lists with the judgments and policy of its evaluation.
        names: [run] names of the runs.
        pairs: [pair, 2] indices of runs.
        query_ids: ids of the evaluated queries.
        seed: seed of the sample of queries where there are many.
    """
    chosen = _sample_queries(query_ids, min(MOST_QUERIES, MOST_LISTS // len(pairs)), seed)
    policy = orders[0].policy
    # Lists end at the depth of the policy.
    k, depth = (most if policy.depth is None else min(most, policy.depth) for most in (K, DEPTH))
    lists = lists_of((each.run for each in orders), orders[0].judgments, policy, chosen, depth=depth)
    found = []
    for first, second in pairs.tolist():
        values = reshuffle(lists[first], lists[second], k=k, depth=depth)
        means = [_mean_without_nan(each) for each in values]
        found.append(PairReshuffle(names[first], names[second], int((~np.isnan(values.overlap)).sum()), *means))
    single = int((np.minimum([each.length for each in lists], depth) == 1).any(axis=0).sum())
    return RunReshuffle(k, depth, PERSISTENCE, len(chosen), len(query_ids), tuple(found), single)


def lists_of(
    runs: Iterable[Run], judgments: Judgments, policy: Policy, queries: Sequence[str], *, depth: int = DEPTH
) -> list[TiedLists]:
    """The top documents of each run, with the tie groups of evaluate, under document numbers shared by all runs.

    Args:
        judgments: judgments of the evaluation.
        policy: policy of the evaluation.
        queries: ids, in the order of the lists.
        depth: number of documents per list; a tie group that crosses it is kept whole.
    """
    frames = [_first(run, judgments, policy, queries, depth) for run in runs]
    names = pl.concat([frame["doc_id"] for frame in frames])
    numbers = names.cast(pl.Categorical).to_physical().cast(pl.Int64).to_numpy()
    documents, parts = int(numbers.max(initial=0)) + 1, np.cumsum([0, *map(len, frames)])
    found = []
    for frame, begin, end in zip(frames, parts[:-1].tolist(), parts[1:].tolist(), strict=True):
        owner, above, tied = (frame[name].cast(pl.Int64).to_numpy() for name in ("query", "above", "tied"))
        length = np.bincount(owner, minlength=len(queries))
        found.append(TiedLists.from_positions(numbers[begin:end], owner, above, tied, length, documents))
    return found


def _first(run: Run, judgments: Judgments, policy: Policy, queries: Sequence[str], depth: int) -> pl.DataFrame:
    wanted = pl.DataFrame({"query_id": list(queries)}, schema={"query_id": pl.String}).with_row_index("query")
    listed = list_documents(_of_queries(run, wanted["query_id"]), judgments, policy).frame
    return listed.filter(pl.col("above") < depth).join(wanted, on="query_id").select("query", "doc_id", "above", "tied")


def _of_queries(run: Run, queries: pl.Series) -> Run:
    """A run restricted to the given queries, so that no other lists are sorted."""
    kept = np.flatnonzero(run.query_ids.is_in(queries.implode()).to_numpy())
    if len(kept) == len(run.query_ids):
        return replace(run)  # the frame is created here, so that it is not cached in the user's run
    size = np.diff(run.offsets)[kept]
    offsets = np.concatenate(([0], np.cumsum(size)))
    return replace(
        run, documents=run.documents[ranges(run.offsets[kept], size)], query_ids=run.query_ids[kept], offsets=offsets
    )


def _sample_queries(query_ids: Sequence[str], most: int, seed: int) -> list[str]:
    """A sample of the queries, in their order; reproducible for a seed."""
    if len(query_ids) <= most:
        return list(query_ids)
    places = generator(seed, RESHUFFLE, 0).choice(len(query_ids), size=max(most, 1), replace=False)
    return [query_ids[place] for place in np.sort(places).tolist()]


def _mean_without_nan(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
