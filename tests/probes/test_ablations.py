"""Ablations on arbitrary names, composed and decomposed: what each promises, and what it leaves as it was."""

import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from trueval.errors import PolicyError
from trueval.probes.ablations import ABLATIONS, DIACRITICS, NARROW, find_ablations, initials, without_diacritics
from trueval.probes.authors import LANGUAGES, Name, plain, sample_people
from trueval.probes.stimuli import TEMPLATES, Stimulus, TextParts, build_stimuli

Form = Literal["NFC", "NFD"]
# Any character, and often those that normalisation, case and marks are about.
LETTERS = st.one_of(
    st.characters(exclude_categories=["Cs"]),
    st.sampled_from("éèüñçőųşțøłßæŉǆİıſﬁΣςέйяẃ\u0301\u0327\u0308\u200d-‐’ʼ' .,:;!\u202f\u00a0"),
)
WORDS = st.text(LETTERS, min_size=1, max_size=10)


@st.composite
def any_bundles(draw: st.DrawFn) -> Stimulus:
    """Bundles of any texts in one of the two forms; the names of C1, C2a, C2b and C4 are different."""
    form: Form = draw(st.sampled_from(["NFC", "NFD"]))
    language = draw(st.sampled_from(LANGUAGES))

    def text() -> str:
        return unicodedata.normalize(form, draw(WORDS))

    family_first = draw(st.booleans())
    authors = [Name(text(), f"{text()}{mark}", family_first) for mark in "abcd"]
    titles, topic = [text(), text()], text()
    templates = TEMPLATES[language]
    segments = (draw(st.sampled_from(templates.works)), templates.author)
    shown = [(0, 0), (1, 0), (2, 0), (0, 1), (3, 1)]
    return Stimulus(
        draw(st.integers(0, 200)),
        language,
        TextParts(authors[0], "", topic, "", (draw(st.sampled_from(templates.queries)),)),
        tuple(TextParts(authors[who], titles[what], "", templates.label, segments) for who, what in shown),
        frozenset(plain(author.text) for author in authors),
    )


@examples(500)
@given(bundle=any_bundles())
def test_every_ablation_keeps_its_promise(bundle: Stimulus) -> None:
    for name in ABLATIONS:
        keeps_its_promise(name, bundle)
    masks_all_authors(bundle)
    keeps_who_is_who(bundle)
    names_near_misses(bundle)
    leaves_no_diacritics(bundle)
    stresses_normalisation(bundle)


def keeps_its_promise(name: str, bundle: Stimulus) -> None:
    ablation = ABLATIONS[name]
    before = bundle.texts()
    once = ablation.apply(bundle)
    assert bundle.texts() == before, "what was given is as it was"
    assert once.texts() == ablation.apply(bundle).texts(), "the same each time"
    if ablation.claim == "idempotent":
        assert ablation.apply(once).texts() == once.texts()
    if ablation.claim == "reversible":
        assert ablation.undo is not None
        assert ablation.undo(once) == bundle


def test_a_letter_that_becomes_an_apostrophe_is_no_exception() -> None:
    """In upper case "ŉ" is "ʼN", whose apostrophe is made straight too."""
    bundle = build_stimuli(sample_people("en"), "en", 2, 0, 0)[0]
    named = bundle.with_all(lambda parts: parts._replace(author=Name("ŉ", "Lee")))
    for number in range(3):
        keeps_its_promise("case_punct_perturb", named._replace(number=number))


def test_what_promises_neither_is_neither() -> None:
    bundle = build_stimuli(sample_people("en"), "en", 2, 0, 0)[0]
    for ablation in ABLATIONS.values():
        once = ablation.apply(bundle)
        if ablation.claim == "neither":
            assert ablation.apply(once).texts() != once.texts()
        if ablation.claim == "reversible":
            assert once.texts() != bundle.texts()
        assert (ablation.undo is None) == (ablation.claim != "reversible")


def masks_all_authors(bundle: Stimulus) -> None:
    texts = ABLATIONS["hard_name_mask"].apply(bundle).texts()
    assert texts.candidates[0] == texts.candidates[1] == texts.candidates[2]
    assert texts.candidates[3] == texts.candidates[4]
    mask = f"{TEMPLATES[bundle.language].mask}{bundle.number:03d}"
    assert mask in texts.query
    assert mask in texts.candidates[0]


