"""Lexical boosts: held against the formula, written down once more."""

import math
import re

import pytest

from trueval import Run
from trueval.errors import InputError, PolicyError
from trueval.retrieval.pipeline.boost import lexical_boost

QUERIES = {"q": "Pressure on the NACA-0012 wing at 2.5 degrees", "p": "heat"}
TEXTS = {
    "a": "The pressure on the wing.",
    "b": "NACA-0012 and NACA 0012; 2.5 degrees",
    "c": "Wing pressure, on the wing at 12.5 degrees",
    "d": "Nothing of this",
    "e": "nothing, of this!",
}


def run(**scores: float) -> Run:
    return Run.from_dict({"q": scores or dict.fromkeys(TEXTS, 0.5), "p": {"d": 1.0}})


def scores(found: Run) -> dict[str, float]:
    return dict(found.frame.filter(query_id="q").select("doc_id", "score").rows())


def test_a_share_of_the_terms_by_their_rarity():
    found = lexical_boost(run(), QUERIES, TEXTS, {"terms": 2.0}, unit=0.1)
    words = {doc: set(re.findall(r"\w+", text.lower())) for doc, text in TEXTS.items()}
    asked = set(re.findall(r"\w+", QUERIES["q"].lower()))
    held = {word: sum(word in each for each in words.values()) for word in asked}
    rarity = {word: math.log(1 + (5 - n + 0.5) / (n + 0.5)) for word, n in held.items()}
    for doc, score in scores(found.run).items():
        share = sum(rarity[word] for word in asked & words[doc]) / sum(rarity.values())
        assert score == pytest.approx(0.5 + 0.1 * 2 * share)
    assert found.gained == 3
    assert found.before.tied == 5
    assert (found.ties.tied, found.made) == (2, 0)  # d and e hold nothing


def test_phrases_are_neighbours_and_codes_are_whole():
    assert scores(lexical_boost(run(), QUERIES, TEXTS, {"phrases": 9.0}).run) == pytest.approx(
        # Of pressure on, on the, the naca, naca 0012, 0012 wing, wing at, at 2, 2 5, 5 degrees.
        {"a": 0.5 + 2, "b": 0.5 + 3, "c": 0.5 + 4, "d": 0.5, "e": 0.5}
    )
    assert scores(lexical_boost(run(), QUERIES, TEXTS, {"codes": 1.0}).run) == pytest.approx(
        {"a": 0.5, "b": 1.5, "c": 0.5, "d": 0.5, "e": 0.5}
    )


def test_ties_that_a_boost_makes_are_counted():
    # b gains all of the codes, which brings it to the score of a.
    found = lexical_boost(run(a=1.0, b=0.5, d=0.25), QUERIES, TEXTS, {"codes": 0.5})
    assert scores(found.run) == {"a": 1.0, "b": 1.0, "d": 0.25}
    assert (found.before.tied, found.ties.tied, found.made, found.gained) == (0, 2, 2, 1)


def test_the_order_of_words_decides_no_last_bit():
    words = [f"w{place}" for place in range(60)]
    documents = {f"d{at}": " ".join(words[: at + 1]) for at in range(60)}
    given = Run.from_dict({"q": dict.fromkeys(documents, 0.0)})
    found = scores(lexical_boost(given, {"q": " ".join(words)}, documents, {"terms": 1.0}).run)
    rarity = [math.log(1 + (60 - n + 0.5) / (n + 0.5)) for n in range(60, 0, -1)]
    for at in range(60):  # to the last bit: sums are rounded once
        assert found[f"d{at}"] == math.fsum(rarity[: at + 1]) / math.fsum(rarity)


def test_what_cannot_be_is_refused():
    with pytest.raises(PolicyError, match="terms, phrases, codes"):
        lexical_boost(run(), QUERIES, TEXTS, {"words": 1})
    with pytest.raises(PolicyError, match=">= 0"):
        lexical_boost(run(), QUERIES, TEXTS, {"terms": -1})
    with pytest.raises(InputError, match="'d' has no text"):
        lexical_boost(run(), QUERIES, {"a": "x", "b": "", "c": ""}, {"terms": 1})
