"""What the rules take out of a text, and what they must never take."""

import itertools
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueval.probes.query_noise import LANGUAGES, noisy
from trueval.retrieval.pipeline.denoise import denoise, find_noise_spans

QUERY = "Can forests really regulate the climate?"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Hi! Can forests regulate the climate?", "Can forests regulate the climate?"),
        ("hi can forests regulate the climate? thx", "can forests regulate the climate?"),
        ("Quick question: forests and climate 🙏🏽", "forests and climate"),
        ("Is it, you know, safe?", "Is it, safe?"),
        ("Bonjour, euh, qui gère les forêts ? Merci d’avance !", "qui gère les forêts ?"),
        ("Hi, I'm on the train. Who owns forests?", "Who owns forests?"),
        ("Hi, I own a forest. Who else owns a forest?", "I own a forest. Who else owns a forest?"),
        ("I am divorced. Who pays the tax?", "I am divorced. Who pays the tax?"),
    ],
)
def test_by_hand(text: str, left: str) -> None:
    assert denoise(text) == left


@pytest.mark.parametrize(
    "text",
    ["Hello Kitty prices", "how to say merci in german", "Goodbye, Lenin plot", "C ++ well depth", "🙂", "?", ""],
)
def test_what_only_looks_like_chatter_stays(text: str) -> None:
    assert denoise(text) == text


@settings(max_examples=60)
@given(st.text(max_size=60))
def test_no_text_is_emptied_and_nothing_is_added(text: str) -> None:
    left = denoise(text)
    assert bool(left.strip()) == bool(text.strip())
    rest = iter(text)
    assert left == text or all(char in rest for char in "".join(left.split())), "characters in their order"
    spans = find_noise_spans(text)
    assert all(0 <= a.start < a.end <= len(text) for a in spans)
    assert all(a.end < b.start for a, b in itertools.pairwise(spans))


@given(st.sampled_from(LANGUAGES), st.integers(1, 4), st.integers(0, 10_000))
def test_composed_and_decomposed_texts_are_cut_alike(language: str, level: int, seed: int) -> None:
    text = noisy(QUERY, level, language, seed=seed).text
    composed, apart = (denoise(unicodedata.normalize(form, text)) for form in ("NFC", "NFD"))
    assert unicodedata.normalize("NFC", apart) == unicodedata.normalize("NFC", composed)


def test_long_hostile_texts_take_no_time() -> None:
    began = time.process_time()
    for text in ("." * 30_000 + "x", "um, " * 8_000 + "x", "hi " * 10_000, "i hope you " * 3_000, "🙏" * 30_000 + "a"):
        denoise(text)
    assert time.process_time() - began < 5  # of the processor: others may be working on this machine
