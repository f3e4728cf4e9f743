"""Chatter of each level: what is there, that it can be drawn again, and that the question is still in it."""

import itertools
import re
import unicodedata

import numpy as np
import pytest

from trueval.errors import InputError
from trueval.probes.query_noise import (
    BANKS,
    KNOWN,
    LANGUAGES,
    LEVELS,
    PARTS,
    SLOT,
    NoiseTemplates,
    noisy,
    on_phone,
    templates,
    variety,
)

QUERY = "Can forests really regulate the climate of mountainous regions?"
EVERY = [(bank, language) for bank in BANKS for language in LANGUAGES]


@pytest.mark.parametrize(("bank", "language"), EVERY)
def test_each_level_has_the_parts_that_it_says(bank: str, language: str) -> None:
    for level, chosen in enumerate(LEVELS):
        found = noisy(QUERY, level, language, seed=3, bank=bank)
        kinds = [piece.kind for piece in found.pieces]
        assert {part: kinds.count(part) for part in PARTS if part in kinds} == dict(chosen.counts)
        asked = "".join(piece.text for piece in found.pieces if piece.kind == "question")
        if not chosen.typos:
            assert asked.split() == on_phone(QUERY, language).split()
    assert noisy(QUERY, 0, language, bank=bank).text == QUERY


@pytest.mark.parametrize(("bank", "language"), EVERY)
def test_templates_fill_every_slot_and_have_no_other(bank: str, language: str) -> None:
    found = templates(bank, language)
    used = {slot for part in PARTS for each in found.parts[part] for slot in SLOT.findall(each)}
    assert used == set(found.slots)
    for part in PARTS:
        assert len(set(found.parts[part])) == len(found.parts[part]) >= 5
    assert "{" not in "".join(noisy(f"query {at}", 4, language, bank=bank).text for at in range(50))


def test_banks_share_no_sentence() -> None:
    """A greeting of one word may be in both; what has three words and more may not."""
    for language in LANGUAGES:
        for part in ("greeting", "frame", "digression", "thanks"):
            texts = [
                {re.sub(r"\W+", " ", each.lower()).strip() for each in templates(b, language).parts[part]}
                for b in BANKS
            ]
            assert not {each for each in texts[0] & texts[1] if len(each.split()) > 2}


def test_a_seed_draws_the_same_whatever_other_queries_there_are() -> None:
    first, again, other = (noisy(QUERY, 4, "fr", seed=seed).text for seed in (1, 1, 2))
    assert first == again != other
    assert len({noisy(f"query {at}", 1, "fr", seed=1).pieces[0].text for at in range(40)}) > 5
    texts = {noisy(QUERY, 3, "en", seed=seed).text for seed in range(300)}
    assert len(texts) > 295


def test_levels_share_what_both_have() -> None:
    for part in ("greeting", "frame", "thanks"):
        texts = [
            {piece.text for piece in noisy("forests", level, "en", seed=9).pieces if piece.kind == part}
            for level in (2, 3, 4)
        ]
        assert {each.replace("’", "'") for each in texts[0]} == {each.replace("’", "'") for each in texts[1]}


def test_more_is_added_at_each_level() -> None:
    for language in LANGUAGES:
        shares = [np.mean([noisy(f"{QUERY} {at}", level, language).added for at in range(40)]) for level in range(5)]
        assert shares[0] == 0
        assert all(low < high for low, high in itertools.pairwise(shares))


def test_variety_is_the_number_of_different_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: 3 greetings; digressions of sizes 1 and 2 in 2 · 1 · 2 orders; two emoji in 2."""
    made = NoiseTemplates(
        {part: ("a {who}", "b") if part == "greeting" else ("x", "{who}") for part in PARTS}, {"who": ("c", "d")}
    )
    monkeypatch.setattr("trueval.probes.query_noise.templates", lambda bank, language: made)
    assert variety(1, "en", KNOWN) == 3
    assert variety(3, "en", KNOWN) == 3 * 3 * 3 * 4 * 3 * 3  # greeting, frame, thanks, two fillers, digression, emoji


def test_typos_and_characters_in_parts_are_of_level_4() -> None:
    texts = [noisy(f"régularité météorologique {at}", 4, "fr", seed=at) for at in range(90)]
    asked = ["".join(piece.text for piece in each.pieces if piece.kind == "question") for each in texts]
    words = [unicodedata.normalize("NFC", word) for each in asked for word in each.split()[:2]]
    wrong = sum(word not in ("régularité", "météorologique") for word in words)
    assert 0.08 < wrong / len(words) < 0.25
    in_parts = sum(unicodedata.normalize("NFC", each.text) != each.text for each in texts)
    assert 15 < in_parts < 45
    assert all("\u202f" not in each.text for each in (noisy("quoi ?", 2, "fr"),))


def test_bad_levels_languages_and_banks() -> None:
    with pytest.raises(InputError, match="from 0 to 4"):
        noisy("a", 5, "en")
    with pytest.raises(InputError, match="one of en, fr"):
        noisy("a", 1, "de")
    with pytest.raises(InputError, match="one of known, held-out"):
        noisy("a", 1, "en", bank="held")
