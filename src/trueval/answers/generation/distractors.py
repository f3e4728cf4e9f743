"""Distractors of a question: documents without its answer, by kind, and prompts that hold so many of them.

    high-scoring    documents of the system's list that are not judged to hold the answer, best first
    same-topic      the same documents, those first that share most words with the gold ones:
                    |A and B| / |A or B| of the sets of words
    contradicting   texts that you mark as contradicting the answer, in the order of their file
    bundles         texts of the names probe, about works of other people on other subjects, drawn by a seed: they are
                    of no corpus, so that nobody need judge them

A dose is the first d of them, so that a higher dose holds the lower one. Gold documents stay together, and stand before
the distractors, in the middle of them, or after them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from trueval.answers.answer import Passage
from trueval.answers.generation.asked_questions import AskedQuestion, RankedDocument
from trueval.answers.generation.question_contexts import distractors_of, rng_of
from trueval.probes.authors import sample_people
from trueval.probes.query_noise import noisy
from trueval.probes.stimuli import build_stimuli

HIGH_SCORING: Final = "high-scoring"
SAME_TOPIC: Final = "same-topic"
CONTRADICTING: Final = "contradicting"
BUNDLES: Final = "bundles"
CHATTER: Final = "chatter"  # of the question, whose doses are levels; its passages are gold documents alone
FIRST: Final = "first"
MIDDLE: Final = "middle"
LAST: Final = "last"
_WORD: Final = re.compile(r"\w+")


def distractors_by_kind(
    question: AskedQuestion,
    documents: Mapping[str, str],
    kinds: Sequence[str],
    contradicting: Mapping[str, Sequence[str]],
    most: int,
    *,
    bundles: Sequence[str] = (),
    seed: int = 0,
) -> dict[str, tuple[Passage, ...]]:
    """The distractors of a question by kind, at most so many of each.

    Args:
        documents: id → text.
        contradicting: query id → texts.
        most: the highest dose.
        bundles: texts of `bundle_texts`.
        seed: of the bundles that are drawn.
    """
    found: dict[str, tuple[Passage, ...]] = {}
    ids = distractors_of(question)
    if HIGH_SCORING in kinds:
        found[HIGH_SCORING] = tuple(Passage(id, documents[id]) for id in ids[:most])
    if SAME_TOPIC in kinds:
        gold = {word for id in question.gold for word in _words(documents[id])}
        alike = {id: _overlap(gold, _words(documents[id])) for id in ids}
        chosen = sorted(ids, key=lambda id: -alike[id])[:most]  # of equal ones the better ranked
        found[SAME_TOPIC] = tuple(Passage(id, documents[id]) for id in chosen)
    if CONTRADICTING in kinds:
        texts = contradicting.get(question.query, ())[:most]
        found[CONTRADICTING] = tuple(Passage(f"contradicting {at}", text) for at, text in enumerate(texts, start=1))
    if BUNDLES in kinds:
        drawn = rng_of(seed, BUNDLES, question.query).permutation(len(bundles))[:most].tolist()
        found[BUNDLES] = tuple(Passage(f"bundle {at}", bundles[row]) for at, row in enumerate(drawn, start=1))
    return found


def chatter_levels(brittle: Mapping[str, Any]) -> tuple[int, ...]:
    """Levels of chatter of a table [brittle], from the question alone on; none where it is not asked for."""
    return tuple(sorted({0, *brittle["levels"]})) if CHATTER in brittle.get("kinds", ()) else ()


def with_chatter(question: str, brittle: Mapping[str, Any], seed: int) -> dict[int, str]:
    """Level of chatter → the question in it.

    Args:
        brittle: key of [brittle] → value.
        seed: of the chatter.
    """
    language: str = brittle.get("language", "en")
    return {level: noisy(question, level, language, seed=seed).text for level in chatter_levels(brittle)}


def bundle_texts(language: str) -> tuple[str, ...]:
    """All different candidates of the names probe, over the people of the package.

    >>> bundle_texts("en")[0]
    'Article: “Meltwater Budgets of Small Alpine Glaciers”. Author: Manon Lefèvre.'
    """
    people = sample_people(language)
    built = build_stimuli(people, language, len(people.works), 0, 0)
    return tuple(dict.fromkeys(text for each in built for text in each.texts().candidates))


def _words(text: str) -> set[str]:
    return {*_WORD.findall(text.lower())}


def _overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0


def place_gold(gold: Sequence[Passage], distractors: Sequence[Passage], place: str) -> tuple[Passage, ...]:
    """A prompt: gold documents first, in the middle, or last; of an odd number the larger half stands before them.

    >>> a, b, c, g = (Passage(id, "") for id in "abcg")
    >>> ["".join(each.id for each in place_gold([g], [a, b, c], place)) for place in ("first", "middle", "last")]
    ['gabc', 'abgc', 'abcg']
    """
    before = {FIRST: 0, MIDDLE: (len(distractors) + 1) // 2, LAST: len(distractors)}[place]
    return (*distractors[:before], *gold, *distractors[before:])


def expected_distractors(ranked: Sequence[RankedDocument], gold: Sequence[str], k: int) -> float:
    """Expected number of documents without the answer among the first k, over all orders of ties.

    k - sum over tie groups of g s / m: m documents tie, g of them are gold, and s places are left for them.

    >>> rows = [RankedDocument("a", 2.0), RankedDocument("g", 1.0), RankedDocument("b", 1.0)]
    >>> expected_distractors(rows, ["g"], 2)
    1.5
    """
    size, start, expected = min(k, len(ranked)), 0, 0.0
    while start < size:
        end = start
        while end < len(ranked) and ranked[end].score == ranked[start].score:
            end += 1
        held = sum(each.id in gold for each in ranked[start:end])
        expected += held * (min(end, size) - start) / (end - start)
        start = end
    return size - expected
