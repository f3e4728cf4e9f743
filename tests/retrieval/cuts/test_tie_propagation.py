"""Travel: a document that a stage cuts by chance, followed to the context at the end."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from tests.extras import need
from tests.retrieval import models

from trueval import Judgments
from trueval.collection import Collection
from trueval.errors import PolicyError
from trueval.report.formats import to_json
from trueval.report.number_texts import FRACTIONS
from trueval.report.view_texts import write
from trueval.retrieval.cuts.cuts_result import TieEnds
from trueval.retrieval.cuts.tie_propagation import cut_pipeline
from trueval.retrieval.pipeline.config import settings_of_tables
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.retrieval.views import cuts as views

need("faiss", "bm25s", extra="retrieval")

# One query word; every text has it once and as many words as others, so that BM25 gives c, d, e, f the same score.
DOCUMENTS = {
    "a": "lift lift lift one",
    "b": "lift lift two three",
    "c": "lift four five six",
    "d": "lift seven eight nine",
    "e": "lift ten eleven twelve",
    "f": "lift wing drag heat",
    "g": "plate shock flow layer",
}
GOOD = {"d": 9.0, "f": 8.0}  # what the reranker likes


class Reranker:
    """Likes some documents by their first own word; remembers the pairs that it saw."""

    name, batch_size, dtype, scoring = "liking", 8, "float32", "sigmoid"

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.pair_logits = self.logits

    def settings(self) -> dict[str, Any]:
        return {"model": self.name, "path": "nowhere", "dtype": self.dtype, "scoring": self.scoring}

    def logits(self, pairs: Sequence[tuple[str, str]], names: Sequence[str]) -> Any:
        ids = {text: doc for doc, text in DOCUMENTS.items()}
        self.seen += [ids[text] for _, text in pairs]
        return np.array([[GOOD.get(ids[text], -float(ord(ids[text]) - 96))] for _, text in pairs], dtype=np.float32)


@pytest.fixture
def collection() -> Collection:
    return Collection("made", "made", DOCUMENTS, {"q": "lift"}, Judgments.from_dict({"q": {"d": 1, "f": 1}}))


@pytest.fixture
def reranker(monkeypatch: pytest.MonkeyPatch) -> Reranker:
    made = Reranker()
    models.use(monkeypatch, lambda name: made)
    return made


def pipeline(**tables: Any) -> Pipeline:
    return Pipeline(
        settings_of_tables({"sparse": {"index": "bm25(language=None)", "depth": 3}, **tables}, "test"), "mine"
    )


def test_one_index_is_asked_for_k_itself(collection: Collection):
    found = cut_pipeline(pipeline(), collection, 4, judgments=collection.judgments)
    (cut,) = found.inside
    assert (cut.above, cut.size, cut.slots) == (2, 4, 2)
    assert found.stages is None
    assert found.calls is not None
    assert found.causes[0].name == "equal scores"


def test_a_cut_before_the_reranker_travels_to_the_context(collection: Collection, reranker: Reranker):
    """Three of six go to the reranker: one of c, d, e, f by chance, of which d and f would be first after it."""
    found = cut_pipeline(pipeline(rerank={"model": "liking"}), collection, 2, judgments=collection.judgments, repeats=2)
    assert not found.inside
    assert found.stages is not None
    sparse, last, every = found.stages.stages
    assert [sparse.name, last.name, every.name] == ["sparse", "rerank", "all"]
    assert (sparse.depth, sparse.cut, sparse.largest_group, sparse.enumerated) == (3, 1, 4, 1)
    assert sparse.calls.differed_by_ties == 0
    # As it is: a, b, c → a, b. By the order of ties the third is c, d, e or f: d and f come first, and b leaves.
    assert (sparse.changed, sparse.replaced) == (1, pytest.approx(np.mean([0, 1 / 2, 0, 1 / 2])))
    assert sparse.measures["R@2"] == TieEnds(0.25, 0.0, 0.5)
    assert (last.changed, last.cut, last.replaced) == (0, 0, 0.0)
    assert every.sampled == 1
    assert write(views.answer(found.result()), FRACTIONS) == (
        "In none of 1 query does the cut at 2 fall inside a group of equal scores, but ties of earlier stages change "
        "the context of 1."
    )
    assert abs(every.replaced - 0.25) < 4.5 * 0.25 / 50**0.5
    assert sorted(reranker.seen) == ["a", "b", "c", "d", "e", "f"]
    told = repr(found.result())
    assert "1 enumerated" in told
    assert to_json(found.to_dict())


def test_a_repair_is_left_out_and_said(collection: Collection, reranker: Reranker):
    tables = {"rerank": {"model": "liking"}, "repair": {"k": 2}}
    found = cut_pipeline(pipeline(**tables), collection, 2, repeats=2)
    assert found.stages is not None
    assert [stage.name for stage in found.stages.stages] == ["sparse", "rerank", "all"]
    assert "[repair] is left out: the scores before it are what makes documents tie." in found.notes


def test_ties_that_the_reranker_makes_are_cut_at_the_end(collection: Collection, reranker: Reranker, monkeypatch: Any):
    monkeypatch.setattr(reranker, "pair_logits", lambda pairs, names: np.zeros((len(pairs), 1), dtype=np.float32))
    found = cut_pipeline(pipeline(rerank={"model": "liking"}), collection, 2, repeats=1)
    (cut,) = found.inside
    assert (cut.above, cut.size, cut.slots, found.causes[0].name) == (0, 3, 2, "reranker")
    assert found.stages is not None
    last = next(stage for stage in found.stages.stages if stage.name == "rerank")
    assert (last.cut, last.enumerated, last.replaced) == (1, 1, pytest.approx(1 / 3))


def test_ties_of_fusion_equal_the_enumeration_of_both_lists(collection: Collection, monkeypatch: pytest.MonkeyPatch):
    """RRF of a list of words and one of vectors; every order of the words' ties, fused by hand in fractions."""
    ranks = {"e": 1, "d": 2, "c": 3, "b": 4, "a": 5}
    ids = {text: doc for doc, text in DOCUMENTS.items()}

    class Embedder(Reranker):
        scoring = "product"

        def embed_documents(self, texts: Sequence[str], names: Sequence[str]) -> Any:
            return np.array([[1.0, 9.0 - ranks.get(ids[text], 9)] for text in texts], dtype=np.float32)

        def embed_queries(self, texts: Sequence[str], names: Sequence[str]) -> Any:
            return np.array([[0.0, 1.0]], dtype=np.float32)

    models.use(monkeypatch, lambda name: Embedder())
    tables = {"embed": {"model": "x", "dtype": "float32"}, "index": {"depth": 5}, "fuse": {"k": 1}}
    made = pipeline(**tables, sparse={"index": "bm25(language=None)", "depth": 5})
    found = cut_pipeline(made, collection, 3, repeats=1, draws=24, judgments=collection.judgments)
    assert found.stages is not None
    stages = {stage.name: stage for stage in found.stages.stages}
    assert list(stages) == ["dense", "sparse", "fuse", "all"]
    words = ["a", "b", "c", "d", "e", "f"]
    scores = dict(zip(words, [3, 2, 1, 1, 1, 1], strict=True))
    orders = {way[:5] for way in permutations(words) if all(scores[x] >= scores[y] for x, y in pairwise(way))}

    def fused(order: Sequence[str]) -> list[str]:
        total = {doc: Fraction(1, 1 + rank) for doc, rank in ranks.items()}
        for rank, doc in enumerate(order, start=1):
            total[doc] = total.get(doc, Fraction(0)) + Fraction(1, 1 + rank)
        first = [*ranks, "f"]  # equal sums stand as the first list has them
        return sorted(total, key=lambda doc: (-total[doc], first.index(doc)))[:3]

    base = fused(("a", "b", "c", "d", "e"))
    lost = [1 - len(set(base) & set(fused(order))) / 3 for order in orders]
    assert stages["sparse"].replaced == pytest.approx(np.mean(lost))
    assert (stages["sparse"].enumerated, stages["sparse"].sampled) == (1, 0)
    recalls = [len({"d", "f"} & set(fused(order))) / 2 for order in orders]
    told = stages["sparse"].measures["R@3"]
    assert (told.expected, told.low, told.high) == (pytest.approx(np.mean(recalls)), min(recalls), max(recalls))


