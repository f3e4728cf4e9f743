"""Scorers: what they give pairs, how far rounding may have moved it, and how often a model is asked."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.examples import examples
from tests.probes.models import KeptLetters, LetterReranker, Letters, LetterTokens, letters

from trueval.errors import InputError, PolicyError
from trueval.models.hosted.account import Account
from trueval.numerics import FORMATS, find_format, round_to, spacings
from trueval.probes import scorer
from trueval.probes.model_scorers import CosineScorer, LogitScorer, MaxSimScorer, ModelOutputs
from trueval.probes.scorer import Bm25Scorer, CachedScorer, Hybrid, PairScorer, ScorerPairs, TextPairScores
from trueval.probes.scorer_request import ScorerRequest
from trueval.probes.scorers import ProbeScorers
from trueval.retrieval.indexes.sparse import Bm25

TEXTS = ["red fox", "red foxes", "blue whale song", "a fox and a whale", "red fox"]
PAIRS = [(query, text) for query in ("who is the red fox", "whale song") for text in TEXTS]


def cosine(first: np.ndarray, second: np.ndarray) -> float:
    return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))


def test_pairs_hold_every_text_once() -> None:
    pairs = ScorerPairs.of(PAIRS)
    assert len(pairs.queries) == 2
    assert len(pairs.candidates) == 4
    again = [(pairs.queries[q], pairs.candidates[d]) for q, d in zip(pairs.query, pairs.candidate, strict=True)]
    assert again == PAIRS
    with pytest.raises(InputError, match=r"one entry for each of the 10 pairs. Got 1"):
        ScorerPairs.of(PAIRS, [0])


@pytest.mark.parametrize("dimension", [None, 8])
def test_cosines_are_those_of_the_vectors(dimension: int | None) -> None:
    found = CosineScorer(ModelOutputs(Letters()), dimension=dimension).score(ScorerPairs.of(PAIRS))
    naive = [cosine(letters(query, 32)[:dimension], letters(text, 32)[:dimension]) for query, text in PAIRS]
    assert np.abs(found.values - naive).max() < 2e-7
    assert found.values[0] == found.values[4], "equal texts have equal scores"


def test_names_say_what_differs_from_the_usual() -> None:
    passed = ModelOutputs(Letters())
    assert CosineScorer(passed).name == "letters"
    assert CosineScorer(passed, dimension=8, scoring="bfloat16", stored="float16").name == (
        "letters (8d, scores bfloat16, kept in float16)"
    )


def test_scores_and_kept_vectors_are_in_their_formats() -> None:
    pairs, passed = ScorerPairs.of(PAIRS), ModelOutputs(Letters())
    exact = CosineScorer(passed, scoring="float64").score(pairs)
    low = CosineScorer(passed, scoring="bfloat16").score(pairs)
    assert (low.values == round_to(exact.values, "bfloat16")).all()
    kept = CosineScorer(passed, scoring="float64", stored="float8_e4m3fn").score(pairs)
    assert (kept.values != exact.values).any()
    for found in (low, kept):
        assert (np.abs(found.values - exact.values) <= found.grain).all()


@pytest.mark.parametrize("form", ["float16", "bfloat16"])
def test_the_grain_holds_what_rounding_of_vectors_does(form: str) -> None:
    """Vectors of length 1 are rounded, as those of a model in low precision are."""
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((400, 24))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)

    class Rounded(Letters):
        dtype = form

        def embed_queries(self, texts: list[str]) -> np.ndarray:
            return round_to(vectors[[int(text) for text in texts]], form).astype(np.float32)

        embed_documents = embed_queries

    places = [(str(first), str(first + 200)) for first in range(200)]
    found = CosineScorer(ModelOutputs(Rounded())).score(ScorerPairs.of(places))
    exact = np.einsum("ij,ij->i", vectors[:200], vectors[200:])
    error = np.abs(found.values - exact)
    assert (error <= found.grain).all()
    assert error.max() > found.grain.min() / 50, "it is no bound without sense"


def test_a_text_goes_through_a_model_once_whoever_asks() -> None:
    model = Letters()
    passed, pairs = ModelOutputs(model), ScorerPairs.of(PAIRS)
    for dimension in (None, 16, 8):
        CosineScorer(passed, dimension=dimension).score(pairs)
    assert len(model.asked) == 2 + 4 == passed.count("queries") + passed.count("documents")
    CosineScorer(passed).score(ScorerPairs.of([("whale song", "red fox"), ("whale song", "new")]))
    assert model.asked[6:] == ["new"]


def test_what_is_kept_is_not_computed_again(tmp_path: Path) -> None:
    pytest.importorskip("safetensors", reason="safetensors, of the extra models, is not installed")
    pairs = ScorerPairs.of(PAIRS)
    first, second = KeptLetters(), KeptLetters()
    found = CosineScorer(ModelOutputs(first, folder=tmp_path)).score(pairs)
    again = CosineScorer(ModelOutputs(second, folder=tmp_path)).score(pairs)
    assert len(first.asked) == 6
    assert second.asked == []
    assert (found.values == again.values).all()
    # Of other pairs, what the first had is not asked again.
    CosineScorer(ModelOutputs(second, folder=tmp_path)).score(ScorerPairs.of([*PAIRS, ("whale song", "more")]))
    assert second.asked == ["more"]


def test_maxsim_sums_the_best_product_of_every_query_word() -> None:
    model = LetterTokens()
    found = MaxSimScorer(ModelOutputs(model)).score(ScorerPairs.of(PAIRS))
    for value, (query, text) in zip(found.values, PAIRS, strict=True):
        one, other = (model.embed_queries([each])[0].astype(np.float64) for each in (query, text))
        assert value == pytest.approx(sum(max(float(a @ b) for b in other) for a in one), abs=1e-6)
    assert found.values[0] == found.values[4]
    assert (found.grain > 0).all()


def test_logits_are_one_or_the_difference_of_two() -> None:
    pairs = ScorerPairs.of(PAIRS)
    one, two = (LogitScorer(ModelOutputs(LetterReranker(labels))).score(pairs) for labels in (1, 2))
    assert (two.values == 2 * one.values).all()
    low = LogitScorer(ModelOutputs(LetterReranker(1, "bfloat16"))).score(pairs)
    assert (low.grain == [find_format("bfloat16").spacing(value) / 2 for value in low.values]).all()
    with pytest.raises(InputError, match=r"one or two logits for a pair. Got 3"):
        LogitScorer(ModelOutputs(_Three())).score(pairs)


class _Three(LetterReranker):
    def logits(self, query: str, documents: list[str]) -> np.ndarray:
        return np.zeros((len(documents), 3), np.float32)


def test_bm25_counts_words_over_the_candidates_of_a_set() -> None:
    pytest.importorskip("bm25s", reason="bm25s, of the extra retrieval, is not installed")
    texts = ["red fox", "blue whale", "grey wolf"]
    alone = Bm25Scorer("en").score(ScorerPairs.of([("fox", text) for text in texts]))
    assert alone.values[0] > 0
    assert alone.values[1:].tolist() == [0, 0]
    # In a set in which every text has the word, it is worth little; the other set is not changed by that.
    both = [*[("fox", text) for text in texts], *[("fox", f"{text} fox") for text in texts]]
    found = Bm25Scorer("en").score(ScorerPairs.of(both, [0, 0, 0, 1, 1, 1]))
    assert found.values[:3].tolist() == alone.values.tolist()
    assert 0 < found.values[4] < found.values[0] / 3
    idf, tf = np.log(1 + (3 - 1 + 0.5) / 1.5), 1 / (1 + 0.9 * (1 - 0.4 + 0.4))
    assert alone.values[0] == pytest.approx(idf * tf)


def test_bm25_holds_the_lists_of_few_queries_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many queries there are, and with the same scores: memory grew with queries times candidates."""
    pytest.importorskip("bm25s", reason="bm25s, of the extra retrieval, is not installed")
    pairs = ScorerPairs.of(
        [(query, text) for at, query in enumerate("abcdefghij") for text in (f"{query} z", f"z {at} {query}")]
    )
    whole, held = Bm25Scorer("en").score(pairs), []
    search = Bm25.search
    monkeypatch.setattr(Bm25, "search", lambda index, some, most: held.append(len(some)) or search(index, some, most))
    monkeypatch.setattr(scorer, "MOST_CELLS", 3 * len(pairs.candidates))
    found = Bm25Scorer("en").score(pairs)
    assert held == [3, 3, 3, 1]
    assert found.values.tolist() == whole.values.tolist()
    assert (found.values > 0).any()


