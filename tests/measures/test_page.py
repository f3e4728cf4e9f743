"""docs/measures.md is what the registry says today, and claims no exactness that a measure denies."""

from docs.make_measures import EXACTNESS, PAGE, page

from trueval.measures import registry


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_measure_stands_on_it_once() -> None:
    headings = [line[3:] for line in page().splitlines() if line.startswith("## ")]
    assert headings == list(registry())


def test_exceptions_are_about_measures_that_exist() -> None:
    assert set(EXACTNESS) <= set(registry())
