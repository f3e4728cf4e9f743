"""Batches: order, memory, formats and outputs that are not finite."""

from __future__ import annotations

import numpy as np
import pytest
from tests.extras import need

from trueval.errors import InputError, TruevalWarning
from trueval.models.batches import BatchVariant, in_batches, to_array
from trueval.models.loading import load_embedder, load_model, load_reranker
from trueval.numerics import FORMATS

need("torch", "transformers", "sentence_transformers", extra="models")


def test_items_run_longest_first_and_come_back_in_their_order():
    batches = []

    def forward(batch):
        batches.append(batch)
        return [text.upper() for text in batch]

    done = in_batches(forward, ["bb", "a", "dddd", "ccc"], 3, len)
    assert batches == [["dddd", "ccc", "bb"], ["a"]]
    assert done == (["BB", "A", "DDDD", "CCC"], 3)
    assert in_batches(forward, [], 3, len).outputs == []


def test_batches_are_drawn_from_a_seed():
    items = [str(number) for number in range(20)]

    def drawn(seed):
        batches = []

        def forward(batch):
            batches.append(tuple(batch))
            return batch

        assert in_batches(forward, items, 6, len, seed=seed).outputs == items
        return batches

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert sorted(sum(drawn(1), ())) == sorted(items)


@pytest.mark.parametrize(
    "recipe",
    [
        "bge-reranker-v2-m3",
        "cross-encoder",
        "all-MiniLM-L6-v2",
        "sentence-transformer",
        "sparse-encoder",
        "multi-vector",
    ],
)
def test_padding_goes_where_a_variant_says(folder_of, tiny, recipe):
    """Read from the tokens that the network gets: to the left, and to the maximum length."""

    def masks(variant):
        model = load_model(f"{recipe}:{folder_of(recipe)}", device="cpu", max_length=60, variant=variant)
        seen = []
        pad = (getattr(model, "tokenizer", None) or model.model.tokenizer).pad_token_id
        words = model.transformer.get_input_embeddings()  # sentence-transformers calls no hook of the network itself
        hook = words.register_forward_pre_hook(lambda _, given: seen.append((given[0] != pad).numpy()))
        if hasattr(model, "pair_logits"):
            model.logits(tiny.QUERY, tiny.DOCUMENTS)
        else:
            model.embed_documents(tiny.DOCUMENTS)
        hook.remove()
        return seen[0], model.settings()

    usual, settings = masks(None)
    assert "batching" not in settings
    assert usual.shape[1] < 60
    assert usual[:, 0].all()
    assert not usual[:, -1].all()
    left, settings = masks(BatchVariant(side="left"))
    assert settings["batching"] == {"side": "left"}
    assert left[:, -1].all()
    assert (left.sum(1) == usual.sum(1)).all()
    whole, settings = masks(BatchVariant(whole=True))
    assert settings["batching"] == {"whole": True}
    assert whole.shape[1] == 60
    assert (whole.sum(1) == usual.sum(1)).all()


def test_a_language_model_pads_to_the_left_alone(folder_of):
    place = f"Qwen3-Reranker-0.6B:{folder_of('Qwen3-Reranker-0.6B')}"
    with pytest.raises(InputError, match="reads its answer at the last position"):
        load_model(place, device="cpu", variant=BatchVariant(side="right"))


def test_a_cross_encoder_that_reads_the_last_position_pads_to_the_left_alone(folder_of, tmp_path):
    library = pytest.importorskip("sentence_transformers")
    if not hasattr(library.cross_encoder, "modules"):
        pytest.skip("this version of sentence-transformers has no cross-encoders of language models")
    model = library.CrossEncoder(str(folder_of("Qwen3-Reranker-0.6B")), device="cpu")
    assert [type(module).__name__ for module in model.children()] == ["Transformer", "LogitScore"]
    model.save_pretrained(str(tmp_path))
    place = f"cross-encoder:{tmp_path}"
    assert load_model(place, device="cpu", variant=BatchVariant(side="left")).scoring == "softmax"
    with pytest.raises(InputError, match="reads its answer at the last position"):
        load_model(place, device="cpu", variant=BatchVariant(side="right"))


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_last_token_is_no_padding_on_either_side(folder_of, tiny, side):
    """Vectors of texts of different lengths in one batch are those of each text alone, which has no padding."""
    place = f"Qwen3-Embedding-0.6B:{folder_of('Qwen3-Embedding-0.6B')}"
    padded = load_model(place, dtype="float32", device="cpu", batch_size=3, variant=BatchVariant(side=side))
    alone = load_model(place, dtype="float32", device="cpu", batch_size=1)
    wanted = alone.embed_documents(tiny.DOCUMENTS)
    assert np.abs(padded.embed_documents(tiny.DOCUMENTS) - wanted).max() < 1e-6
    assert np.abs(wanted[0] - wanted[1]).max() > 0.01


