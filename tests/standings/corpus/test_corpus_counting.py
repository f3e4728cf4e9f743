"""Counting over a whole corpus, against runs that list all of it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.errors import InputError, PolicyError
from trueval.numerics import round_to
from trueval.policy.policy import Policy
from trueval.retrieval.tiles.numpy_tiles import ArrayProducts
from trueval.standings.corpus.corpus_scorer import CorpusScorer, PairScores
from trueval.standings.counting import count
from trueval.standings.kernel import passing
from trueval.standings.standings import PER_ROW, Standings

COLUMNS = (*PER_ROW, "listed", "judged", "pool_item", "pool_listed")


@dataclass(frozen=True, eq=False)
class Table:
    """A scorer whose scores are there already, cut into tiles; `change` is what happens to them on each computation."""

    scores: Any
    format: str = "float32"
    in_order: bool = False
    width: int = 7
    bound: float = 0.0
    name: str = "table"
    infinite: bool = True
    error: float = 0.0
    change: Callable[[Any, str], Any] = lambda scores, _: scores

    @property
    def query_ids(self) -> pl.Series:
        return pl.Series([f"q{query}" for query in range(len(self.scores))])

    @property
    def doc_ids(self) -> pl.Series:
        # In no order, and not that of their places.
        return pl.Series([f"d{document * 7 % 1009}" for document in range(self.scores.shape[1])])

    def blocks(self, queries: Any) -> Iterator["Block"]:
        for start in range(0, len(queries), 5):
            yield Block(self, queries[start : start + 5])


@dataclass(frozen=True, eq=False)
class Block:
    table: Table
    queries: Any

    def pairs(self, rows: Any, places: Any) -> PairScores:
        return PairScores(self.table.change(self.table.scores[self.queries], "pairs")[rows, places], self.table.error)

    def map(self, work: Callable[[Iterable[Any]], Any]) -> list[Any]:
        scores = self.table.change(self.table.scores[self.queries], "tiles")
        starts = range(0, scores.shape[1], self.table.width)
        halves = [starts[: len(starts) // 2], starts[len(starts) // 2 :]]
        return [work(self.tiles(scores, half)) for half in halves]

    def tiles(self, scores: Any, starts: Iterable[int]) -> Iterator[Any]:
        on = ArrayProducts(scores.dtype.name, None)
        for start in starts:
            part = scores[:, start : start + self.table.width]
            yield from on.tiles(part, start, self.table.bound or np.inf, on.scratch(3, part.shape[1]))


def world(
    queries: int = 8, documents: int = 130, judged: int = 6, values: int = 40, seed: int = 0
) -> tuple[Table, tv.Judgments]:
    """Scores of few different values, so that groups are large, and judgments of some documents."""
    rng = np.random.default_rng(seed)
    table = Table(rng.integers(-values, values, (queries, documents)).astype(np.float32) / 64)
    ids = table.doc_ids.to_list()
    grades = {
        query: {ids[d]: int(rng.integers(0, 3)) for d in rng.choice(documents, judged, replace=False)}
        for query in table.query_ids.to_list()
    }
    grades["q1"]["not in the corpus"] = 2
    grades["not scored"] = {ids[0]: 1}
    del grades["q2"]  # scored and not judged
    return table, tv.Judgments.of(grades)


def listed(table: Table) -> tv.Run:
    """The run that lists every document, its scores rounded to the format."""
    return tv.Run.from_arrays(
        round_to(table.scores, table.format), [table.doc_ids.to_list()] * len(table.scores), table.query_ids
    )


def assert_same(found: Standings, expected: Standings) -> None:
    orders = [np.lexsort((each.item, each.query)) for each in (found, expected)]
    for name in COLUMNS:
        left, right = getattr(found, name), getattr(expected, name)
        if name in PER_ROW:
            left, right = left[orders[0]], right[orders[1]]
        assert np.array_equal(left, right), name
    assert found.merged


@pytest.mark.parametrize(
    ("judged", "values", "width", "order"),
    [
        (1, 9999, 7, "docid-desc"),
        (6, 40, 7, "random"),
        (6, 40, 500, "docid-asc"),
        (30, 9999, 64, "docid-desc"),
        (12, 2, 7, "docid-asc"),  # judged documents tie with each other
    ],
)
@pytest.mark.parametrize("few", [None, 0, 1 / 50, 1])
def test_counts_are_those_of_a_run_that_lists_everything(
    judged: int, values: int, width: int, order: str, few: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few and many judged documents, scattered scores and large groups, across tiles and in one.

    The kernel counts, or documents are placed one by one never, where they are few, or always.
    """
    if few is None and not passing.is_compiled:
        pytest.skip("the kernel was not compiled")
    monkeypatch.setattr(passing, "is_compiled", few is None)
    monkeypatch.setattr("trueval.standings.corpus.tile_counts.FEW", few)
    table, judgments = world(judged=judged, values=values)
    policy = Policy(tie_order=order, tie_precision=0.1 if width == 500 else None, seed=3)
    assert_same(count(replace(table, width=width), judgments, policy), count(listed(table), judgments, policy))