@pytest.fixture
def vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products that bfloat16 rounds to the same for c and d, and no index does."""
    products = {"a": 4.0, "c": 2.001, "d": 2.0, "b": 1.0}

    class Embedder(Reranker):
        scoring = "product"

        def embed_documents(self, texts: Sequence[str], names: Sequence[str]) -> Any:
            ids = {text: doc for doc, text in DOCUMENTS.items()}
            return np.array([[products.get(ids[text], 0.0)] for text in texts], dtype=np.float32)

        def embed_queries(self, texts: Sequence[str], names: Sequence[str]) -> Any:
            return np.ones((1, 1), dtype=np.float32)

    models.use(monkeypatch, lambda name: Embedder())


def of_vectors(depth: int, **tables: Any) -> Pipeline:
    index = {"depth": depth, "scoring": "bfloat16"}
    return Pipeline(settings_of_tables({"embed": {"model": "x"}, "index": index, **tables}, "test"), "mine")


@pytest.mark.filterwarnings("ignore:.*all zeros")  # which tie
@pytest.mark.usefixtures("vectors")
def test_ties_of_scores_taken_anew_travel_too(collection: Collection):
    found = cut_pipeline(of_vectors(4), collection, 2, repeats=1, draws=6)
    assert found.inside[0].documents == ("c", "d")
    assert found.stages is not None
    dense, scoring, every = found.stages.stages
    assert [dense.name, scoring.name, every.name] == ["dense", "scoring", "all"]
    assert (dense.changed, scoring.changed, every.changed) == (0, 1, 1)
    assert (scoring.depth, scoring.cut, scoring.enumerated, scoring.replaced) == (2, 1, 1, 0.25)
    joined = of_vectors(4, sparse={"index": "bm25(language=None)", "depth": 1}, fuse={"k": 1})
    stages = cut_pipeline(joined, collection, 2, repeats=1, draws=6).stages
    assert stages is not None
    assert {stage.name: stage.changed for stage in stages.stages} == {
        "dense": 0,
        "sparse": 0,
        "scoring": 1,
        "fuse": 0,
        "all": 1,
    }


@pytest.mark.filterwarnings("ignore:.*all zeros")  # which tie
@pytest.mark.usefixtures("vectors")
def test_a_list_that_a_stage_ends_at_k_hides_no_cut(collection: Collection):
    found = cut_pipeline(of_vectors(2), collection, 2, repeats=1, draws=2).to_dict()
    assert (found["summary"]["cut"], found["summary"]["open"]) == (0, 1)
    # Words find a and b, vectors a and c: the sums of b and c are equal, and [fuse] depth ends the list between them.
    words = {"index": "bm25(language=None)", "depth": 2}
    joined = of_vectors(2, sparse=words, fuse={"k": 1, "depth": 2})
    assert cut_pipeline(joined, collection, 2, repeats=1, draws=2).inside[0].documents == ("c", "b")
    # A context holds no more documents than the pipeline gives.
    stages = cut_pipeline(joined, collection, 3, repeats=1, draws=2).stages
    assert stages is not None
    assert [(stage.depth, stage.cut) for stage in stages.stages if stage.name == "fuse"] == [(2, 1)]


def test_the_same_seed_gives_the_same_and_draws_must_be_some(collection: Collection, reranker: Reranker):
    made = pipeline(rerank={"model": "liking"})
    one, two = (cut_pipeline(made, collection, 2, draws=3, repeats=1, seed=4).to_dict() for _ in range(2))
    assert one == two
    assert one["stages"]["stages"][0]["sampled"] == 1
    with pytest.raises(PolicyError, match="draws must be an integer >= 1"):
        cut_pipeline(made, collection, 2, draws=0)
