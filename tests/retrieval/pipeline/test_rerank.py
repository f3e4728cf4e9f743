"""Reranking: the first documents of each list, scored from the outputs of a model in one format or another."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trueval import Judgments, Run
from trueval.collection import Collection
from trueval.errors import InputError
from trueval.numerics import round_to, storage_dtype
from trueval.retrieval.pipeline.rerank import rerank

DOCUMENTS = {f"d{place}": "x" * (place + 1) for place in range(8)}
COLLECTION = Collection("c", "c", DOCUMENTS, {"p": "ab", "q": "a"}, Judgments.from_dict({"p": {"d1": 1}}))
RUN = Run.from_dict({"q": {"d5": 1.0, "d2": 9.0, "d7": 4.0}, "p": {"d0": 2.0, "d1": 2.0, "d3": 1.0}}, name="first")


class PairModel:
    """Its logits are 8 and a little more for longer documents."""

    name, scoring, batch_size = "pairs", "sigmoid", 4

    def __init__(self, dtype: str = "bfloat16") -> None:
        self.dtype, self.seen = dtype, 0

    def settings(self) -> dict[str, Any]:
        return {"model": self.name, "path": "nowhere", "dtype": self.dtype}

    def pair_logits(self, pairs: Sequence[tuple[str, str]], names: Sequence[str]) -> Any:
        self.seen += len(pairs)
        return np.array([[8 + len(document) / 16] for _, document in pairs], dtype=storage_dtype(self.dtype))


class VectorModel:
    """Vectors of lengths of texts; late interaction has one vector for each letter."""

    name, dtype, batch_size = "vectors", "bfloat16", 4

    def __init__(self, scoring: str) -> None:
        self.scoring = scoring

    def settings(self) -> dict[str, Any]:
        return {"model": self.name, "path": self.scoring, "dtype": self.dtype}

    def embed_queries(self, texts: Sequence[str], names: Sequence[str]) -> Any:
        rows = [np.array([[1.0, len(text) / 8]] * len(text)).astype(storage_dtype("bfloat16")) for text in texts]
        return rows if self.scoring == "maxsim" else np.stack([row[0] for row in rows])

    embed_documents = embed_queries


def test_high_precision_keeps_apart_what_the_models_format_ties():
    low, high = (rerank(RUN, COLLECTION, PairModel(), scoring=form) for form in ("model", "float32"))
    assert low.frame.rows() == [
        *(("q", doc, 1.0) for doc in ("d2", "d7", "d5")),
        *(("p", doc, 1.0) for doc in ("d0", "d1", "d3")),
    ]
    assert high.documents["doc_id"].to_list() == ["d7", "d5", "d2", "d3", "d1", "d0"]
    logits = np.float32([8.5, 8.375, 8.1875])
    assert high.documents["score"].to_list()[:3] == pytest.approx((1 / (1 + np.exp(-logits))).tolist(), abs=1e-7)
    assert (high.name, high.source) == ("first", "pairs")


@pytest.mark.parametrize("scoring", ["product", "maxsim"])
@pytest.mark.parametrize("form", ["model", "float32"])
def test_embedders_rerank_by_product_and_maxsim(scoring: str, form: str):
    found = rerank(RUN, COLLECTION, VectorModel(scoring), scoring=form)
    for query, doc, score in found.frame.rows():
        one, other = len(COLLECTION.queries[query]), len(DOCUMENTS[doc])
        exact = 1 + one / 8 * other / 8
        if scoring == "maxsim":
            exact *= one  # every letter of the query finds the same best one
        assert score == (round_to([exact], "bfloat16")[0] if form == "model" else pytest.approx(exact, abs=1e-6))


def test_only_the_first_documents_are_scored(tmp_path: Path):
    pytest.importorskip("safetensors")
    model = PairModel()
    found = rerank(RUN, COLLECTION, model, depth=2, store=tmp_path, name="second")
    assert found.frame.select("query_id", "doc_id").rows() == [("q", "d7"), ("q", "d2"), ("p", "d1"), ("p", "d0")]
    assert found.name == "second"
    again = PairModel()
    assert rerank(RUN, COLLECTION, again, depth=2, store=tmp_path).frame.equals(found.frame)
    assert (model.seen, again.seen) == (4, 0)


def test_a_run_without_lists_stays_one(tmp_path: Path):
    frame = RUN.documents.clear()
    empty = Run(frame, RUN.query_ids.clear(), np.array([0]), "empty", "empty")
    for model in (PairModel(), VectorModel("product"), VectorModel("maxsim")):
        for store in (None, tmp_path):
            found = rerank(empty, COLLECTION, model, store=store)
            assert (found.frame.rows(), found.offsets.tolist()) == ([], [0])


def test_what_has_no_text_is_named():
    with pytest.raises(InputError, match=r"1 documents of first have no text, such as 'd9'"):
        rerank(Run.from_dict({"q": {"d9": 1.0, "d1": 1.0}}, name="first"), COLLECTION, PairModel())
    with pytest.raises(InputError, match=r"1 queries of first have no text, such as 'z'"):
        rerank(Run.from_dict({"z": {"d1": 1.0}}, name="first"), COLLECTION, PairModel())
