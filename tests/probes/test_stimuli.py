"""Bundles: who is named in which candidate, and what a seed decides."""

import pytest

from trueval.errors import PolicyError
from trueval.probes.authors import LANGUAGES, Authors, AuthorWork, sample_people, split_name
from trueval.probes.stimuli import TEMPLATES, Stimulus, build_stimuli


@pytest.fixture(scope="module")
def drawn() -> list[Stimulus]:
    return build_stimuli(sample_people("en"), "en", 125, 0, 0)


@pytest.mark.parametrize("language", LANGUAGES)
def test_candidates_are_right_and_wrong_as_their_names_say(language: str) -> None:
    people = sample_people(language)
    title_of = {work.author.text: work.title for work in people.works}
    for bundle in build_stimuli(people, language, 125, 1, 3):
        right = bundle.query.author
        title = title_of[right.text]
        c1, c2a, c2b, c3, c4 = bundle.candidates
        assert (c1.author, c1.title, c2a.title, c2b.title, c3.author) == (right, title, title, title, right)
        assert len({right, c2a.author, c2b.author, c4.author}) == 4
        assert c3.title == c4.title != title
        assert len({each.segments for each in bundle.candidates}) == 1, "one template for a bundle"
        texts = bundle.texts()
        assert all(part in texts.query for part in (right.text, bundle.query.topic))
        assert all(
            each.author.text in text and each.title in text and TEMPLATES[language].label in text
            for each, text in zip(bundle.candidates, texts.candidates, strict=True)
        )


def test_a_bundle_depends_on_seed_run_and_row_alone(drawn: list[Stimulus]) -> None:
    people = sample_people("en")
    some = build_stimuli(people, "en", 30, 0, 0)
    whole = {bundle.query.author: bundle.candidates for bundle in drawn}
    assert all(whole[bundle.query.author] == bundle.candidates for bundle in some)
    fewer = {bundle.query.author for bundle in build_stimuli(people, "en", 10, 0, 0)}
    assert fewer < {bundle.query.author for bundle in some}
    assert build_stimuli(people, "en", 30, 0, 0) == some
    assert build_stimuli(people, "en", 30, 0, 1) != some


def test_runs_have_fresh_impostors_other_works_and_other_templates(drawn: list[Stimulus]) -> None:
    other = build_stimuli(sample_people("en"), "en", 125, 1, 0)
    pairs = list(zip(drawn, other, strict=True))
    assert [one.query.author for one, _ in pairs] == [two.query.author for _, two in pairs]
    assert sum(one.candidates[1].author != two.candidates[1].author for one, two in pairs) > 115
    assert sum(one.candidates[3].title != two.candidates[3].title for one, two in pairs) > 115
    for place in (0, 1):
        shown = {(bundle.query, bundle.candidates[0])[place].segments for bundle in drawn}
        assert len(shown) == 3, "every template is there"


def test_a_name_with_a_full_stop_at_its_end_gets_no_second_one(drawn: list[Stimulus]) -> None:
    texts = [bundle.texts().candidates[0] for bundle in drawn if bundle.query.author.family == "Beckwith Jr."]
    assert texts[0].endswith("Author: Harold Beckwith Jr.")


def test_four_authors_and_two_topics_are_enough() -> None:
    people = Authors(sample_people("en").works[:4], "few")
    for run in range(20):
        for bundle in build_stimuli(people, "en", 4, run, 0):
            assert len({bundle.query.author, *(bundle.candidates[at].author for at in (1, 2, 4))}) == 4


def test_bad_choices_are_refused() -> None:
    with pytest.raises(PolicyError, match=r"must be en or fr. Got 'de'"):
        build_stimuli(sample_people("en"), "de", 4, 0, 0)
    with pytest.raises(PolicyError, match="queries must be an integer >= 2"):
        build_stimuli(sample_people("en"), "en", 1, 0, 0)


def test_no_impostor_looks_like_the_author_by_initials_or_without_accents() -> None:
    """Else a form with initials would write them the same, and count it as a failure of the scorer."""
    alike = ["Manon Lefèvre", "Marie Lefèvre", "Max Lefevre", "Mia LEFÈVRE"]
    others = ["Anne Lefèvre", "Bo Hof", "Cy Lee"]
    people = Authors(tuple(AuthorWork(split_name(each), each, each) for each in (*alike, *others)), "made")
    for run in range(20):
        for bundle in build_stimuli(people, "en", 7, run, 0):
            impostors = {bundle.candidates[at].author.text for at in (1, 2, 4)}
            assert len(impostors) == 3
            assert impostors == set(others) or bundle.query.author.text in others
    # Where all look alike there is nobody else.
    few = Authors(people.works[:4], "made")
    for bundle in build_stimuli(few, "en", 4, 0, 0):
        assert {each.author.text for each in bundle.candidates} == set(alike)
