"""Pairs: whatever scores a query with a document can rerank, with the same scores alone, in a run and in an audit."""

from types import SimpleNamespace

import numpy as np
import pytest

from trueval.collection import Collection
from trueval.errors import PolicyError
from trueval.judgments import Judgments
from trueval.models.pair_scores import pair_scores, scoring_format
from trueval.numerics import round_to
from trueval.retrieval.pipeline.rerank import rerank
from trueval.run import Run


@pytest.mark.parametrize(
    "recipe", ["late-interaction", "cross-encoder", "multilingual-e5-large", "sparse-encoder", "multi-vector"]
)
@pytest.mark.parametrize("form", ["float32", "model"])
def test_models_of_every_kind_rerank(folder_of, tiny, recipe: str, form: str) -> None:
    from trueval.models import load_model

    model = load_model(f"{recipe}:{folder_of(recipe)}", dtype="bfloat16", device="cpu", batch_size=1)
    documents = {f"d{place}": text for place, text in enumerate(tiny.DOCUMENTS)}
    read = Collection("c", "c", documents, {"q": tiny.QUERY}, Judgments.from_dict({"q": {"d0": 1}}))
    run = Run.from_dict({"q": dict.fromkeys(documents, 1.0)}, name="first")
    found = rerank(run, read, model, scoring=form)
    alone = model.scores(tiny.QUERY, tiny.DOCUMENTS, "bfloat16" if form == "model" else form)
    scores = {doc: score for _, doc, score in found.frame.rows()}
    assert [scores[doc] for doc in documents] == alone.astype(np.float64).tolist()
    if recipe == "late-interaction":
        (query,), tokens = model.embed_queries([tiny.QUERY]), model.embed_documents(tiny.DOCUMENTS)
        similar = [query.astype(np.float32) @ each.astype(np.float32).T for each in tokens]
        exact = [float(each.max(axis=1).sum()) for each in similar]
        assert alone.tolist() == pytest.approx(exact, rel=1e-5 if form == "float32" else 2e-2)
        assert (round_to(alone, "bfloat16") == alone).all() == (form == "model")


def test_a_softmax_over_a_list_is_one_of_its_own_products() -> None:
    queries, documents = np.eye(2), np.array([[0.5, 1.0], [0.25, 0.0], [0.75, 0.5]])
    arrays = {"queries": queries, "documents": documents}
    found = pair_scores(arrays, [np.array([2, 0]), np.array([0, 1, 2])], "softmax(4)", "float32")
    first, second = np.exp([3.0, 2.0]), np.exp([4.0, 0.0, 2.0])
    assert found.tolist() == pytest.approx([*first / first.sum(), *second / second.sum()], rel=1e-6)


def test_finished_scores_stay_as_they_are() -> None:
    scores = np.array([[0.1 + 2**-50], [0.1], [0.9]])
    lists = [np.array([0, 1]), np.array([0])]
    assert pair_scores({"pairs": scores}, lists, "none", "float64").tolist() == scores[:, 0].tolist()
    model = SimpleNamespace(name="m", scoring="none", dtype="float64")
    assert {scoring_format(model, asked) for asked in ("model", "float32", "float64")} == {"float64"}
    with pytest.raises(
        PolicyError, match="m gives finished scores: there are no logits or vectors to score in float16"
    ):
        scoring_format(model, "float16")


def test_formats_are_those_that_are_asked_for() -> None:
    model = SimpleNamespace(name="m", scoring="sigmoid", dtype="bfloat16")
    assert [scoring_format(model, asked) for asked in ("model", "float32")] == ["bfloat16", "float32"]
    with pytest.raises(PolicyError, match="must be one of"):
        scoring_format(model, "float12")
