"""A rewritten query that loses a number, a code, a name or a negation is told; other changes are not."""

import pytest

from trueval.retrieval.pipeline.lost_terms import describe_losses, lost_terms


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        ("drag of a wing at mach 2", "drag of a wing", ("2",)),
        ("error E-4012 of the pump", "error of the pump", ("E-4012",)),
        ("flow without shocks", "flow with shocks", ("without",)),
        ("it doesn't start", "it starts", ("doesn't",)),
        ("it doesn\u2019t start", "IT DOESN'T START", ()),
        ("un produit sans gluten", "un produit gluten", ("sans",)),
        ("who advised Marie Curie in Paris", "who advised Marie in france", ("Curie", "Paris")),
        ("NASA reports", "reports", ("NASA",)),
        ("Reports of heat", "of heat", ()),  # a capital that begins a sentence is no name
        ("Hello! Reports of heat", "heat", ()),
        ("WHO MEASURES THE DRAG", "drag", ()),  # nothing is a name where all is capital
        ("costs 12,500 dollars", "costs 12500 dollars", ()),
        ("costs 12500 dollars", "costs 12,50 dollars", ("12500",)),
        ("Mach Two, Mach Two", "fast", ("Two", "Mach")),
        ("heat of a plate", "plate heat", ()),
        ("", "anything", ()),
    ],
)
def test_lost_terms(before: str, after: str, lost: tuple[str, ...]) -> None:
    assert lost_terms(before, after) == lost


def test_what_stays_as_it_is_loses_nothing() -> None:
    texts = ["No, not RFC 2616 by Roy Fielding, never 2.0", "Où est l'hôpital n° 7 ?"]
    for text in texts:
        assert lost_terms(text, text) == ()
        assert lost_terms(text, text.lower()) == ()


def test_the_remark_counts_changed_queries_and_names_the_first() -> None:
    before = {f"q{number}": f"part {number} of it" for number in range(6)}
    after = {query: ("part of it" if query != "q5" else text) for query, text in before.items()}
    (told,) = describe_losses(before, after)
    assert told == (
        "5 of 5 rewritten queries lose a number, code, name or negation: 'q0' 0; 'q1' 1; 'q2' 2; and 2 more."
    )
    assert list(describe_losses(before, before)) == []