@pytest.mark.parametrize("format", ["bfloat16", "float8_e4m3fn"])
@pytest.mark.parametrize("width", [20, 1000])
def test_scores_are_rounded_to_the_format_before_the_tie_precision(format: str, width: int) -> None:
    rng = np.random.default_rng(1)
    table, judgments = world()
    table = replace(table, scores=rng.normal(0, 1, table.scores.shape).astype(np.float32), format=format, width=width)
    policy = Policy(tie_precision=0.03)
    assert_same(count(table, judgments, policy), count(listed(table), judgments, policy))


def test_float64_is_counted_in_float64() -> None:
    """Scores 2^-40 apart are one score in float32, and none tie in float64."""
    table, judgments = world()
    apart = np.random.default_rng(4).permuted(np.tile(np.arange(130), (8, 1)), axis=1) * 2.0**-40
    table = replace(table, scores=table.scores.astype(np.float64) + apart, format="float64")
    found = count(table, judgments, Policy())
    assert_same(found, count(listed(table), judgments, Policy()))
    assert (found.tied == 1).all()
    rounded = count(replace(table, scores=table.scores.astype(np.float32), format="float32"), judgments, Policy())
    assert (rounded.tied > 1).mean() > 0.5


@pytest.mark.parametrize("choices", [{"depth": 20}, {"nonpositive": "not-retrieved"}, {"float_grades": "truncate"}])
def test_a_policy_does_what_it_does_to_a_run(choices: dict[str, Any]) -> None:
    table, judgments = world()
    assert_same(count(table, judgments, Policy(**choices)), count(listed(table), judgments, Policy(**choices)))


def test_the_order_of_a_corpus_breaks_ties_where_it_says_something() -> None:
    table, judgments = world()
    ordered = replace(table, in_order=True)
    assert_same(
        count(ordered, judgments, Policy(tie_order="input")), count(listed(table), judgments, Policy(tie_order="input"))
    )
    for order, source in (("input", table), ("rank", table), ("rank", ordered)):
        with pytest.raises(PolicyError, match="needs lists"):
            count(source, judgments, Policy(tie_order=order))
    for choice in ("skip_first", "judged_only"):
        with pytest.raises(PolicyError, match=f"{choice} needs lists"):
            count(table, judgments, Policy(**{choice: True}))


@pytest.mark.parametrize("order", ["average", "unspecified", "input-below-16"])
def test_an_order_that_is_not_known_is_not_known_here_either(order: str) -> None:
    table, judgments = world()
    policy = Policy(tie_order=order).counting
    assert_same(count(replace(table, in_order=True), judgments, policy), count(listed(table), judgments, policy))


