"""Counting standings: from a run and judgments, arrays, or a scorer of a corpus, to Standings.

The only place where ties are found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import InputError, PolicyError
from trueval.forks import need_polars
from trueval.numerics import round_to
from trueval.standings.corpus.counts import Before, Pairs, count_corpus
from trueval.standings.corpus.scorer import CorpusScorer
from trueval.standings.groups import TieGroups, find_groups, tie_groups
from trueval.standings.input_rules import judgments_under, retrieved_only, whole_grades, without_first
from trueval.standings.matching import Found, Pool, align, list_of, match
from trueval.standings.order import INPUT_ORDERS, TieOrder, count_ahead, hash_keys
from trueval.standings.standings import NO_LIMIT, Bools, Facets, Floats, Ints, Standings
from trueval.threads import side_by_side

if TYPE_CHECKING:
    from trueval.judgments import Judgments
    from trueval.policy.policy import Policy
    from trueval.run import Run

PART = 1 << 17  # documents beyond which matching and sorting are done side by side


class Lists(NamedTuple):
    """What a run lists, one ragged list per query of the run.

    Attributes:
        scores: [document] scores rounded to the tie precision, lists one after another.
        offsets: [list + 1] where each list starts.
        query: [list] index of the evaluated query; -1 for a query that is not evaluated.
    """

    scores: Floats
    offsets: Ints
    query: Ints


@dataclass(frozen=True, eq=False)
class Arrays:
    """Scores and grades of the same documents, which have no ids.

    Attributes:
        scores: [document] scores, lists one after another.
        grades: [document] grades; NaN or below 0 means unjudged.
        offsets: [list + 1] where each list starts.
        name: what errors call them.
        keep_zeros: whether documents of grade 0 get rows; most measures do not need them.
    """

    scores: Floats
    grades: Floats
    offsets: Ints
    name: str = "arrays"
    keep_zeros: bool = True


Source: TypeAlias = "Run | Arrays | CorpusScorer"


def count(source: Source, judgments: Judgments | None, policy: Policy) -> Standings:
    """Count where every judged document stands: the one way from a source to standings.

    Every choice of the policy that acts before anything is measured is applied here (Policy.counting).

    Args:
        source: a run, arrays, or a scorer of a whole corpus, whose standings are merged ones: they do not know how much
            ties in all.
        judgments: of the run; their queries are the evaluated ones, in their order. None for arrays, which have grades.
        policy: the choices; those for one measure (Policy.of) where it makes exceptions, which are not looked at here.

    Raises:
        InputError: a score overflows the tie precision, or a grade is refused.
        PolicyError: the source lacks what a choice needs: ranks, document ids, or lists.
    """
    if isinstance(source, Arrays):
        found = _count_arrays(source, policy)
    elif judgments is None:
        raise InputError("A run is counted by its judgments. Got None; only arrays hold their own grades.")
    elif isinstance(source, CorpusScorer):
        found = _count_corpus(source, judgments, policy)
    else:
        found = _count_run(source, judgments, policy)
    return found if policy.nonpositive == "retrieved" else retrieved_only(found)


def counter(source: Source, judgments: Judgments | None) -> Callable[[Policy], Standings]:
    """`count` for one source; policies that count alike share their standings."""

    @cache
    def counted(counting: Policy) -> Standings:
        return count(source, judgments, counting)

    return lambda policy: counted(policy.counting)


class _Listed(NamedTuple):
    """What a run lists under a policy, and which judged documents are among it.

    Attributes:
        run: without what the policy leaves out before anything is matched.
        judgments: with grades as the policy reads them.
        pool: every judged document.
        lists: every listed document.
        groups: the tie groups of the lists.
        found: where the judged documents are.
        row_of: [document] its row in the run; None where lists and rows are the same.
    """

    run: Run
    judgments: Judgments
    pool: Pool
    lists: Lists
    groups: TieGroups
    found: Found
    row_of: Ints | None


def _listed(run: Run, judgments: Judgments, policy: Policy) -> _Listed:
    need_polars()
    judgments = judgments_under(judgments, policy.float_grades)
    if policy.skip_first:
        run = without_first(run)
    pool, query = _pool(judgments), align(run.query_ids, judgments.query_ids)

    def find() -> Found:
        return match(run, judgments, query, pool)

    def tie() -> tuple[Lists, TieGroups]:
        scores = round_to(run.documents["score"].to_numpy(), policy.tie_precision)
        return Lists(scores, run.offsets, query), tie_groups(scores, run.offsets)

    found, (lists, groups) = side_by_side(find, tie) if run.documents.height > PART else (find(), tie())
    if not policy.judged_only:
        return _Listed(run, judgments, pool, lists, groups, found, None)
    row_of = np.sort(found.position)
    lists = lists._replace(scores=lists.scores[row_of], offsets=np.searchsorted(row_of, lists.offsets))
    found = found._replace(position=np.searchsorted(row_of, found.position))
    return _Listed(run, judgments, pool, lists, tie_groups(lists.scores, lists.offsets), found, row_of)


def _count_run(run: Run, judgments: Judgments, policy: Policy) -> Standings:
    run, judgments, pool, lists, groups, found, row_of = _listed(run, judgments, policy)
    order = _run_order(run, row_of, policy.tie_order, policy.seed)
    counted = build(pool, lists, groups, found, order, depth=policy.depth)
    return replace(counted, sources=judgments.source_codes)


class Documents(NamedTuple):
    """The documents that count, with the tie group that holds each.

    Attributes:
        frame: query_id, doc_id, score as read, tied_score as rounded, above and tied; rows of a query are adjacent.
        sizes: [group] documents of every tie group.
    """

    frame: pl.DataFrame
    sizes: Ints


def listed_documents(run: Run, judgments: Judgments, policy: Policy) -> Documents:
    """The documents of judged queries under a policy, with the groups that `count` finds.

    A group across the depth is there whole: which of its documents the list holds depends on their order.
    """
    run, _, _, lists, groups, _, row_of = _listed(run, judgments, policy)
    position = np.arange(len(lists.scores))
    owner = list_of(position, lists.offsets)
    group = find_groups(groups, owner, lists.scores, position)
    above = groups.start[group] - lists.offsets[owner]
    inside = (lists.query[owner] >= 0) & (above < (NO_LIMIT if policy.depth is None else policy.depth))
    # Scores of a grid are steps; a person wants them on the scale of the run.
    width = policy.tie_precision
    step = width if isinstance(width, float | int) else 1.0
    columns = {"tied_score": lists.scores * step, "above": above, "tied": groups.size[group]}
    frame = run.frame if row_of is None else run.frame[row_of]
    frame = frame.with_columns(pl.Series(name, values) for name, values in columns.items()).filter(pl.Series(inside))
    return Documents(frame, groups.size[np.unique(group[inside])])


def _count_arrays(arrays: Arrays, policy: Policy) -> Standings:
    if policy.skip_first:
        raise PolicyError("skip_first needs a run with document ids. Drop the first results from the arrays instead.")
    scores, offsets = arrays.scores, arrays.offsets
    grades = whole_grades(arrays.grades, policy.float_grades, arrays.name)
    known = grades >= 0
    if policy.judged_only:
        scores, grades = scores[known], grades[known]
        offsets, known = np.searchsorted(np.flatnonzero(known), offsets), np.ones(len(scores), dtype=bool)
    item = (known if arrays.keep_zeros else grades > 0).nonzero()[0]
    pool = Pool(list_of(item, offsets), grades[item], item, _count_by_list(known, offsets))
    lists = Lists(round_to(scores, policy.tie_precision), offsets, np.arange(len(offsets) - 1))
    order = _array_order(offsets, policy.tie_order, policy.seed)
    groups = tie_groups(lists.scores, offsets)
    return build(pool, lists, groups, Found(item, np.arange(len(item))), order, depth=policy.depth)


def _count_corpus(source: CorpusScorer, judgments: Judgments, policy: Policy) -> Standings:
    _refuse_lists(source, policy)
    judgments = judgments_under(judgments, policy.float_grades)
    pool, query = _pool(judgments), align(source.query_ids, judgments.query_ids)
    pairs, judged = _judged_in_corpus(source, judgments, pool, query)

    def rounded(scores: NDArray[Any]) -> Floats:
        in_format = round_to(scores, source.format, saturate=True)
        return round_to(in_format, policy.tie_precision, saturate=True)

    order = _CorpusOrder(source, pairs, policy)
    counts = count_corpus(source, pairs, rounded, order.before)
    ahead = counts.ahead
    if order.open:
        ahead = np.where(counts.tied > 1, -1, 0)
    listed = np.zeros(len(pool.judged), dtype=np.int64)
    depth = NO_LIMIT if policy.depth is None else policy.depth
    listed[query[query >= 0]] = min(len(source.doc_ids), depth)
    inside = counts.above < depth
    unknown = np.zeros_like(listed)
    rows = _Rows(judged, counts.score, counts.above, counts.tied, ahead).take(inside)
    counted = _standings(pool, rows, (listed, unknown, unknown, unknown, unknown), policy.depth)
    return replace(counted, sources=judgments.source_codes, merged=True)


def _refuse_lists(source: CorpusScorer, policy: Policy) -> None:
    """Refuse what only lists have.

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


