"""Reranking by a router: the first candidates of every query, and the deeper ones of those that need them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from trueval.retrieval.fusion.ranked_lists import rank_lists, score_lists
from trueval.retrieval.fusion.union import replace_scores
from trueval.retrieval.pipeline.router import Routed, Router
from trueval.run import Run

if TYPE_CHECKING:
    from trueval.retrieval.pipeline.pipeline_result import Stage


class RoutedRun(NamedTuple):
    """A reranked run, and the choice for each of its queries."""

    run: Run
    routed: Mapping[str, Routed]


def route_queries(router: Router, searched: Run, reranked: Run) -> dict[str, Routed]:
    """Query id → its choice, for the queries that have candidates.

    Args:
        searched: run of the first search.
        reranked: the first candidates with the reranker's scores.
    """
    lists, scored = score_lists(searched), score_lists(reranked)
    return {query: router.route(lists.get(query, ()), scores) for query, scores in scored.items()}


def rerank_routed(run: Run, router: Router, searched: Run, score: Callable[[Run], Run]) -> RoutedRun:
    """Score the first candidates of every query, and the others of those whose need reaches the threshold.

    Args:
        run: candidates.
        router: chooses the number of candidates.
        searched: run of the first search, whose scores the router reads.
        score: scores every document of a run.
    """
    lists = rank_lists(run)
    first = score(lists.only(lists.rank <= router.fewer, run.name, run.source))
    routed = route_queries(router, searched, first)
    depths = np.array([routed[query].candidates for query in lists.query_ids.to_list()])[lists.of_row]
    kept = lists.only(lists.rank <= depths, run.name, run.source)
    rest = lists.only((lists.rank <= depths) & (lists.rank > router.fewer), run.name, run.source)
    scored = [first.frame, *([score(rest).frame] if rest.documents.height else [])]
    together = Run.from_frame(pl.concat(each.select("query_id", "doc_id", "score") for each in scored))
    return RoutedRun(replace_scores(kept, together, None), routed)


def route_log(stages: Sequence[Stage], router: Router) -> list[dict[str, object]]:
    """What `trueval route check` reads, a line per query: its id, number of candidates, and need.

    Args:
        stages: of a pipeline that reranks by this router.
    """
    *_, before, last = stages
    first = replace_scores(before.run, last.run, router.fewer)
    routed = route_queries(router, stages[0].run, first)
    return [{"query": query, **each._asdict()} for query, each in routed.items()]
