"""Generators without a model: what they extract, and that planted chances are kept."""

from __future__ import annotations

import numpy as np
import pytest

from trueval.answers.generation.planted_generators import (
    ExtractiveGenerator,
    PlantedErrors,
    PlantedGenerator,
    holds,
)
from trueval.errors import PolicyError
from trueval.models.generator import Generator

NO = "I cannot answer."


def test_spans_are_found_in_the_first_passage_that_holds_one() -> None:
    made = ExtractiveGenerator({"When?": ["1889", "in May"]})
    assert isinstance(made, Generator)
    assert made.generate("When?", ["It was painted.", "Built in May, 1889."]).text == "1889 [2]"
    assert made.generate("When?", ["It was built in 18890."]).text == NO
    assert made.generate("Who?", ["Built in 1889."]).text == NO
    assert made.generate("When?", []).text == NO


def test_without_spans_the_sentence_with_most_shared_words_answers() -> None:
    made = ExtractiveGenerator()
    passages = ["Steel is grey.", "The tower is high. The tower was built in 1889."]
    assert made.generate("When was the tower built?", passages).text == "The tower was built in 1889. [2]"
    assert made.generate("Zzz?", passages).text == NO


def test_a_span_is_held_at_the_bounds_of_words() -> None:
    assert holds("The tower, built 1889.", "Built 1889")
    assert not holds("rebuilt 1889", "built 1889")
    assert not holds("anything", " ")


def test_planted_chances_are_kept() -> None:
    """Of 4,000 questions the share of right answers is the formula's, within 4 standard errors."""
    names = [f"Question {at}?" for at in range(4000)]
    made = PlantedGenerator(
        {name: f"word{at}" for at, name in enumerate(names)},
        PlantedErrors(knows=0.3, misreads=0.2, distracted=0.1, forgets=0.5, abstains=0.25, seed=3),
    )
    contexts = {
        "none": (lambda at: [], 0.3),
        "gold": (lambda at: [f"It is word{at}."], 0.8),
        "first of three": (lambda at: [f"It is word{at}.", "x", "y"], 0.8 * 0.9**2),
        "middle of three": (lambda at: ["x", f"It is word{at}.", "y"], 0.8 * 0.9**2 * 0.5),
        "without": (lambda at: ["x", "y"], 0.3 * 0.9**2),
    }
    for context, (passages, chance) in contexts.items():
        found = [made.generate(name, passages(at)).text for at, name in enumerate(names)]
        right = float(np.mean([text == f"word{at}" for at, text in enumerate(found)]))
        assert abs(right - chance) < 4 * np.sqrt(chance * (1 - chance) / 4000), context
        wrong = [text for at, text in enumerate(found) if text != f"word{at}"]
        share = float(np.mean([text == NO for text in wrong]))
        assert abs(share - 0.25) < 4 * np.sqrt(0.25 * 0.75 / len(wrong)), context
        assert made.generate(names[0], passages(0)) == made.generate(names[0], passages(0))
    assert [made.chance(names[0], contexts["gold"][0](0)), made.chance("another", ["x"])] == [0.8, 0.0]


def test_a_chance_above_one_is_refused() -> None:
    with pytest.raises(PolicyError, match="misreads of a planted generator must be from 0 to 1"):
        PlantedErrors(misreads=1.5)
