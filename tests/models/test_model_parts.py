"""Parts of a network in a format of their own: the head, and the softmax of attention."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from tests.extras import need

from trueval.errors import InputError, PolicyError
from trueval.models.loading import load_embedder, load_model, load_reranker
from trueval.models.model_parts import ModelPart, attend
from trueval.models.output_reuse import is_by_text
from trueval.numerics import round_to

RERANKERS = ("Qwen3-Reranker-0.6B", "bge-reranker-v2-m3", "cross-encoder")
EMBEDDERS = ("Qwen3-Embedding-0.6B", "multilingual-e5-large", "all-MiniLM-L6-v2", "sentence-transformer")
LOW = ("bfloat16", "float16")

need("torch", "transformers", "sentence_transformers", extra="models")


def outputs(folder_of, tiny, recipe, **options):
    """The outputs of a tiny model."""
    model = load_model(f"{recipe}:{folder_of(recipe)}", device="cpu", **options)
    return model.logits(tiny.QUERY, tiny.DOCUMENTS) if recipe in RERANKERS else model.embed_documents(tiny.DOCUMENTS)


def head_of(folder, recipe, dtype, inputs):
    """What the head reads in a pass in low precision, and its weights: the naive twin's own inputs."""
    model = load_reranker(f"{recipe}:{folder}", dtype=dtype, device="cpu")
    head = next(
        getattr(model.transformer, name)
        for name in ("classifier", "score", "lm_head")
        if hasattr(model.transformer, name)
    )
    seen = []
    hook = head.register_forward_pre_hook(lambda _, given: seen.append(given[0].detach().float().numpy()))
    model.logits(*inputs)
    hook.remove()
    return model, head, seen[0]


@pytest.mark.parametrize("dtype", LOW)
@pytest.mark.parametrize("recipe", ["Qwen3-Reranker-0.6B", "cross-encoder"])
def test_a_head_in_float32_is_the_product_of_what_it_reads_with_its_weights(folder_of, tiny, recipe, dtype):
    """A linear head, of BERT or Qwen3: float64 products of the same low states and weights, to float32's rounding."""
    inputs = (tiny.QUERY, tiny.DOCUMENTS)
    model, head, states = head_of(folder_of(recipe), recipe, dtype, inputs)
    weights = head.weight.detach().float().numpy().astype(np.float64)
    bias = 0.0 if head.bias is None else head.bias.detach().float().numpy()
    states = states[:, -1] if states.ndim == 3 else states
    expected = states @ weights.T + bias
    expected = expected[:, model.answer_tokens] if recipe.startswith("Qwen3") else expected
    found = outputs(folder_of, tiny, recipe, dtype=dtype, parts={"head": "float32"})
    order = np.argsort([-len(each) for each in tiny.DOCUMENTS], kind="stable")  # the longest first, in one batch
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[order], expected, rtol=2e-6, atol=2e-6)
    low = outputs(folder_of, tiny, recipe, dtype=dtype)
    assert (low.astype(np.float32) != found).any()
    assert low.astype(np.float64) == pytest.approx(round_to(found, dtype), rel=2.0**-6, abs=2.0**-8)


@pytest.mark.parametrize("recipe", RERANKERS)
def test_a_head_in_bfloat16_gives_its_values_and_leaves_the_rest_in_float32(folder_of, tiny, recipe):
    high = outputs(folder_of, tiny, recipe, dtype="float32")
    found = outputs(folder_of, tiny, recipe, dtype="float32", parts={"head": "bfloat16"})
    whole = outputs(folder_of, tiny, recipe, dtype="bfloat16")
    assert found.dtype.name == "bfloat16"
    assert (found != whole).any()
    np.testing.assert_allclose(found.astype(np.float32), high, atol=0.03)
    # Products in float32 may differ in their last bits with the place of the weights in memory.
    same = outputs(folder_of, tiny, recipe, dtype="float32", parts={"head": "float32"})
    np.testing.assert_allclose(same, high, atol=1e-6)


@pytest.mark.parametrize("dtype", LOW)
@pytest.mark.parametrize("recipe", [*RERANKERS, *EMBEDDERS])
def test_attention_in_the_dtype_of_the_model_is_the_eager_one_of_transformers(folder_of, tiny, recipe, dtype):
    """Bit for bit: scores rounded, one rounding of the softmax, texts of three lengths and so with padding."""
    place = f"{recipe}:{folder_of(recipe)}"
    eager = load_model(place, dtype=dtype, device="cpu")
    eager.transformer.set_attn_implementation("eager")
    own = load_model(place, dtype=dtype, device="cpu", parts={"attention": dtype})
    if recipe in RERANKERS:
        found, expected = (model.logits(tiny.QUERY, tiny.DOCUMENTS) for model in (own, eager))
    else:
        found, expected = (model.embed_documents(tiny.DOCUMENTS) for model in (own, eager))
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("recipe", [*RERANKERS, *EMBEDDERS])
def test_attention_alone_moves_outputs_less_than_the_whole_model(folder_of, tiny, recipe):
    """In float32 on a float32 model it is that model; in bfloat16 on it, nearer than a model in bfloat16."""

    def found(**options):
        return outputs(folder_of, tiny, recipe, **options).astype(np.float32)

    high, whole = found(dtype="float32"), found(dtype="bfloat16")
    alone = found(dtype="float32", parts={"attention": "bfloat16"})
    np.testing.assert_allclose(found(dtype="float32", parts={"attention": "float32"}), high, atol=1e-5)
    assert 0 < np.abs(alone - high).max() < np.abs(whole - high).max()


