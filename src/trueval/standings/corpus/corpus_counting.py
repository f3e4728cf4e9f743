"""Counts the standings of a whole corpus, which has no lists."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import PolicyError
from trueval.numerics import round_to
from trueval.standings.corpus.corpus_order import CorpusOrder
from trueval.standings.corpus.corpus_scorer import CorpusScorer
from trueval.standings.corpus.counts import JudgedPairs, count_pairs
from trueval.standings.input_rules import judgments_under
from trueval.standings.judged_pool import JudgedPool, pool_of
from trueval.standings.listed_rows import ListedRows, ListTotals, standings_of
from trueval.standings.matching import align
from trueval.standings.standings import NO_LIMIT, Floats, Ints, Standings

if TYPE_CHECKING:
    from trueval.judgments import Judgments
    from trueval.policy.policy import Policy


def count_corpus(source: CorpusScorer, judgments: Judgments, policy: Policy) -> Standings:
    """Count the standings of every judged document among all documents of a corpus.

    Args:
        source: scorer of the corpus.
        judgments: their queries are the evaluated ones, in their order.

    Returns:
        Merged standings, whose total of ties is unknown.

    Raises:
        InputError: a score is not a number or overflows, or a grade is refused.
        PolicyError: a choice needs lists.
    """
    _refuse_lists(source, policy)
    judgments = judgments_under(judgments, policy.float_grades)
    pool, query = pool_of(judgments), align(source.query_ids, judgments.query_ids)
    pairs, judged = _find_judged_pairs(source, judgments, pool, query)

    def round_scores(scores: NDArray[np.generic]) -> Floats:
        in_format = round_to(scores, source.format, saturate=True)
        return round_to(in_format, policy.tie_precision, saturate=True)

    order = CorpusOrder(source, pairs, policy)
    counts = count_pairs(source, pairs, round_scores, order.before)
    ahead = counts.ahead
    if order.open:
        ahead = np.where(counts.tied > 1, -1, 0)
    listed = np.zeros(len(pool.judged), dtype=np.int64)
    depth = NO_LIMIT if policy.depth is None else policy.depth
    scored = query[query >= 0]
    listed[scored] = min(len(source.doc_ids), depth)
    absent = np.ones(len(listed), dtype=bool)
    absent[scored] = False
    inside = counts.above < depth
    unknown = np.zeros_like(listed)
    rows = ListedRows(judged, counts.score, counts.above, counts.tied, ahead).take(inside)
    counted = standings_of(pool, rows, ListTotals(listed, unknown, unknown, unknown, unknown, absent), policy.depth)
    return replace(counted, sources=judgments.source_codes, merged=True)


def _refuse_lists(source: CorpusScorer, policy: Policy) -> None:
    """Refuse choices that apply only to lists.

    Raises:
        PolicyError: a choice needs them.
    """
    order = policy.tie_order
    if order == "rank" or (order.startswith("input") and not source.in_order):
        raise PolicyError(
            f"Tie order {order!r} needs lists; {source.name} is a whole corpus, which has none. Use 'docid-desc', "
            "'docid-asc' or 'random'."
        )
    for name in ("skip_first", "judged_only"):
        if getattr(policy, name):
            raise PolicyError(f"{name} needs lists; {source.name} is a whole corpus, which has none. Retrieve a run.")


def _find_judged_pairs(
    source: CorpusScorer, judgments: Judgments, pool: JudgedPool, query: Ints
) -> tuple[JudgedPairs, Ints]:
    """Find the judged documents in a corpus, for the queries it scores, and their indices in the pool.

    Args:
        judgments: judgments of the pool.
        pool: every judged document.
        query: [query of the source] the evaluated query; -1 for none.
    """
    doc_ids = judgments.frame["doc_id"].gather(pool.item)
    # Few documents of a corpus are judged: the others are left out before anything is joined.
    there = source.doc_ids.is_in(doc_ids.unique().implode()).arg_true()
    known = pl.DataFrame({"doc": source.doc_ids.gather(there), "place": there})
    found = pl.DataFrame({"doc": doc_ids}).join(known, on="doc", how="left", maintain_order="left")["place"]
    place = found.cast(pl.Int64).fill_null(-1).to_numpy()
    row_of = np.full(len(pool.judged), -1)
    row_of[query[query >= 0]] = np.flatnonzero(query >= 0)
    judged = np.flatnonzero((place >= 0) & (row_of[pool.query] >= 0))
    judged = judged[np.argsort(place[judged], kind="stable")]  # in the order in which a run would list them
    return JudgedPairs(row_of[pool.query[judged]], place[judged]), judged
