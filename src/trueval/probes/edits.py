"""Edits: variants of a name at an exact edit distance.

Distances are Levenshtein's (1966) on the code points of NFC: insertions, deletions and substitutions cost 1 each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import lru_cache
from string import ascii_lowercase
from typing import Final

import numpy as np

from trueval.errors import InputError
from trueval.probes.authors import plain

ATTEMPTS: Final = 100


def levenshtein(first: str, second: str) -> int:
    """Minimum number of insertions, deletions and substitutions of code points between two texts.

    Args:
        first: text in any Unicode form; not normalized here.
        second: text in any Unicode form; not normalized here.

    >>> levenshtein("Lefèvre", "Lefebvre"), levenshtein("", "ab")
    (2, 2)
    """
    row = list(range(len(second) + 1))
    for at, letter in enumerate(first, 1):
        diagonal, row[0] = row[0], at
        for place, other in enumerate(second, 1):
            diagonal, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, diagonal + (letter != other))
    return row[-1]


@lru_cache(1 << 14)
def near_miss(name: str, distance: int, taken: frozenset[str]) -> str:
    """A deterministic variant of a name at an edit distance, by substituting letters.

    Letters are replaced by a to z in the same case. Where that is impossible, as in names that are too short, letters
    are appended.

    Args:
        name: name in NFC.
        distance: edit distance, at least 1.
        taken: names in NFC to avoid.

    Raises:
        InputError: distance is below 1.

    >>> [levenshtein("Ann Lee", near_miss("Ann Lee", distance, frozenset())) for distance in (1, 2, 3)]
    [1, 2, 3]
    """
    if distance < 1:
        raise InputError(f"The distance of a near miss must be an integer >= 1. Got {distance!r}.")
    digest = hashlib.blake2b(f"{distance}:{name}".encode(errors="surrogatepass"), digest_size=8).digest()
    rng = np.random.Generator(np.random.PCG64(int.from_bytes(digest, "big")))
    made = (each for each in _candidates(name, distance, rng) if plain(each) == each and each not in taken)
    return next(each for each in made if levenshtein(name, each) == distance)


def _candidates(name: str, distance: int, rng: np.random.Generator) -> Iterator[str]:
    """An endless stream of candidate names that may be at the distance."""
    letters = [at for at, letter in enumerate(name) if letter.isalpha()]
    for _ in range(ATTEMPTS if len(letters) >= distance else 0):
        yield _substitute_letters(name, rng.choice(letters, distance, replace=False).tolist(), rng)
    while True:  # appended letters always have the right distance, and only finitely many names are taken
        yield name + "".join(ascii_lowercase[at] for at in rng.integers(0, 26, distance).tolist())


def _substitute_letters(name: str, places: list[int], rng: np.random.Generator) -> str:
    found = list(name)
    for place in places:
        letter = ascii_lowercase[rng.integers(26)]
        found[place] = letter.upper() if name[place].isupper() else letter
    return "".join(found)
