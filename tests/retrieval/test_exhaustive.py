"""Exhaustive standings of embeddings against a full sort of the same tiles, and against the scores of φ."""

from dataclasses import replace
from itertools import product as combinations
from typing import Any

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.errors import InputError, PolicyError, TruevalWarning
from trueval.numerics import FORMATS, round_to, storage_dtype
from trueval.policy.policy import Policy
from trueval.retrieval.exhaustive import Embeddings, evaluate_corpus
from trueval.retrieval.tiles.numpy_tiles import ArrayProducts
from trueval.scoring import maxsim, product
from trueval.standings.counting import count
from trueval.standings.kernel import passing
from trueval.standings.standings import PER_ROW, Standings

QUERIES, DOCUMENTS, DIMENSION = 21, 300, 12


def embeddings(seed: int = 0, *, scoring: str = "product", whole: bool = False, **options: Any) -> Embeddings:
    """Vectors of which some documents share one, so that they tie; whole numbers have exact products."""
    rng = np.random.default_rng(seed)

    def vectors(rows: int) -> Any:
        drawn = rng.integers(-3, 4, (rows, DIMENSION)) if whole else rng.normal(0, 1, (rows, DIMENSION))
        return drawn.astype(np.float32)

    def texts(rows: int) -> Any:
        return vectors(rows) if scoring == "product" else [vectors(int(rng.integers(1, 6))) for _ in range(rows)]

    queries, documents = texts(options.pop("queries", QUERIES)), texts(options.pop("documents", DOCUMENTS))
    for copy in range(0, len(documents), 10):
        documents[copy] = documents[copy // 2]
    ids = [f"d{place * 7919 % 100_003}" for place in range(len(documents))]
    return Embeddings(
        queries, documents, [f"q{place}" for place in range(len(queries))], ids, scoring=scoring, **options
    )


def judged(source: Embeddings, each: int = 5, seed: int = 1) -> tv.Judgments:
    rng = np.random.default_rng(seed)
    ids = source.doc_ids.to_list()
    return tv.Judgments.of(
        {
            query: {ids[d]: int(rng.integers(0, 3)) for d in rng.choice(len(ids), each, replace=False)}
            for query in source.query_ids.to_list()
        }
    )


def sorted_tiles(source: Embeddings) -> tv.Run:
    """The run that lists every document with the score that it has in its tile."""
    scores = np.full((len(source.query_ids), len(source.doc_ids)), np.nan)
    for block in source.blocks(np.arange(len(source.query_ids))):

        def fill(tiles: Any, rows: Any = block.queries) -> None:
            for tile in tiles:
                row, column = np.indices((tile.queries.stop - tile.queries.start, tile.columns)).reshape(2, -1)
                scores[rows[tile.queries.start + row], tile.first + column] = tile.at(row, column)

        block.map(fill)
    assert not np.isnan(scores).any()
    return tv.Run.from_arrays(
        round_to(scores, source.format), [source.doc_ids.to_list()] * len(scores), source.query_ids
    )


def differing(found: Standings, expected: Standings) -> int:
    """How many judged documents have other counts."""
    orders = [np.lexsort((each.item, each.query)) for each in (found, expected)]
    same = np.ones(len(found.query), dtype=bool)
    for name in PER_ROW:
        same &= getattr(found, name)[orders[0]] == getattr(expected, name)[orders[1]]
    return int((~same).sum())


def check_all(source: Embeddings, orders: tuple[str, ...] = ("docid-desc", "random")) -> None:
    judgments, run = judged(source), sorted_tiles(source)
    for order, precision in combinations(orders, (None, 0.05, "float16")):
        policy = Policy(tie_order=order, tie_precision=precision)
        assert differing(count(source, judgments, policy), count(run, judgments, policy)) == 0


@pytest.mark.parametrize("scoring", ["product", "maxsim"])
@pytest.mark.parametrize("format", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("is_compiled", [True, False])
def test_standings_are_those_of_a_full_sort_of_the_tiles(
    scoring: str, format: str, is_compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passing, "is_compiled", is_compiled and passing.is_compiled)
    check_all(embeddings(scoring=scoring, format=format, height=32, width=64), ("docid-desc",))


@pytest.mark.parametrize("scoring", ["product", "maxsim"])
def test_the_last_block_may_have_fewer_queries(scoring: str) -> None:
    source = embeddings(scoring=scoring, queries=103, documents=100, height=160 if scoring == "maxsim" else 64)
    sizes = [len(block.queries) for block in source.blocks(np.arange(103))]
    assert sizes[-1] < sizes[0]
    check_all(source)


@pytest.mark.parametrize("scoring", ["product", "maxsim"])
def test_tiles_hold_the_scores_of_phi(scoring: str) -> None:
    """Up to the order of a float32 sum; exactly where products are whole numbers."""
    source = embeddings(scoring=scoring, format="bfloat16", whole=True, storage="float8_e5m2")
    documents = [round_to(each, "float8_e5m2").astype(np.float32) for each in source.documents]
    expected = (
        product(source.queries, np.stack(documents), "bfloat16")
        if scoring == "product"
        else np.stack([maxsim(query, documents, "bfloat16") for query in source.queries])
    )
    assert np.array_equal(sorted_tiles(source).documents["score"].to_numpy().reshape(expected.shape), expected)


@pytest.mark.parametrize("scoring", ["product", "maxsim"])
def test_blocks_change_nothing_where_products_are_exact(scoring: str) -> None:
    source = embeddings(scoring=scoring, whole=True)
    judgments, policy = judged(source), Policy()
    expected = count(source, judgments, policy)
    for height, width in ((32, 32), (64, 100), (512, 8192)):
        assert differing(count(replace(source, height=height, width=width), judgments, policy), expected) == 0


@pytest.mark.parametrize(
    ("scoring", "format", "documents", "beside"),
    [
        ("product", "float32", 300, 1),
        ("product", "bfloat16", 300, 1),
        ("product", "float32", 6000, 1),
        ("maxsim", "float32", 300, 2),
        ("maxsim", "float32", 3000, 2),
    ],
)
def test_products_that_depend_on_the_column_are_not_all_computed_twice(
    scoring: str, format: str, documents: int, beside: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in OpenBLAS, where the last bits of some columns of a tile differ from those of others.

    `beside` is how many products hold the judged documents side by side; one more tells how far scores are apart.
    """
    computed = []

    def uneven(self: ArrayProducts, queries: Any, documents: Any, scratch: Any) -> Any:
        computed.append(documents.shape)
        product = np.matmul(queries, documents.T)
        product[:, ::3] = np.nextafter(product[:, ::3], np.float32(9))
        return product

    monkeypatch.setattr(ArrayProducts, "product", uneven)
    source = embeddings(scoring=scoring, format=format, width=32, documents=documents)
    judgments = judged(source, 2)
    expected = count(sorted_tiles(source), judgments, Policy())
    tiles = len(computed)
    assert differing(count(source, judgments, Policy()), expected) == 0
    assert len(computed) == tiles + tiles + beside + 1


def test_a_query_alone_is_scored_as_among_others() -> None:
    """A product with one query is another kernel in NumPy and torch, with other last bits; tiles are never so low."""
    source = embeddings()
    alone = replace(source, queries=source.queries[4:5], query_ids=["q4"])
    one, all_of_them = (count(each, judged(source), Policy()) for each in (alone, source))
    mine = all_of_them.query == 4
    assert np.array_equal(one.score, all_of_them.score[mine])
    assert np.array_equal(one.above, all_of_them.above[mine])
    vector = source.queries[4] @ source.documents.T
    assert vector.shape == (DOCUMENTS,)


@pytest.mark.parametrize("scoring", ["product", "maxsim"])
def test_tensors_are_counted_as_arrays_are(scoring: str) -> None:
    torch = pytest.importorskip("torch")
    source = embeddings(scoring=scoring, whole=True, format="bfloat16")
    given = [
        torch.from_numpy(each) if scoring == "product" else [torch.from_numpy(one) for one in each]
        for each in (source.queries, source.documents)
    ]
    # With 40 judged documents rows are sorted, with few they are compared.
    judgments = judged(source, each=40 if scoring == "product" else 5)
    tensors = replace(source, queries=given[0], documents=given[1], width=160)
    for policy in (Policy(), Policy(tie_order="docid-asc", tie_precision=1e6)):
        assert differing(count(tensors, judgments, policy), count(source, judgments, policy)) == 0


def test_arrays_go_to_a_device_of_torch() -> None:
    pytest.importorskip("torch")
    source = embeddings(whole=True)
    low = source.documents.astype(storage_dtype("bfloat16"))
    moved = replace(source, documents=low, device="cpu", width=64)
    assert differing(count(moved, judged(source), Policy()), count(source, judged(source), Policy())) == 0


def test_evaluation_is_that_of_a_run_that_lists_everything() -> None:
    source = embeddings(format="bfloat16")
    judgments = judged(source)
    found = evaluate_corpus(source, judgments, "nDCG@10 AP RR", tie_precision=0.1)
    listed = tv.evaluate(sorted_tiles(source), judgments, "nDCG@10 AP RR", tie_precision=0.1)
    for name in ("expected", "lowest", "highest", "tie_broken", "sd"):
        assert np.array_equal(getattr(found, name), getattr(listed, name)), name
    assert (found.ties.tied_fraction, found.ties.largest_group, found.ties.documents) == (
        None,
        None,
        QUERIES * DOCUMENTS,
    )
    assert found.to_dict()["ties"] == {
        "tied_fraction": None,
        "largest_group": None,
        "cut_queries": [],
        "documents": QUERIES * DOCUMENTS,
    }
    assert repr(found)


def test_queries_that_nobody_judged_are_said() -> None:
    source = embeddings()
    with pytest.warns(TruevalWarning, match="without judgments and left out: 20 queries"):
        scores = evaluate_corpus(source, {"q3": [source.doc_ids[7]]}, "RR")
    assert scores.query_ids == ("q3",)
    with pytest.warns(TruevalWarning, match="no retrieved document is judged"):
        evaluate_corpus(source, {query: ["elsewhere"] for query in source.query_ids.to_list()}, "RR")


def test_memory_maps_stay_on_disk(tmp_path: Any) -> None:
    source = embeddings()
    np.save(tmp_path / "rows.npy", source.documents)
    mapped = replace(source, documents=np.load(tmp_path / "rows.npy", mmap_mode="r"))
    assert differing(count(mapped, judged(source), Policy()), count(source, judged(source), Policy())) == 0


def test_what_cannot_be_scored_is_refused() -> None:
    source = embeddings()
    with pytest.raises(PolicyError, match="needs lists"):
        evaluate_corpus(source, judged(source), "RR", tie_order="input")
    with pytest.raises(PolicyError, match="Scoring of a corpus must be one of product, maxsim"):
        replace(source, scoring="cosine")
    with pytest.raises(InputError, match="doc_ids must be one for each embedding"):
        replace(source, doc_ids=source.doc_ids[1:])
    with pytest.raises(InputError, match="the id 'q1' appears twice in query_ids"):
        replace(source, query_ids=["q1"] * QUERIES)
    with pytest.raises(InputError, match="vectors of one dimension"):
        replace(source, queries=source.queries[:, 1:])
    broken = source.documents.copy()
    broken[17, 3] = np.inf
    with pytest.raises(InputError, match="Embeddings must be finite"):
        count(replace(source, documents=broken, format="bfloat16"), judged(source), Policy())
    tokens = embeddings(scoring="maxsim")
    tokens.documents[4] = tokens.documents[4][:0]
    with pytest.raises(InputError, match=f"{source.doc_ids[4]!r} has none"):
        count(tokens, judged(tokens), Policy())


@pytest.mark.parametrize("format", ["float32", "bfloat16"])
@pytest.mark.parametrize("judged_id", ["b", "c"])
def test_products_that_overflow_do_not_tie(format: str, judged_id: str) -> None:
    queries = np.full((1, 2), 3e19, dtype=np.float32)
    documents = np.array([[3e19, 3e19], [2e19, 2.5e19], [1.0, 0.0]], dtype=np.float32)
    source = Embeddings(queries, documents, ["q"], ["a", "b", "c"], format=format)
    with pytest.raises(InputError, match=f"for query 'q' is inf, which overflows {format}"):
        count(source, tv.Judgments.of({"q": [judged_id]}), Policy())


@pytest.mark.parametrize("storage", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("format", ["float32", "float64"])
def test_torch_stores_embeddings_of_float64_as_numpy_does(storage: str, format: str) -> None:
    """A value just above a half of the storage would become that half in float32, and then go down."""
    pytest.importorskip("torch")
    half = 1 + 2.0 ** -(FORMATS[storage].mantissa_bits + 1)
    documents = np.array([[half + 2.0**-40], [half], [half - 2.0**-40]])
    source = Embeddings(np.ones((1, 1)), documents, ["q"], ["a", "b", "c"], storage=storage, format=format)
    judgments = tv.Judgments.of({"q": ["a", "b", "c"]})
    found, expected = (count(each, judgments, Policy()) for each in (replace(source, device="cpu"), source))
    assert found.score.tolist() == expected.score.tolist()
    assert len(set(expected.score)) == 2


@pytest.mark.parametrize("device", [None, "cpu"])
@pytest.mark.parametrize("stored", [True, False])
def test_what_is_too_large_for_float8_is_refused_and_not_made_its_largest_number(
    device: str | None, stored: bool
) -> None:
    if device is not None:
        pytest.importorskip("torch")
    judgments = tv.Judgments.of({"q": ["a", "b"]})
    for value, known in ((464.0, True), (464.001, False)):
        queries = [np.ones((1, 1), dtype=np.float32)]
        documents = [np.full((1, 1), each, dtype=np.float32) for each in (value, 448.0)]
        choices = {"storage": "float8_e4m3fn"} if stored else {"format": "float8_e4m3fn"}
        source = Embeddings(queries, documents, ["q"], ["a", "b"], scoring="maxsim", device=device, **choices)
        if known:
            assert count(source, judgments, Policy()).tied.tolist() == [2, 2]
        else:
            with pytest.raises(InputError, match="overflows float8_e4m3fn"):
                count(source, judgments, Policy())


def test_every_query_needs_a_token() -> None:
    tokens = [np.ones((rows, 2), dtype=np.float32) for rows in (2, 0)]
    source = Embeddings(tokens, tokens[:1], ["p", "q"], ["a"], scoring="maxsim")
    with pytest.raises(InputError, match="'q' has none"):
        count(source, tv.Judgments.of({"p": ["a"], "q": ["a"]}), Policy())


def test_no_vector_is_longer_than_the_bound() -> None:
    """Parallel vectors have the product of their lengths, which float32 rounds down as often as up."""
    for seed in range(50):
        query = np.random.default_rng(seed).normal(0, 1, (1, 7)).astype(np.float32)
        on = embeddings().on
        assert on.length(query) ** 2 >= float((query @ query.T)[0, 0])


@pytest.mark.evidence
@pytest.mark.parametrize("scoring", ["product", "maxsim"])
@pytest.mark.parametrize("kind", ["kernel", "numpy", "torch"])
@pytest.mark.parametrize("format", ["float64", "float32", "bfloat16", "float16", "float8_e4m3fn", "float8_e5m2"])
def test_any_format_and_any_block_equal_a_full_sort(
    scoring: str, kind: str, format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ties across the borders of tiles, slabs and blocks of queries; the copies of a document are far from it."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(passing, "is_compiled", kind == "kernel" and passing.is_compiled)
    base = embeddings(seed=2, scoring=scoring, format=format, documents=2000)
    if format.startswith("float8"):
        shrunk = [each / 8 for each in base.queries]
        base = replace(base, queries=np.stack(shrunk) if scoring == "product" else shrunk)
    if kind == "torch":
        given = [
            torch.from_numpy(each) if scoring == "product" else [torch.from_numpy(one) for one in each]
            for each in (base.queries, base.documents)
        ]
        base = replace(base, queries=given[0], documents=given[1])
    for height, width in combinations((32, 40, 512), (32, 500, 8192)):
        check_all(replace(base, height=height, width=width), ("docid-desc", "random"))


@pytest.mark.evidence
@pytest.mark.parametrize("width", [32, 500, 8192])
def test_a_tie_precision_is_equal_for_all_blocks_and_libraries(width: int) -> None:
    """Scores within 2^-18 of a border of the grid could fall on either side; here none is."""
    torch = pytest.importorskip("torch")
    base = embeddings(seed=3, documents=3000)
    scores = sorted_tiles(base).documents["score"].to_numpy() / 0.01
    assert np.abs(scores - np.floor(scores) - 0.5).min() > 0
    policy, judgments = Policy(tie_precision="bfloat16"), judged(base)
    expected = count(base, judgments, policy)
    tensors = replace(base, queries=torch.from_numpy(base.queries), documents=torch.from_numpy(base.documents))
    for source in (base, tensors):
        assert differing(count(replace(source, height=32, width=width), judgments, policy), expected) == 0


def test_ids_of_the_source_are_series() -> None:
    source = embeddings()
    assert isinstance(source.doc_ids, pl.Series)
    assert "on=" not in repr(source)
