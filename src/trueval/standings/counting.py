"""Counting: Standings from a run and judgments, from arrays, or from a corpus scorer.

The only place where ties are found.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from trueval.errors import InputError, PolicyError
from trueval.forks import need_polars
from trueval.numerics import round_to
from trueval.standings.corpus.corpus_scorer import CorpusScorer
from trueval.standings.groups import TieGroups, find_groups, ranges, tie_groups
from trueval.standings.input_rules import (
    drop_unretrieved,
    judgments_under,
    whole_grades,
    with_empty_lists,
    without_first,
)
from trueval.standings.judged_pool import JudgedPool, pool_of
from trueval.standings.list_positions import Lists, count_lists
from trueval.standings.matching import MatchedDocuments, align, list_of, match
from trueval.standings.standings import NO_LIMIT, Bools, Floats, Ints, Standings
from trueval.standings.tie_order import INPUT_ORDERS, TieOrder, hash_keys
from trueval.threads import side_by_side

if TYPE_CHECKING:
    from trueval.judgments import Judgments
    from trueval.policy.policy import Policy
    from trueval.run import Run

PART = 1 << 17  # number of documents above which matching and sorting run in parallel


class ScoreArrays(NamedTuple):
    """Scores and grades of the same documents, without ids.

    Attributes:
        scores: [document] scores, lists one after another.
        grades: [document] grades; NaN or below 0 means unjudged.
        offsets: [list + 1] where each list starts.
        name: name in errors.
        keep_zeros: whether documents of grade 0 get rows; most measures do not need them.
    """

    scores: Floats
    grades: Floats
    offsets: Ints
    name: str = "arrays"
    keep_zeros: bool = True


Source: TypeAlias = "Run | ScoreArrays | CorpusScorer"


def count(source: Source, judgments: Judgments | None, policy: Policy) -> Standings:
    """Count the standings of every judged document: the only way from a source to standings.

    All choices of the policy that apply before measuring are applied here (Policy.counting).

    Args:
        source: a run, arrays, or a scorer of a whole corpus, whose standings are merged: their total of ties is
            unknown.
        judgments: judgments of the run; their queries are the evaluated ones, in their order. None for arrays, which
            have grades.
        policy: the choices; pass those for one measure (Policy.of) where a policy has exceptions, which are ignored
            here.

    Raises:
        InputError: a score overflows the tie precision, or a grade is refused.
        PolicyError: the source lacks what a choice needs: ranks, document ids, or lists.
    """
    if isinstance(source, ScoreArrays):
        found = _count_arrays(source, policy)
    elif judgments is None:
        raise InputError("A run is counted by its judgments. Got None; only arrays hold their own grades.")
    elif isinstance(source, CorpusScorer):
        from trueval.standings.corpus.corpus_counting import count_corpus  # late: few evaluations score a corpus

        found = count_corpus(source, judgments, policy)
    else:
        found = _count_run(source, judgments, policy)
    return found if policy.nonpositive == "retrieved" else drop_unretrieved(found)


def counter(source: Source, judgments: Judgments | None) -> Callable[[Policy], Standings]:
    """`count` for one source, cached; policies that count alike share their standings."""

    @cache
    def count_under(counting: Policy) -> Standings:
        return count(source, judgments, counting)

    return lambda policy: count_under(policy.counting)


class _MatchedLists(NamedTuple):
    """The lists of a run under a policy, with the judged documents in them.

    Attributes:
        run: the run without documents that the policy excludes before matching.
        judgments: judgments with grades as the policy reads them.
        pool: every judged document.
        lists: every listed document.
        groups: the tie groups of the lists.
        found: positions of the judged documents.
        row_of: [document] its row in the run; None where lists and rows are the same.
    """

    run: Run
    judgments: Judgments
    pool: JudgedPool
    lists: Lists
    groups: TieGroups
    found: MatchedDocuments
    row_of: Ints | None


def _prepare_lists(run: Run, judgments: Judgments, policy: Policy, *, matched: bool = True) -> _MatchedLists:
    """Apply the policy's choices that precede counting.

    Args:
        run: run as read.
        judgments: judgments as read.
        policy: policy of the evaluation.
        matched: whether to match the judged documents; if not, they are still matched where the policy lists only
            judged ones.
    """
    need_polars()
    judgments = judgments_under(judgments, policy.float_grades)
    if policy.skip_first:
        run = without_first(run)
    run = with_empty_lists(run)
    pool, query = pool_of(judgments), align(run.query_ids, judgments.query_ids)

    def find() -> MatchedDocuments:
        if not matched and not policy.judged_only:
            return MatchedDocuments(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
        return match(run, judgments, query, pool)

    def tie() -> tuple[Lists, TieGroups]:
        scores = round_to(run.documents["score"].to_numpy(), policy.tie_precision)
        return Lists(scores, run.offsets, query), tie_groups(scores, run.offsets)

    found, (lists, groups) = side_by_side(find, tie) if run.documents.height > PART else (find(), tie())
    if not policy.judged_only:
        return _MatchedLists(run, judgments, pool, lists, groups, found, None)
    row_of = np.sort(found.position)
    lists = lists._replace(scores=lists.scores[row_of], offsets=np.searchsorted(row_of, lists.offsets))
    found = found._replace(position=np.searchsorted(row_of, found.position))
    return _MatchedLists(run, judgments, pool, lists, tie_groups(lists.scores, lists.offsets), found, row_of)


def _count_run(run: Run, judgments: Judgments, policy: Policy) -> Standings:
    run, judgments, pool, lists, groups, found, row_of = _prepare_lists(run, judgments, policy)
    order = _run_order(run, row_of, policy.tie_order, policy.seed)
    counted = count_lists(pool, lists, groups, found, order, depth=policy.depth)
    return replace(counted, sources=judgments.source_codes)


class Documents(NamedTuple):
    """The documents that count, with their tie groups.

    Attributes:
        frame: query_id, doc_id, score as read, tied_score as rounded, above and tied; rows of a query are adjacent.
        sizes: [group] number of documents.
    """

    frame: pl.DataFrame
    sizes: Ints


def list_documents(
    run: Run, judgments: Judgments, policy: Policy, query_ids: Collection[str] | None = None
) -> Documents:
    """List the documents of judged queries under a policy, with the tie groups of `count`.

    A group that crosses the depth is kept whole: which of its documents the list holds depends on the tie order.

    Args:
        judgments: judgments of the evaluation.
        policy: policy of the evaluation.
        query_ids: queries with rows in the frame, while sizes cover all queries; None for all.
    """
    run, _, _, lists, groups, _, row_of = _prepare_lists(run, judgments, policy, matched=False)
    depth = NO_LIMIT if policy.depth is None else policy.depth
    list_of_group = np.arange(len(lists.query)).repeat(groups.first[1:] - groups.first[:-1])
    held = (lists.query[list_of_group] >= 0) & (groups.start[:-1] - lists.offsets[list_of_group] < depth)
    shown = lists.query >= 0
    if query_ids is not None:
        shown &= run.query_ids.is_in(pl.Series(list(query_ids), dtype=pl.String).implode()).to_numpy()
    chosen = np.flatnonzero(shown)
    begin, length = lists.offsets[chosen], lists.offsets[chosen + 1] - lists.offsets[chosen]
    rows, owner = ranges(begin, length), chosen.repeat(length)
    group = find_groups(groups, owner, lists.scores[rows], rows)
    above = groups.start[group] - lists.offsets[owner]
    rows, owner, group, above = (each[above < depth] for each in (rows, owner, group, above))
    # Rounded scores are grid steps; readers want them on the scale of the run.
    width = policy.tie_precision
    step = width if isinstance(width, float | int) else 1.0
    columns = {"tied_score": lists.scores[rows] * step, "above": above, "tied": groups.size[group]}
    frame = run.documents[rows if row_of is None else row_of[rows]].with_columns(pl.col("^rank$").cast(pl.Int64))
    frame.insert_column(0, run.query_ids.gather(owner).alias("query_id"))
    return Documents(frame.with_columns(pl.Series(name, values) for name, values in columns.items()), groups.size[held])


def _count_arrays(arrays: ScoreArrays, policy: Policy) -> Standings:
    if policy.skip_first:
        raise PolicyError("skip_first needs a run with document ids. Drop the first results from the arrays instead.")
    scores, offsets = arrays.scores, arrays.offsets
    grades = whole_grades(arrays.grades, policy.float_grades, arrays.name)
    known = grades >= 0
    if policy.judged_only:
        scores, grades = scores[known], grades[known]
        offsets, known = np.searchsorted(np.flatnonzero(known), offsets), np.ones(len(scores), dtype=bool)
    item = (known if arrays.keep_zeros else grades > 0).nonzero()[0]
    pool = JudgedPool(list_of(item, offsets), grades[item], item, _count_by_list(known, offsets))
    lists = Lists(round_to(scores, policy.tie_precision), offsets, np.arange(len(offsets) - 1))
    order = _array_order(offsets, policy.tie_order, policy.seed)
    groups = tie_groups(lists.scores, offsets)
    return count_lists(pool, lists, groups, MatchedDocuments(item, np.arange(len(item))), order, depth=policy.depth)


def _run_order(run: Run, row_of: Ints | None, name: str, seed: int) -> TieOrder:
    """The tie order of a run; row_of maps positions in the lists to rows of the run, None if they are equal."""
    documents = run.documents

    def rows(position: Ints) -> Ints:
        return position if row_of is None else row_of[position]

    if name in INPUT_ORDERS:
        return INPUT_ORDERS[name]
    if name == "rank":
        if "rank" not in documents.columns:
            raise PolicyError(f"Tie order 'rank' needs ranks; {run.source} has none. Use 'input' or 'docid-desc'.")
        return TieOrder(lambda position: documents["rank"].gather(rows(position)))
    if name == "random":

        def hashes(position: Ints) -> pl.Series:
            at = rows(position)
            query_ids = run.query_ids.gather(list_of(at, run.offsets))
            return hash_keys(seed, query_ids.to_list(), documents["doc_id"].gather(at).to_list())

        return TieOrder(hashes)
    return TieOrder(lambda position: documents["doc_id"].gather(rows(position)), descending=name == "docid-desc")


def _count_by_list(flags: Bools, offsets: Ints) -> Ints:
    """[list] number of flags set."""
    width = len(flags) // max(len(offsets) - 1, 1)
    if width and bool((offsets[1:] - offsets[:-1] == width).all()):
        even: Ints = np.count_nonzero(flags.reshape(-1, width), axis=1)
        return even
    counts = np.zeros(len(offsets) - 1, dtype=np.int64)
    filled = offsets[:-1] < offsets[1:]
    if filled.any():
        counts[filled] = np.add.reduceat(flags, offsets[:-1][filled], dtype=np.int64)
    return counts


def _array_order(offsets: Ints, name: str, seed: int) -> TieOrder:
    """The tie order of arrays, whose documents are identified by list and position only."""
    if name in INPUT_ORDERS:
        return INPUT_ORDERS[name]
    if name != "random":
        raise PolicyError(
            f"Tie order {name!r} needs document ids or ranks; arrays have {', '.join([*INPUT_ORDERS, 'random'])}."
        )
    return TieOrder(
        lambda position: hash_keys(seed, list(map(str, list_of(position, offsets))), list(map(str, position)))
    )