def keeps_who_is_who(bundle: Stimulus) -> None:
    changed = ABLATIONS["gibberish_name"].apply(bundle)
    before = [plain(parts.author.text) for parts in (bundle.query, *bundle.candidates)]
    after = [parts.author.text for parts in (changed.query, *changed.candidates)]
    assert [after.index(each) for each in after] == [before.index(each) for each in before]
    assert all(each.startswith("ID-") and len(each) == 9 and each.isascii() for each in after)


def names_near_misses(bundle: Stimulus) -> None:
    distance = pytest.importorskip("rapidfuzz.distance").Levenshtein.distance
    changed = ABLATIONS["edit_distance_near_miss"].apply(bundle)
    true = plain(bundle.query.author.text)
    names = [plain(parts.author.text) for parts in changed.candidates]
    assert [distance(true, name) for name in names] == [0, 1, 2, 0, 3]
    assert not {names[1], names[2], names[4]} & bundle.names
    assert changed.candidates[0] == bundle.candidates[0]
    assert changed.query == bundle.query


def leaves_no_diacritics(bundle: Stimulus) -> None:
    texts = ABLATIONS["strip_diacritics"].apply(bundle).texts()
    for text in (texts.query, *texts.candidates):
        assert not DIACRITICS.search(unicodedata.normalize("NFD", text))
        assert unicodedata.is_normalized("NFC", text)


def stresses_normalisation(bundle: Stimulus) -> None:
    texts = ABLATIONS["unicode_normalization_stress"].apply(bundle).texts()
    assert texts.query == plain(bundle.query.text)
    for before, text in zip(bundle.texts().candidates, texts.candidates, strict=True):
        assert unicodedata.is_normalized("NFD", text)
        for mark in ":;!":
            assert text.count(mark) == text.count(NARROW + mark) == unicodedata.normalize("NFD", before).count(mark)


def test_labels_of_both_languages_go() -> None:
    for language in LANGUAGES:
        texts = ABLATIONS["remove_label"].apply(build_stimuli(sample_people(language), language, 2, 0, 0)[0]).texts()
        assert not any(TEMPLATES[language].label.strip() in text for text in texts.candidates)


def test_the_author_comes_first() -> None:
    bundle = build_stimuli(sample_people("en"), "en", 2, 0, 0)[1]
    before, after = bundle.texts(), ABLATIONS["author_position_shift"].apply(bundle).texts()
    assert after.query == before.query
    work, author = before.candidates[0].rsplit(" Author: ", 1)
    assert after.candidates[0] == f"Author: {author} {work}"


def test_case_differs_between_query_and_candidates() -> None:
    cases = set()
    for bundle in build_stimuli(sample_people("en"), "en", 6, 0, 0):
        changed = ABLATIONS["case_punct_perturb"].apply(bundle)
        query, candidate = changed.query.author.text, changed.candidates[0].author.text
        assert query != candidate
        assert query.casefold() == candidate.casefold()
        assert not {"’", "-"} & set(query + candidate)
        cases.add((query.isupper(), query.islower(), candidate.isupper(), candidate.islower()))
    assert len(cases) == 3


@pytest.mark.parametrize(
    ("given_names", "expected"),
    [
        ("Alice", "A."),
        ("Jean-Baptiste", "J.-B."),
        ("E\u0301lodie", "E\u0301."),
        ("Ma. Corazon", "M. C."),
        ("", ""),
        ("J.R.R.", "J.R.R."),
        ("J.-B.", "J.-B."),
        ("J.R. Ronald", "J.R. R."),
        ("Jean-B.L.", "J.-B.L."),
        ("...", ""),
    ],
)
def test_initials_are_letters_with_their_marks(given_names: str, expected: str) -> None:
    assert initials(given_names) == expected


def test_letters_without_a_mark_stay() -> None:
    assert without_diacritics("Søren Łukasz Đorđe ß ı") == "Søren Łukasz Đorđe ß ı"
    assert without_diacritics("हिन्दी עִבְרִית") == "हिन्दी עִבְרִית", "vowel signs are not diacritics"


def test_names_of_ablations_offer_the_nearest() -> None:
    with pytest.raises(PolicyError, match="Did you mean gibberish_name"):
        find_ablations(["giberish_name"])
    assert [each.name for each in find_ablations(None)] == list(ABLATIONS)
