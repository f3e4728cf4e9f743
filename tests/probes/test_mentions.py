"""Mentions of authors in texts: which names are found, in which form, and what a text is with another name in it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueval.errors import PolicyError
from trueval.probes.authors import Authors, AuthorWork, Name, sample_people
from trueval.probes.conditions import OF_NAMES, find_conditions
from trueval.probes.edits import levenshtein
from trueval.probes.mentions import Mentions, forms


def table(*names: Name) -> Mentions:
    return Mentions(Authors(tuple(AuthorWork(name, f"t{at}", f"t{at}") for at, name in enumerate(names)), "test"))


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
        ("Van der Hoeven wrote", "Van der Hoeven", 0, "family"),
        ("cited: VAN  DER HOEVEN, pieter", "VAN  DER HOEVEN, pieter", 0, "inverted"),
        ("Oudinet, J.-B. (1999)", "Oudinet, J.-B.", 1, "inverted initials"),
        ("les travaux d’Oudinet", "Oudinet", 1, "family"),
        ("l'Oudinet de 1999", "Oudinet", 1, "family"),
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
    assert KNOWN.replace(text, lambda found, name: "X") == text


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
    text = "Pieter van der Hoeven (P. van der Hoeven) met Rose. Van der Hoeven? van der Hoeven!\nVan der Hoeven, Pieter"
    changed = KNOWN.replace(text, lambda found, _: other[found.form], author=0)
    assert changed == "Zoé Quill (Z. Quill) met Rose. Quill? Quill!\nQuill, Zoé"


def test_a_name_of_several_authors_is_that_of_the_one_whom_the_text_names_in_full() -> None:
    known = table(Name("Manon", "Lefèvre"), Name("Marie", "Lefèvre"), Name("Anna", "Rose"), Name("", "M. Rose"))

    def named(text: str) -> list[tuple[str, str]]:
        return [(known.authors[each.author].text, text[each.start : each.end]) for each in known.all(text)]

    assert named("what did Lefèvre, or M. Lefèvre, write?") == []
    manon, marie = ("Manon Lefèvre",) * 2, ("Marie Lefèvre",) * 2
    assert named("Lefèvre: Marie Lefèvre, M. Lefèvre") == [
        ("Marie Lefèvre", "Lefèvre"),
        marie,
        ("Marie Lefèvre", "M. Lefèvre"),
    ]
    # Of two who are named each family name alone is the one of who was named last.
    text = "Lefèvre: Manon Lefèvre; Lefèvre; Marie Lefèvre; Lefèvre"
    assert named(text) == [manon, ("Manon Lefèvre", "Lefèvre"), marie, ("Marie Lefèvre", "Lefèvre")]
    # A fuller name of one author is not the short one of another.
    assert named("M. Rose and Rose") == [("M. Rose", "M. Rose"), ("Anna Rose", "Rose")]


def test_names_that_differ_in_case_are_one_author() -> None:
    known = table(Name("Manon", "Lefèvre"), Name("MANON", "LEFÈVRE"), Name("Bob", "Strauß"))
    assert [each.text for each in known.authors] == ["Manon Lefèvre", "Bob Strauß"]
    found = [known.first(text) for text in ("BOB STRAUSS", "STRAUSS", "Strauss", "a LEFÈVRE of")]
    assert [each and (each.author, each.form) for each in found] == [(1, "whole"), (1, "family"), None, (0, "family")]


def test_letters_of_names_are_no_patterns() -> None:
    known = table(Name("A.*", "(b+)"), Name("", "[x]{2}"), Name("\u05d3\u05d5\u05d3", "\u05db\u05d4\u05df"))
    assert known.first("Axx bbb or xx") is None
    for at, text in enumerate(("a.* (B+)", "by [X]{2}!", "\u200f\u05d3\u05d5\u05d3 \u05db\u05d4\u05df\u200f")):
        found = known.first(text)
        assert found is not None
        assert found.author == at


SAMPLE = Mentions(sample_people("en"))


@given(st.text(), st.integers(0, 124), st.sampled_from(["whole", "initials", "inverted", "family"]), st.text())
def test_a_name_between_any_two_texts_is_found(before: str, number: int, form: str, after: str) -> None:
    """Whatever stands around it, an author who is not part of a longer word is there, and goes away with all of him."""
    name = forms(SAMPLE.authors[number])[form]
    text = f"{before} | {name} | {after}"
    assert any(each.author == number for each in SAMPLE.all(unicodedata.normalize("NFC", text)))
    left = SAMPLE.replace(text, lambda found, _: "…")
    assert SAMPLE.first(left) is None


def test_ablations_change_the_names_of_queries_and_nothing_else() -> None:
    known = SAMPLE
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


TOLKIEN = table(
    Name("John Ronald Reuel", "Tolkien"),
    Name("", "O"),
    Name("Ana", "Peña"),
    Name("Bob", "Smith"),
    Name("Rosa", "Angelo"),
    Name("Alice", "Dupont"),
    Name("Jean", "Oudinet"),
    Name("Ursula K.", "Le Guin"),
    Name("Sean", "Brien"),
)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("by J. Tolkien", "by X"),
        ("by John Tolkien", "by X"),
        ("by J. R. R. Tolkien, 1937", "by X, 1937"),
        ("by J.R.R. Tolkien, 1937", "by X, 1937"),
        ("by J.R. Tolkien", "by X"),
        ("by JRR Tolkien", "by X"),
        ("by John R. R. Tolkien", "by X"),
        ("by R. Tolkien", "by X"),
        ("Tolkien, J., 1937", "X, 1937"),
        ("Tolkien, John (1937)", "X (1937)"),
        ("Tolkien J.R.R. 1937", "X 1937"),
        ("Tolkien, J. R. and Smith, B.", "X and X"),
        ("U. Le Guin and Ursula Le Guin", "X and X"),
        ("Did Tolkien write?", "Did X write?"),
        ("Tolkien, J. Smith", "X, J. Smith"),  # a list of two: the initial is the other's, who is not Bob
        ("Tolkien, John Locke", "X, John Locke"),
        ("by C. Tolkien", "by C. Tolkien"),  # another person
        ("by C. J. Tolkien", "by C. J. Tolkien"),
        ("by J. C. Tolkien", "by J. C. Tolkien"),
        ("a Tolkien book", "a X book"),
        ("Reuel John Tolkien", "Reuel X"),  # in an order that is not his
    ],
)
def test_given_names_beside_a_family_name_go_with_it(text: str, left: str) -> None:
    assert TOLKIEN.replace(text, lambda found, name: "X") == left


def test_initials_of_a_table_are_found_as_they_are_written_elsewhere() -> None:
    known = table(Name("J.R.R.", "Tolkien"), Name("J.-B.", "Oudinet"))
    for text in ("J. R. R. Tolkien", "J.R.R. Tolkien", "John Tolkien", "JRR Tolkien", "Tolkien, J. R. R."):
        assert known.replace(text, lambda found, name: "X") == "X", text
    for text in ("Jean-Baptiste Oudinet", "J. B. Oudinet", "Oudinet, J.-B."):
        assert known.replace(text, lambda found, name: "X") == "X", text


@pytest.mark.parametrize(
    ("text", "forms_found"),
    [
        ("J. Tolkien", ["initials"]), ("John Tolkien", ["whole"]), ("Tolkien, J.", ["inverted initials"]),
        ("Tolkien, John R.", ["inverted"]), ("Tolkien", ["family"]),
    ],
)  # fmt: skip
def test_a_shortened_name_has_the_form_that_it_is_written_in(text: str, forms_found: list[str]) -> None:
    assert [each.form for each in TOLKIEN.all(text)] == forms_found


def test_a_given_name_tells_which_of_several_is_meant() -> None:
    known = table(Name("Manon Odile", "Lefèvre"), Name("Marie", "Lefèvre"))
    found = [(known.authors[each.author].given, each.form) for each in known.all("Manon Lefèvre met Ma. Lefèvre")]
    assert found[0] == ("Manon Odile", "whole")
    assert [each.author for each in known.all("O. Lefèvre")] == [0]
    assert not list(known.all("M. Lefèvre"))  # either of them


@pytest.mark.parametrize(
    "text",
    [
        "O'Brien and O’Connor", "Enrique Peña-Nieto", "Smith-Jones and Jones-Smith", "SMITH-JONES", "D’Angelo sang",
        "the O’Angelo", "bob smith-jones", "jones-bob smith", "Sean O'Brien", "Mary-Ana Peña", "MacTolkien",
    ],
)  # fmt: skip
def test_a_part_of_a_longer_name_is_not_that_name(text: str) -> None:
    assert TOLKIEN.replace(text, lambda found, name: "X") == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Smith's and Smith’s, Smith'll", "X's and X’s, X'll"),
        ("the Smiths' and O's", "the Smiths' and X's"),
        ("‘Smith’ and 'Smith'", "‘X’ and 'X'"),
        ("a Smith-type and anti-Smith plan", "a X-type and anti-X plan"),
        ("Smith–Peña", "X–X"),
        ("qu’Angelo et d’Angelo", "qu’X et d’X"),
        ("l’Oudinet de 1999", "l’X de 1999"),
    ],
)
def test_what_may_stand_at_a_name_hides_no_name(text: str, left: str) -> None:
    """X stands for a name with a vowel in front, before which what was elided stays so."""
    assert TOLKIEN.replace(text, lambda found, name: "Éa").replace("Éa", "X") == left


@pytest.mark.parametrize(
    ("text", "other", "changed"),
    [
        ("les travaux d’Oudinet", "Dupont", "les travaux de Dupont"),
        ("D'Oudinet on sait tout", "Dupont", "D'Oudinet on sait tout"),  # as D'Angelo, which is a name
        ("ce qu’Oudinet dit, lorsqu'Oudinet dort", "Dupont", "ce que Dupont dit, lorsque Dupont dort"),
        ("l’Oudinet de 1999", "Dupont", "le Dupont de 1999"),
        ("les travaux d’Oudinet", "Éluard", "les travaux d’Éluard"),
        ("les travaux d’Oudinet", "Hugo", "les travaux d’Hugo"),
        ("les travaux d’Oudinet", "AUTEUR_002", "les travaux d’AUTEUR_002"),
        ("les travaux de Dupont", "Tolkien", "les travaux de Tolkien"),
    ],
)
def test_another_name_elides_nothing_before_a_consonant(text: str, other: str, changed: str) -> None:
    assert TOLKIEN.replace(text, lambda found, name: other) == changed


def test_families_that_only_capitals_make_one_are_told_apart() -> None:
    known = table(Name("Bob", "Strauß"), Name("Al", "Strauss"))
    found = [
        [each.author for each in known.all(text)] for text in ("B. STRAUSS", "A. STRAUSS", "STRAUSS", "Al Strauss")
    ]
    assert found == [[0], [1], [], [1]]