@pytest.mark.parametrize(("form", "dtype"), [("float32", "bfloat16"), ("bfloat16", "float32"), ("float16", "bfloat16")])
def test_attention_equals_its_formula_step_by_step(form, dtype):
    """Against products in float64, rounded where the formula rounds; grouped keys, a mask and a row of padding."""
    import torch

    rng = np.random.default_rng(38)
    own = getattr(torch, dtype)
    query = torch.tensor(rng.normal(size=(2, 4, 3, 8))).to(own)
    key, value = (torch.tensor(rng.normal(size=(2, 2, 3, 8))).to(own) for _ in range(2))
    mask = torch.zeros(2, 1, 3, 3).to(own)
    mask[0, :, :, 2] = mask[1, :, 0, :] = torch.finfo(own).min
    found, weights = attend(form, SimpleNamespace(num_key_value_groups=2), query, key, value, mask)
    q, k, v, m = (each.double().numpy() for each in (query, key, value, mask))
    k, v = k.repeat(2, axis=1), v.repeat(2, axis=1)
    scores = q @ k.swapaxes(2, 3) / np.sqrt(8)
    scores = np.where(m < 0, np.where((m < 0).all(-1, keepdims=True), 0, -np.inf), scores)
    scores = round_to(scores, form)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares = round_to(shares / shares.sum(-1, keepdims=True), form)
    unit = 2.0 ** -min(7 if "bfloat16" in (form, dtype) else 23, 23)
    np.testing.assert_allclose(weights.float().numpy(), round_to(shares, dtype), atol=unit)
    np.testing.assert_allclose(found.float().numpy(), (shares @ v).swapaxes(1, 2), atol=8 * unit)
    assert found.dtype == value.dtype
    np.testing.assert_allclose(weights[1, :, 0].float().numpy(), 1 / 3, atol=unit)  # a row of padding is no NaN


def test_the_head_of_a_language_model_leaves_its_embeddings_alone(folder_of):
    model = load_reranker(
        f"Qwen3-Reranker-0.6B:{folder_of('Qwen3-Reranker-0.6B')}", device="cpu", parts={"head": "float32"}
    )
    dtypes = {name: str(each.dtype) for name, each in model.transformer.named_parameters()}
    assert {name for name, dtype in dtypes.items() if dtype == "torch.float32"} == {"lm_head.weight"}


def test_parts_are_in_the_settings_and_their_outputs_are_not_those_of_texts(folder_of):
    place = f"cross-encoder:{folder_of('cross-encoder')}"
    whole, alone = (
        load_reranker(place, dtype="float32", device="cpu", parts=each) for each in (None, {"head": "bfloat16"})
    )
    assert "parts" not in whole.settings()
    assert alone.settings()["parts"] == {"head": "bfloat16"}
    assert (is_by_text(whole, "pass"), is_by_text(alone, "pass"), is_by_text(alone, "text")) == (True, False, True)


def test_bad_parts_are_refused_with_what_they_must_be(folder_of):
    place = f"all-MiniLM-L6-v2:{folder_of('all-MiniLM-L6-v2')}"
    with pytest.raises(InputError, match=r"has no head of its own.*Name attention, or a reranker"):
        load_embedder(place, device="cpu", parts={"head": "float32"})
    with pytest.raises(PolicyError, match=r"PART=FORMAT.*Got 'heads=float32'.*Did you mean head\?"):
        ModelPart.parse("heads=float32")
    with pytest.raises(PolicyError, match=r"one of float32, bfloat16, float16.*Got 'head=int8'"):
        ModelPart.parse("head=int8")
    with pytest.raises(PolicyError, match=r"hosted model: its service decides its parts"):
        load_model("openai:text-embedding-3-small", parts={"head": "float32"})


def test_attention_that_cannot_be_exchanged_is_refused(folder_of, monkeypatch):
    from transformers import BertModel

    monkeypatch.setattr(BertModel, "_supports_attention_backend", False)
    with pytest.raises(InputError, match=r"BertModel has attention of its own.*Leave attention out"):
        load_embedder(f"all-MiniLM-L6-v2:{folder_of('all-MiniLM-L6-v2')}", device="cpu", parts={"attention": "float32"})
