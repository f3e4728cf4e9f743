"""The audit of tiny random models: their head or attention alone in another format, and a softmax of similarities."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.extras import need
from tests.models.tiny import BUILDERS, DOCUMENTS, QUERY

import trueval as tv
from trueval.errors import PolicyError
from trueval.models.loading import load_embedder, load_reranker
from trueval.numerics import round_to
from trueval.precision.audit_precision import audit_precision
from trueval.precision.audit_result import PrecisionAudit
from trueval.precision.batch_effects import audit_batches
from trueval.precision.model_passes import missing_passes
from trueval.precision.views.audit import formats, view
from trueval.precision.views.card import model_card
from trueval.scoring import softmax

need("torch", "transformers", "sentence_transformers", "safetensors", extra="models")

PARTS = ("head=float32", "attention=bfloat16")
TEXTS = [DOCUMENTS[0], *DOCUMENTS, *(f"{each} {each}" for each in DOCUMENTS), *(f"{each} yes" for each in DOCUMENTS)]


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    return cache(lambda name: BUILDERS[name](tmp_path_factory.mktemp(name)))


@pytest.fixture(scope="module")
def collection() -> tv.Collection:
    documents = {f"d{at}": text for at, text in enumerate(TEXTS)}
    judgments = tv.Judgments.from_dict({"q": {name: int(at % 3 == 1) for at, name in enumerate(documents)}})
    return tv.Collection("c", "c", documents, {"q": QUERY}, judgments)


@pytest.fixture(scope="module")
def found(collection: tv.Collection, folder_of: Callable[[str], Path]) -> PrecisionAudit:
    place = f"cross-encoder:{folder_of('cross-encoder')}"
    return audit_precision(collection, place, "nDCG@10", parts=PARTS, device="cpu").result()


def test_each_part_is_a_pass_scored_in_every_format(found: PrecisionAudit) -> None:
    assert [each.label for each in found.regimes] == [
        "bfloat16_bfloat16",
        "bfloat16_float32",
        "bfloat16+head=float32_bfloat16",
        "bfloat16+head=float32_float32",
        "bfloat16+attention=bfloat16_bfloat16",
        "bfloat16+attention=bfloat16_float32",
        "float32_float32",
        "float32+attention=bfloat16_float32",
    ]
    assert [each.get("parts") for each in found.passes or ()] == [
        None,
        {"head": "float32"},
        {"attention": "bfloat16"},
        None,
        {"attention": "bfloat16"},
    ]
    reference = next(each for each in found.regimes if each.label == "float32_float32")
    assert reference.agreement is None
    others = [each.agreement for each in found.regimes if each is not reference]
    assert all(each is not None and each.reference == "float32_float32" for each in others)
    assert PrecisionAudit.from_dict(found.to_dict()).to_dict() == found.to_dict()


def test_values_are_those_of_logits_scored_by_hand(
    found: PrecisionAudit, collection: tv.Collection, folder_of: Callable[[str], Path]
) -> None:
    model = load_reranker(
        f"cross-encoder:{folder_of('cross-encoder')}", dtype="bfloat16", device="cpu", parts={"head": "float32"}
    )
    logits = model.logits(QUERY, TEXTS)
    for form in ("bfloat16", "float32"):
        run = tv.Run.from_arrays([softmax(logits, form)])
        judged = tv.Judgments.from_arrays([[int(at % 3 == 1) for at in range(len(TEXTS))]])
        expected = tv.evaluate(run, judged, "nDCG@10")["nDCG@10"]
        regime = next(each for each in found.regimes if each.label == f"bfloat16+head=float32_{form}")
        assert regime.measures["nDCG@10"].expected == pytest.approx(expected.expected, abs=1e-12)
        assert regime.measures["nDCG@10"].range == pytest.approx(expected.range, abs=1e-12)
        assert expected.range > 0  # a text is there twice, and one of them is relevant
        assert regime.ties.tied_fraction == 1 - np.sum(np.unique(run_scores(run), return_counts=True)[1] == 1) / len(
            TEXTS
        )


def run_scores(run: tv.Run) -> np.ndarray:
    return run.documents["score"].to_numpy()


def test_views_and_the_card_name_the_part(found: PrecisionAudit) -> None:
    names = [formats(each) for each in found.regimes]
    assert "BF16 (head FP32) → FP32" in names
    assert "FP32 (attention BF16) → FP32" in names
    told = view(found)
    assert told.csv is not None
    assert "part" in [column.title for column in told.csv.columns]
    assert "bfloat16, head=float32" in model_card(found, "trueval")


def test_what_is_left_counts_the_passes_of_parts(
    collection: tv.Collection, folder_of: Callable[[str], Path], tmp_path: Path
) -> None:
    place = f"cross-encoder:{folder_of('cross-encoder')}"
    options = {"parts": ["head=float32", "head=bfloat16"], "folder": tmp_path, "device": "cpu"}
    left = list(missing_passes(collection, [place], ["bfloat16"], **options))
    assert sum(work.items for work in left) == 2 * len(TEXTS)  # the head of a bfloat16 model is in bfloat16
    audit_precision(collection, place, "nDCG@10", ["bfloat16"], **options)
    assert not [work for work in missing_passes(collection, [place], ["bfloat16"], **options) if work.items]


@pytest.mark.parametrize(("recipe", "scale"), [("all-MiniLM-L6-v2", 20), ("sparse-encoder", 1)])
def test_a_softmax_of_similarities_is_a_scoring_function(
    recipe: str, scale: float, collection: tv.Collection, folder_of: Callable[[str], Path]
) -> None:
    """Ties are those of shares computed by hand: in float32 too, where products without a bound underflow."""
    place = f"{recipe}:{folder_of(recipe)}"
    options = {"similarities": ["product", "softmax"], "device": "cpu"}
    found = audit_precision(
        collection, place, "nDCG@10", ["float32"], scoring=["float32", "bfloat16"], **options
    ).result()
    assert [each.scoring for each in found.regimes] == ["product"] * 2 + [f"softmax({scale})"] * 2
    assert [each.model.endswith(", softmax") for each in found.regimes] == [False, False, True, True]
    if scale == 20:  # of vectors of length 1: the order of products
        first, second = (each.measures["nDCG@10"].expected for each in found.regimes[::2])
        assert first == pytest.approx(second, abs=1e-12)
    model = load_embedder(place, dtype="float32", device="cpu")
    query, documents = (
        each.astype(np.float64) for each in (model.embed_queries([QUERY])[0], model.embed_documents(TEXTS))
    )
    powers = np.exp(scale * (documents @ query - (documents @ query).max()))
    for regime in found.regimes[2:]:
        shares = round_to(np.float32(powers / powers.sum()), regime.scoring_format)
        tied = 1 - np.sum(np.unique(shares, return_counts=True)[1] == 1) / len(shares)
        assert regime.ties.tied_fraction == pytest.approx(tied)
    with pytest.raises(PolicyError, match="A similarity must be one of product, softmax"):
        audit_precision(collection, place, "nDCG@10", similarities=["sofmax"], device="cpu")


def test_batches_count_each_pass_by_itself(collection: tv.Collection, folder_of: Callable[[str], Path]) -> None:
    place = f"cross-encoder:{folder_of('cross-encoder')}"
    passes = {"parts": ["head=float32"], "device": "cpu"}
    effects = audit_batches(collection, [place], [1, 4], "nDCG@10", ["bfloat16"], passes=passes)
    assert [each.model_dtype for each in effects.passes] == ["bfloat16", "bfloat16+head=float32"]
    assert all(each.differing[0] == 0 and each.rows == len(TEXTS) for each in effects.passes)