def _judged_in_corpus(source: CorpusScorer, judgments: Judgments, pool: Pool, query: Ints) -> tuple[Pairs, Ints]:
    """The judged documents that a corpus holds, for queries that it scores, and their indices in the pool.

    Args:
        source: the corpus.
        judgments: of the pool.
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
    return Pairs(row_of[pool.query[judged]], place[judged]), judged


class _CorpusOrder:
    """A tie order over a whole corpus: which of two documents with the same score comes first.

    Args:
        source: the corpus.
        pairs: the judged documents.
        policy: names the order.
    """

    def __init__(self, source: CorpusScorer, pairs: Pairs, policy: Policy) -> None:
        self.source, self.pairs, self.seed, self.name = source, pairs, policy.seed, policy.tie_order
        few = self.name == "input-below-16" and len(source.doc_ids) < INPUT_ORDERS[self.name].open_from  # type: ignore[operator]
        self.open = INPUT_ORDERS.get(self.name, TieOrder()).open_from is not None and not few
        self.compared = 0

    @property
    def before(self) -> Before | None:
        """From judged documents and places to whether the order puts those of the places first."""
        if self.open:
            return None
        return {"docid-desc": self._by_id, "docid-asc": self._by_id, "random": self._by_hash}.get(
            self.name, self._by_place
        )

    def _by_place(self, pairs: Ints, places: Ints) -> Bools:
        first: Bools = places < self.pairs.place[pairs]
        return first

    def _by_id(self, pairs: Ints, places: Ints) -> Bools:
        own = self.pairs.place[pairs]
        self.compared += len(pairs)
        # To rank the ids of a corpus takes as long as to compare as many pairs of them.
        if self.compared < len(self.source.doc_ids):
            ids = self.source.doc_ids
            left, right = ids.gather(places), ids.gather(own)
            return (left > right if self.name == "docid-desc" else left < right).to_numpy()
        first: Bools = self._rank[places] > self._rank[own]
        return first if self.name == "docid-desc" else self._rank[places] < self._rank[own]

    @cached_property
    def _rank(self) -> Ints:
        """[place] rank of each id among all, ascending by bytes."""
        rank = np.empty(len(self.source.doc_ids), dtype=np.int64)
        rank[self.source.doc_ids.arg_sort().to_numpy()] = np.arange(len(rank))
        return rank

    def _by_hash(self, pairs: Ints, places: Ints) -> Bools:
        own = self.pairs.place[pairs]
        queries = self.source.query_ids.gather(self.pairs.query[pairs]).to_list()
        left, right = (
            hash_keys(self.seed, queries, self.source.doc_ids.gather(each).to_list()).to_numpy()
            for each in (places, own)
        )
        first: Bools = left < right
        return first


def build(
    pool: Pool, lists: Lists, groups: TieGroups, found: Found, order: TieOrder, *, depth: int | None = None
) -> Standings:
    """Count above, tied and ahead of the judged documents found in some lists.

    Args:
        pool: every judged document.
        lists: every listed document.
        groups: the tie groups of the lists.
        found: which judged document is where.
        order: the tie order of the tie-broken value.
        depth: lists end at this rank.
    """
    owner = list_of(found.position, lists.offsets)
    score = lists.scores[found.position]
    of_row = find_groups(groups, owner, score, found.position)
    above = groups.start[of_row] - lists.offsets[owner]
    if depth is not None:  # what is past it in every order is not listed
        inside = above < depth
        found = Found(found.position[inside], found.judged[inside])
        owner, score, of_row, above = owner[inside], score[inside], of_row[inside], above[inside]
    ahead = count_ahead(groups, of_row, found.position, order)
    if order.open_from is not None:
        ahead[(groups.size[of_row] > 1) & (np.diff(lists.offsets)[owner] >= order.open_from)] = -1
    rows = _Rows(found.judged, score, above, groups.size[of_row], ahead)
    return _standings(pool, rows, _summarize_lists(groups, lists, len(pool.judged), depth), depth)


class _Rows(NamedTuple):
    """Judged documents that are listed, in any order.

    Attributes:
        judged: [row] index into the Pool.
        score: [row] as in Standings, and so are the others.
        above: [row]
        tied: [row]
        ahead: [row]
    """

    judged: Ints
    score: Floats
    above: Ints
    tied: Ints
    ahead: Ints

    def take(self, chosen: Bools) -> _Rows:
        """Some of them."""
        judged, score, above, tied, ahead = self
        return _Rows(judged[chosen], score[chosen], above[chosen], tied[chosen], ahead[chosen])


def _standings(pool: Pool, found: _Rows, lists: tuple[Ints, Ints, Ints, Ints, Ints], depth: int | None) -> Standings:
    """Standings of some rows.

    Args:
        pool: every judged document.
        found: those that are listed.
        lists: [query] listed, tied_documents, largest_group, last_above and last_tied of Standings.
        depth: lists end at this rank.
    """
    query, grade = pool.query[found.judged], pool.grade[found.judged]
    rows = np.lexsort((-grade, found.above, query))
    ranked = np.lexsort((-pool.grade, pool.query))
    listed = np.zeros(len(pool.grade), dtype=bool)
    listed[found.judged] = True
    return Standings(
        query[rows],
        grade[rows],
        found.above[rows],
        found.tied[rows],
        found.ahead[rows],
        found.score[rows],
        pool.query[ranked],
        pool.grade[ranked],
        pool.judged,
        *lists,
        item=pool.item[found.judged][rows],
        pool_item=pool.item[ranked],
        pool_listed=listed[ranked],
        depth=depth,
        facets=pool.facets,
    )


def _summarize_lists(
    groups: TieGroups, lists: Lists, queries: int, depth: int | None
) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """[query] listed, tied_documents, largest_group, last_above and last_tied of Standings."""
    listed, tied, largest, above, last = (np.zeros(queries, dtype=np.int64) for _ in range(5))
    lengths = lists.offsets[1:] - lists.offsets[:-1]
    filled = lengths > 0
    some = (filled & (lists.query >= 0)).nonzero()[0]
    query = lists.query[some]
    listed[query] = lengths[some] if depth is None else np.minimum(lengths[some], depth)
    if len(groups.score):
        first = groups.first[:-1][filled]
        place = (filled.cumsum() - 1)[some]
        whole = inside = groups.size
        if depth is not None:
            left = depth - groups.start[:-1] + lists.offsets[:-1].repeat(np.diff(groups.first))
            whole, inside = np.where(left > 0, whole, 0), np.clip(left, 0, whole)
        tied[query] = np.add.reduceat(inside * (groups.size > 1), first)[place]
        largest[query] = np.maximum.reduceat(whole, first)[place]
        final = groups.first[1:][some] - 1
        last[query] = groups.size[final]
        above[query] = groups.start[final] - lists.offsets[:-1][some]
    return listed, tied, largest, above, last


def _pool(judgments: Judgments) -> Pool:
    """The judged documents: those with a grade of at least 0."""
    grades = judgments.frame["grade"].to_numpy()
    owner = np.repeat(np.arange(len(judgments.query_ids)), np.diff(judgments.offsets))
    item, facets = np.flatnonzero(grades >= 0), None
    if "facet" in judgments.frame.columns:
        facets = _facets(judgments.frame, owner)
        grades = grades.copy()
        np.maximum.at(grades, facets.item, facets.grade)
        item = np.unique(facets.item)
    return Pool(owner[item], grades[item], item, np.bincount(owner[item], minlength=len(judgments.query_ids)), facets)


def _facets(frame: pl.DataFrame, owner: Ints) -> Facets:
    """The facets of every document that is judged for one; its index is that of its first row.

    Args:
        frame: of the judgments.
        owner: [row] index of the query.
    """
    rows = frame.with_columns(query=owner).with_row_index("row")
    rows = rows.with_columns(
        item=pl.col("row").min().over("query", "doc_id").cast(pl.Int64),
        code=pl.col("facet").rank("dense").cast(pl.Int64) - 1,
        place=pl.col("doc_id").rank("dense", descending=True).cast(pl.Int64) - 1,
    )
    judged = rows.filter(pl.col("grade") >= 0).sort("item", "code")
    item, code, grade = (judged[name].to_numpy() for name in ("item", "code", "grade"))
    return Facets(item, code, grade, rows["place"].to_numpy())


def _run_order(run: Run, row_of: Ints | None, name: str, seed: int) -> TieOrder:
    """The tie order of a run; row_of maps positions in the lists to rows of the run, None if they are the same."""
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
    """The tie order of arrays: documents are known by list and place only."""
    if name in INPUT_ORDERS:
        return INPUT_ORDERS[name]
    if name != "random":
        raise PolicyError(
            f"Tie order {name!r} needs document ids or ranks; arrays have {', '.join([*INPUT_ORDERS, 'random'])}."
        )
    return TieOrder(
        lambda position: hash_keys(seed, list(map(str, list_of(position, offsets))), list(map(str, position)))
    )