class _Fixed:
    name, unit = "fixed", "cosine"

    def __init__(self, values: list[float]) -> None:
        self.values = np.array(values)

    def score(self, pairs: ScorerPairs) -> TextPairScores:
        return TextPairScores(self.values, np.full(len(self.values), 0.5))


def test_a_hybrid_adds_what_is_left_of_the_mean_of_usual_pairs_in_spreads() -> None:
    pairs = ScorerPairs.of([("q", text) for text in "abcd"], usual=[True, True, False, False])
    first, second = _Fixed([1.0, 3.0, 5.0, 1.0]), _Fixed([10.0, 10.0, 20.0, 30.0])
    found = Hybrid("both", (first, second), (0.25, 0.75)).score(pairs)
    # Mean 2 and spread 1 of the first; the second's usual scores are all 10, and stay in their own unit.
    assert found.values.tolist() == [-0.25, 0.25, 0.75 + 7.5, -0.25 + 15]
    assert found.grain == pytest.approx(0.25 * 0.5 + 0.75 * 0.5)
    assert isinstance(Hybrid("both", (first, second)), PairScorer)
    with pytest.raises(InputError, match=r"one weight for each of its 2 scorers"):
        Hybrid("both", (first, second), (1.0,))


def test_a_shared_scorer_is_asked_once_for_the_same_pairs() -> None:
    asked = []

    class Counted(_Fixed):
        def score(self, pairs: ScorerPairs) -> TextPairScores:
            asked.append(pairs)
            return super().score(pairs)

    shared, pairs = CachedScorer(Counted([1.0, 2.0])), ScorerPairs.of([("q", "a"), ("q", "b")])
    assert isinstance(shared, PairScorer)
    assert shared.score(pairs).values.tolist() == Hybrid("h", (shared,)).parts[0].score(pairs).values.tolist() == [1, 2]
    assert len(asked) == 1
    shared.score(ScorerPairs.of([("q", "a"), ("q", "b")]))
    assert len(asked) == 2