@pytest.mark.parametrize("where", ["CUDA", "CPU"])
def test_out_of_memory_halves_the_batch_and_says_so(where):
    import torch

    error = {
        "CUDA": torch.OutOfMemoryError("CUDA out of memory"),
        "CPU": RuntimeError("DefaultCPUAllocator: not enough memory"),
    }[where]
    sizes = []

    def forward(batch):
        sizes.append(len(batch))
        if len(batch) > 2:
            raise error
        return batch

    with pytest.warns(TruevalWarning) as told:
        done = in_batches(forward, list(range(7)), 8, lambda _: 1)
    assert done == (list(range(7)), 1)
    assert sizes == [7, 3, 1, 1, 1, 1, 1, 1, 1]
    assert [str(warning.message)[:47] for warning in told] == [
        "Out of memory with a batch of 7; going on with ",
        "Out of memory with a batch of 3; going on with ",
    ]


def test_one_text_that_does_not_fit_is_an_error():
    import torch

    def forward(batch):
        raise torch.OutOfMemoryError

    with pytest.raises(InputError, match="with a single text"):
        in_batches(forward, ["a"], 4, len)
    with pytest.raises(InputError, match="integer >= 1"):
        in_batches(forward, ["a"], 0, len)


def test_other_errors_pass():
    def forward(batch):
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes do not match"):
        in_batches(forward, ["a"], 4, len)


def test_a_model_remembers_the_smaller_batch(folder_of, tiny, monkeypatch):
    import torch

    model = load_reranker(f"cross-encoder:{folder_of('cross-encoder')}", device="cpu", batch_size=4)
    forward = model.forward

    def greedy(batch):
        if len(batch) > 2:
            raise torch.OutOfMemoryError
        return forward(batch)

    monkeypatch.setattr(model, "forward", greedy)
    with pytest.warns(TruevalWarning, match="going on with 2"):
        halved = model.logits(tiny.QUERY, tiny.DOCUMENTS * 2)
    assert halved.shape == (6, 2)
    assert model.settings()["batch_size"] == 2


@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32"])
def test_arrays_hold_every_bit_of_a_tensor(name):
    import torch

    bits = torch.arange(2**16, dtype=torch.int32).to(torch.int16)
    tensor = bits.view(getattr(torch, name)) if name != "float32" else bits.float()
    array = to_array(tensor)
    assert array.dtype.name == name
    assert array.dtype.itemsize * 8 == 1 + FORMATS[name].exponent_bits + FORMATS[name].mantissa_bits
    assert np.array_equal(array.astype(np.float32), tensor.float().numpy(), equal_nan=True)


def test_logits_that_overflow_float16_are_refused_with_the_documents(tiny, tmp_path):
    import torch
    import transformers

    folder = tiny.bert(tmp_path, labels=2)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
    with torch.no_grad():
        model.classifier.weight.mul_(1e6)
    model.save_pretrained(folder)
    assert np.isfinite(
        load_reranker(str(folder), dtype="bfloat16", device="cpu").logits("air", tiny.DOCUMENTS).astype(float)
    ).all()
    small = load_reranker(str(folder), dtype="float16", device="cpu")
    with pytest.raises(
        InputError, match=r"in float16 gave outputs that are not finite for 3 of 3 texts: 0 \('lift'\), 1 "
    ):
        small.logits("air", tiny.DOCUMENTS)
    with pytest.raises(InputError, match=r"texts: d7, d8, d9\. Scores need finite logits"):
        small.logits("air", tiny.DOCUMENTS, names=["d7", "d8", "d9"])


def test_embeddings_that_overflow_float16_are_refused_with_the_documents(tiny, tmp_path):
    import torch
    import transformers

    folder = tiny.bert(tmp_path)
    model = transformers.AutoModel.from_pretrained(folder)
    with torch.no_grad():
        model.encoder.layer[-1].output.LayerNorm.weight.mul_(1e6)
    model.save_pretrained(folder)
    for recipe in ("all-MiniLM-L6-v2", "late-interaction", "sentence-transformer"):
        small = load_embedder(f"{recipe}:{folder}", dtype="float16", device="cpu")
        with pytest.raises(InputError, match="not finite for 2 of 2 texts: a, b"):
            small.embed_documents(["lift", "wing"], names=["a", "b"])