@pytest.mark.parametrize("is_compiled", [True, False])
@pytest.mark.parametrize("order", ["docid-desc", "random", "average"])
@pytest.mark.parametrize(("format", "values"), [("float32", 40), ("float32", 10_000), ("bfloat16", 10_000)])
@pytest.mark.parametrize(
    ("error", "kept", "times"),
    [
        (0.0, 1 << 20, 2),  # the scores of the tiles are beyond what was expected, so all is counted again
        (0.05, 1 << 20, 1),  # documents of several scores wait for that of the judged document
        (0.05, 2, 2),  # more of them than are kept
    ],
)
def test_a_judged_document_is_compared_by_the_score_of_its_own_tile(
    error: float, kept: int, times: int, format: str, values: int, order: str, is_compiled: bool, monkeypatch: Any
) -> None:
    """Scores of single pairs that are not those of the tiles, by two steps of 1/64 at most."""
    monkeypatch.setattr(passing, "is_compiled", is_compiled and passing.is_compiled)
    monkeypatch.setattr("trueval.standings.corpus.counts.AT_ONCE", kept)
    table, judgments = world(values=values, judged=20)
    if values > 40:  # what 1/64 parts at random is no tie in float32, and one in bfloat16
        table = replace(table, scores=table.scores / 100)
    computed = []

    def away(scores: Any, of: str) -> Any:
        computed.append(of)
        steps = np.random.default_rng(5).integers(-2, 3, scores.shape).astype(np.float32) / 64
        return scores + steps if of == "pairs" else scores

    policy = Policy(tie_order=order).counting
    away_from_tiles = replace(table, change=away, error=error, format=format)
    assert_same(
        count(away_from_tiles, judgments, policy), count(listed(replace(table, format=format)), judgments, policy)
    )
    assert computed.count("tiles") == times * computed.count("pairs")


def test_a_product_that_cannot_be_repeated_is_refused() -> None:
    table, judgments = world()
    rng = np.random.default_rng(0)
    restless = replace(table, change=lambda scores, _: scores + rng.normal(0, 1e-3, scores.shape).astype(np.float32))
    with pytest.raises(InputError, match="other scores each time"):
        count(restless, judgments, Policy())


@pytest.mark.parametrize(("value", "format"), [(np.nan, "float32"), (500.0, "float8_e4m3fn"), (-1e5, "float16")])
@pytest.mark.parametrize("judged", [True, False])
def test_a_score_without_a_place_is_refused(value: float, format: str, judged: bool) -> None:
    table, judgments = world()
    of_q3 = judgments.frame.filter(pl.col("query_id") == "q3")["doc_id"].to_list()
    place = next(d for d, name in enumerate(table.doc_ids.to_list()) if (name in of_q3) == judged)
    scores = table.scores.copy()
    scores[3, place] = value
    with pytest.raises(
        InputError, match=rf"document '{table.doc_ids[place]}' for query 'q3' (is not|overflows|is {value})"
    ):
        count(replace(table, scores=scores, format=format), judgments, Policy())


def test_a_table_is_a_corpus_scorer() -> None:
    assert isinstance(world()[0], CorpusScorer)
    assert not isinstance(tv.Run.from_dict({"q": {"d": 1.0}}), CorpusScorer)


def test_infinite_scores_are_ranks_like_others() -> None:
    table, judgments = world(judged=3)
    scores = table.scores.copy()
    scores[:, ::50], scores[:, 1::60] = np.inf, -np.inf
    table = replace(table, scores=scores)
    assert_same(count(table, judgments, Policy()), count(listed(table), judgments, Policy()))


def test_a_corpus_without_a_judged_document_lists_all_of_its_documents() -> None:
    table, _ = world()
    judgments = tv.Judgments.of({"q0": ["elsewhere"], "q4": ["elsewhere"]})
    found = count(table, judgments, Policy())
    assert (len(found.query), found.listed.tolist()) == (0, [130, 130])
