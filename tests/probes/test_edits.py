"""Near misses are at their distance exactly, by a library of others too."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from trueval.errors import InputError
from trueval.probes.authors import plain, sample_people
from trueval.probes.edits import levenshtein, near_miss

TEXTS = st.text(max_size=12)


@examples(300)
@given(TEXTS, TEXTS)
def test_distances_are_those_of_rapidfuzz(first: str, second: str) -> None:
    distance = pytest.importorskip("rapidfuzz.distance").Levenshtein.distance
    assert levenshtein(first, second) == distance(first, second)


@examples(300)
@given(st.text(min_size=1, max_size=12).map(plain), st.integers(1, 3))
def test_any_name_has_near_misses_at_each_distance(name: str, distance: int) -> None:
    other = pytest.importorskip("rapidfuzz.distance").Levenshtein.distance
    found = near_miss(name, distance, frozenset())
    assert other(name, found) == distance
    assert unicodedata.is_normalized("NFC", found)
    assert near_miss.__wrapped__(name, distance, frozenset()) == found, "the same each time"


def test_near_misses_of_the_sample_are_nobody_else() -> None:
    other = pytest.importorskip("rapidfuzz.distance").Levenshtein.distance
    names = sample_people("en").names
    for name in names:
        made = [near_miss(name, distance, names) for distance in (1, 2, 3)]
        assert [other(name, each) for each in made] == [1, 2, 3]
        assert not set(made) & names
        assert all(len(each) == len(name) for each in made), "letters are replaced"


def test_a_name_that_is_taken_does_not_come_out() -> None:
    first = near_miss("Ann Lee", 1, frozenset())
    assert near_miss("Ann Lee", 1, frozenset({first})) not in (first, "Ann Lee")
    # Every substitution in a name of one letter is taken, and so letters are added.
    taken = frozenset("abcdefghijklmnopqrstuvwxyz")
    assert len(near_miss("q", 1, taken)) == 2


def test_a_distance_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match=r"must be an integer >= 1. Got 0"):
        near_miss("Ann", 0, frozenset())
