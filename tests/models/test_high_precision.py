"""The drop-in: the model's own methods, its own logits, the last step in float32."""

from __future__ import annotations

import numpy as np
import pytest
from tests.extras import need

from trueval.errors import InputError
from trueval.models import high_precision
from trueval.models.reranker import answer_module, raw_logits
from trueval.scoring import sigmoid, softmax

need("torch", "transformers", "sentence_transformers", extra="models")


@pytest.fixture
def pairs(tiny):
    return [(tiny.QUERY, document) for document in tiny.DOCUMENTS]


def cross_encoder(folder):
    import sentence_transformers as library
    import torch

    return library.CrossEncoder(str(folder), device="cpu", model_kwargs={"dtype": torch.bfloat16})


def test_a_cross_encoder_scores_in_float32(folder_of, pairs):
    import torch

    model = cross_encoder(folder_of("bge-reranker-v2-m3"))
    logits = raw_logits(model, pairs, show_progress_bar=False).to(torch.bfloat16)
    wrapped = high_precision(model)
    scores = wrapped.predict(pairs)
    assert scores.dtype == np.float32
    assert np.array_equal(scores, torch.sigmoid(logits.float()).numpy())
    assert np.allclose(scores, sigmoid(logits.float().numpy(), "float32"), rtol=0, atol=2**-23)
    assert len(np.unique(scores)) == 3
    assert np.allclose(scores, model.predict(pairs), atol=2**-8)
    assert wrapped.predict(pairs, convert_to_tensor=True).dtype == torch.float32
    assert len(wrapped.predict(pairs, convert_to_numpy=False)) == 3
    assert wrapped.predict(pairs[0]).shape == ()
    assert wrapped.predict([]).shape == (0,)
    assert wrapped.num_labels == 1


def test_it_takes_what_predict_takes(folder_of, pairs):
    import torch

    wrapped = high_precision(cross_encoder(folder_of("cross-encoder")))
    logits = wrapped.predict(pairs, batch_size=2, show_progress_bar=False)
    assert logits.shape == (3, 2)
    probabilities = wrapped.predict(pairs, batch_size=2, apply_softmax=True)
    assert np.allclose(probabilities[:, 1], softmax(logits, "float32"), rtol=0, atol=2**-23)
    tanh = wrapped.predict(pairs, batch_size=2, activation_fn=torch.nn.Tanh())
    assert np.allclose(tanh, np.tanh(logits), rtol=0, atol=2**-22)


def test_it_ranks_as_the_model_does(folder_of, tiny):
    model = cross_encoder(folder_of("bge-reranker-v2-m3"))
    ranked = high_precision(model).rank(tiny.QUERY, tiny.DOCUMENTS, top_k=2, return_documents=True)
    expected = model.rank(tiny.QUERY, tiny.DOCUMENTS, top_k=2, return_documents=True)
    assert [row["corpus_id"] for row in ranked] == [row["corpus_id"] for row in expected]
    assert [row["text"] for row in ranked] == [row["text"] for row in expected]
    assert set(ranked[0]) == set(expected[0])


def test_the_difference_of_two_answers_is_taken_in_float32(folder_of, pairs):
    """A CrossEncoder of a language model subtracts bfloat16 logits, which rounds before any score is computed."""
    import torch

    model = cross_encoder(folder_of("Qwen3-Reranker-0.6B"))
    if answer_module(model) is None:
        pytest.skip("this version of sentence-transformers has no cross-encoders from language models")
    both = raw_logits(model, pairs, show_progress_bar=False).float()
    assert both.shape == (3, 2)
    own = model.predict(pairs, activation_fn=torch.nn.Identity(), convert_to_tensor=True)
    exact = both[:, 1] - both[:, 0]
    assert torch.equal(exact.bfloat16().float(), own.float())
    wrapped = high_precision(model).predict(pairs, activation_fn=torch.nn.Identity(), convert_to_tensor=True)
    assert torch.equal(wrapped, exact)
    assert not torch.equal(wrapped, own.float())
    assert torch.equal(model.predict(pairs, activation_fn=torch.nn.Identity(), convert_to_tensor=True), own)


@pytest.mark.parametrize(("recipe", "score"), [("cross-encoder", softmax), ("bge-reranker-v2-m3", sigmoid)])
def test_a_classifier_scores_in_float32(folder_of, pairs, recipe, score):
    import torch
    import transformers

    folder = folder_of(recipe)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.bfloat16).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    queries, documents = zip(*pairs, strict=True)
    inputs = tokenizer(list(queries), list(documents), padding=True, return_tensors="pt")
    wrapped = high_precision(model, tokenizer)
    logits = wrapped(**inputs).logits.detach()
    assert logits.dtype == torch.bfloat16
    assert torch.equal(wrapped.scores(**inputs), score(logits, "float32"))
    assert np.array_equal(wrapped.predict(pairs), score(logits, "float32").numpy())
    assert wrapped.predict(pairs).dtype == np.float32
    assert wrapped.predict([]).shape == (0,)
    assert wrapped.config is model.config


def test_what_cannot_be_wrapped_is_refused(tiny, folder_of, tmp_path):
    import transformers

    with pytest.raises(InputError, match="Got BertModel"):
        high_precision(transformers.AutoModel.from_pretrained(folder_of("late-interaction")))
    three = transformers.AutoModelForSequenceClassification.from_pretrained(tiny.bert(tmp_path, labels=3))
    with pytest.raises(InputError, match="This model has 3"):
        high_precision(three)
    two = transformers.AutoModelForSequenceClassification.from_pretrained(folder_of("cross-encoder"))
    with pytest.raises(InputError, match="needs a tokenizer"):
        high_precision(two).predict([("a", "b")])