@pytest.mark.parametrize("form", FORMATS)
@examples(150)
@given(
    values=arrays(np.float64, 5, elements=st.floats(-400, 400, allow_nan=False)),
)
def test_spacings_are_those_of_the_format(form: str, values: np.ndarray) -> None:
    known = find_format(form)
    assert spacings(values, form).tolist() == [known.spacing(value) for value in values.tolist()]


def test_hosted_models_of_a_probe_share_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    given = []

    def loaded(name: str, **options: Any) -> Any:
        given.append(options)
        return SimpleNamespace(name=name, dtype="float32", scoring="product")

    for role in ("load_embedder", "load_reranker"):
        monkeypatch.setattr(f"trueval.probes.scorers.{role}", loaded)
    account = Account(0.5)
    asked = ScorerRequest(("openai:small", "openai:large", "local"), ("cohere:some",))
    assert len(ProbeScorers(asked, account=account).scorers("en")) == 4
    assert [each.get("account") for each in given] == [account, account, None, account]


@pytest.mark.parametrize(
    "asked", [ScorerRequest(("m", "m")), ScorerRequest(("m@8", "m", "m@8")), ScorerRequest(rerankers=("m", "m"))]
)
def test_a_scorer_that_is_named_twice_is_refused(asked: ScorerRequest) -> None:
    with pytest.raises(PolicyError, match="m is named twice"):
        asked.check()
    ScorerRequest(("m", "m@8"), ("m",)).check()
