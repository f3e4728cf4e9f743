"""Mentions of authors in texts: which names are found, in which form, and what a text is with another name in it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueval.errors import PolicyError
from trueval.probes.conditions import OF_NAMES, find_conditions
from trueval.probes.edits import levenshtein
from trueval.probes.mentions import Mentions, forms
from trueval.probes.people import Name, People, WorkOf, sample_people


def table(*names: Name) -> Mentions:
    return Mentions(People(tuple(WorkOf(name, f"t{at}", f"t{at}") for at, name in enumerate(names)), "test"))


KNOWN = table(
    Name("Pieter", "van der Hoeven"),
    Name("Jean-Baptiste", "Oudinet"),
    Name("Anna", "Rose"),
    Name("Marijke", "van ’t Hof"),
    Name("Ágoston", "Nagy", family_first=True),
    Name("", "Médine"),
    Name("Li", "Ba"),
)


@pytest.mark.parametrize(
    ("text", "written", "author", "form"),
    [
        ("what did pieter VAN DER hoeven write", "pieter VAN DER hoeven", 0, "whole"),
        ("articles by van der Hoeven on dikes", "van der Hoeven", 0, "family"),
        ("VAN DER HOEVEN, 1999", "VAN DER HOEVEN", 0, "family"),
        ("by J.-B. Oudinet, 1999", "J.-B. Oudinet", 1, "initials"),
        ("by Jean‑Baptiste  Oudinet", "Jean‑Baptiste  Oudinet", 1, "whole"),
        ("Rose wrote of a rose", "Rose", 2, "family"),
        ("what van 't Hof did", "van 't Hof", 3, "family"),
        ("Nagy Ágoston or Agoston", "Nagy Ágoston", 4, "whole"),
        ("les albums de médine", "médine", 5, "whole"),
        ("Li Ba's paper", "Li Ba", 6, "whole"),
    ],
)
def test_names_are_found_as_people_write_them(text: str, written: str, author: int, form: str) -> None:
    for shape in ("NFC", "NFD"):
        found = KNOWN.first(unicodedata.normalize(shape, text))
        assert found is not None
        assert unicodedata.normalize("NFC", text)[found.start : found.end] == written
        assert (found.author, found.form) == (author, form)


@pytest.mark.parametrize(
    "text",
    ["a rose is a rose", "Rosette and Primrose", "Van Der Hoeven", "Ba", "hoeven", "Rose\u0301 is another name", ""],
)
def test_other_words_are_no_names(text: str) -> None:
    assert KNOWN.first(text) is None
    assert KNOWN.changed(text, lambda found, name: "X") == text


def test_the_longest_name_at_a_place_is_meant_and_none_is_inside_another() -> None:
    known = table(Name("", "Anna"), Name("Anna", "Rose"), Name("Anna Rose", "Lee"))
    text = "Anna Rose Lee met Anna Rose and Anna"
    assert [(each.author, text[each.start : each.end]) for each in known.all(text)] == [
        (2, "Anna Rose Lee"),
        (1, "Anna Rose"),
        (0, "Anna"),
    ]


def test_each_mention_of_an_author_changes_in_its_own_form() -> None:
    other = forms(Name("Zoé", "Quill"))
    text = "Pieter van der Hoeven (P. van der Hoeven) met Rose. Van der Hoeven? van der Hoeven!"
    changed = KNOWN.changed(text, lambda found, _: other[found.form], author=0)
    assert changed == "Zoé Quill (Z. Quill) met Rose. Van der Hoeven? Quill!"


@given(st.text(), st.integers(0, 124), st.sampled_from(["whole", "initials", "family"]), st.text())
def test_a_name_between_any_two_texts_is_found(before: str, number: int, form: str, after: str) -> None:
    """Whatever stands around it, an author who is not part of a longer word is there, and goes away with all of him."""
    known = Mentions(sample_people("en"))
    name = forms(known.authors[number])[form]
    text = f"{before} | {name} | {after}"
    assert any(each.author == number for each in known.all(unicodedata.normalize("NFC", text)))
    left = known.changed(text, lambda found, _: "…")
    assert known.first(left) is None


def test_ablations_change_the_names_of_queries_and_nothing_else() -> None:
    known = Mentions(sample_people("en"))
    asked = "What did Manon Lefèvre find, and Lefèvre's team?"
    found = {each.name: each.change(asked) for each in find_conditions(OF_NAMES, "en", mentions=known)}
    assert found["hard_name_mask"] == "What did AUTHOR_000 find, and AUTHOR_000's team?"
    assert found["gibberish_name"] == "What did ID-98DN27 find, and ID-98DN27's team?"
    assert found["initials_form"] == "What did M. Lefèvre find, and Lefèvre's team?"
    assert found["name_order_inversion"] == "What did Lefèvre, Manon find, and Lefèvre's team?"
    assert levenshtein(asked, found["edit_distance_near_miss"]) == 2  # one letter of each mention
    for each in find_conditions(OF_NAMES, "fr", mentions=known):
        assert each.change("what is a glacier?") == "what is a glacier?"
    assert find_conditions(["hard_name_mask"], "fr", mentions=known)[0].change("Oudinet ?") == "AUTEUR_002 ?"


def test_ablations_of_names_need_a_table() -> None:
    with pytest.raises(PolicyError, match="initials_form changes the names of authors"):
        find_conditions(["initials_form"], "en")
    with pytest.raises(PolicyError, match="there is no condition 'remove_label'"):
        find_conditions(["remove_label"], "en", mentions=KNOWN)
