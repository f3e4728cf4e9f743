"""docs/measures.md is what the registry says today, and claims no exactness that a measure denies."""

import pytest
from docs.make_measures import EXACTNESS, PAGE, page, values
from docs.measure_examples import EXAMPLES, GRADES, NAMES, RELEVANT, SCORES

import trueval as tv
from trueval.measures import registry


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_measure_stands_on_it_once() -> None:
    headings = [line[3:] for line in page().splitlines() if line.startswith("## ")]
    assert headings == list(registry())


def test_exceptions_are_about_measures_that_exist() -> None:
    assert set(EXACTNESS) <= set(registry())


def test_every_measure_has_an_example() -> None:
    assert list(EXAMPLES) == list(registry())


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_worked_by_hand_is_what_the_program_computes(name: str) -> None:
    """For both orders of the tie, and so for expected, lowest and highest."""
    judgments = tv.Judgments.from_dict({"q": dict(zip(NAMES, GRADES, strict=True))})
    judgments = judgments.with_sources({document: document for document in NAMES})
    run = {"q": dict(zip(NAMES, SCORES, strict=True))}
    example = EXAMPLES[name]
    found = tv.evaluate(run, judgments, example.measure, rel=RELEVANT)[example.measure]
    one, two = values(example)
    assert found.expected == pytest.approx((one + two) / 2, abs=1e-12)
    assert (found.lowest, found.highest) == pytest.approx((min(one, two), max(one, two)), abs=1e-12)
    assert example.measure.startswith(name)
