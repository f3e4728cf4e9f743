"""Ablations: ten changes of a stimulus, each a pure function (P-B §4.2).

Some remove the identity of the author, some change its form, some its position. The effect of a second application is
part of the contract: reversible ones have an inverse, idempotent ones change nothing more, and `neither` has neither
property.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from trueval.errors import PolicyError, nearest
from trueval.probes.authors import Name, plain
from trueval.probes.edits import near_miss
from trueval.probes.stimuli import TEMPLATES, Stimulus, TextParts, Writing

Claim = Literal["reversible", "idempotent", "neither"]
BASE: Final = "base"
DESTROYING, WRITING, LAYOUT = "identity", "writing", "layout"

# Letters and digits of a token: without those easily confused, such as O and 0.
SYMBOLS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
SYMBOLS_IN_ALL: Final = 6
# The Unicode block of combining diacritical marks; vowel signs of other scripts are letters, not diacritics.
MARKS: Final = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
DIACRITICS: Final = re.compile(f"[{MARKS}]")
CURLY: Final = str.maketrans({"’": "'", "‘": "'", "ʼ": "'"})
HYPHENS: Final = re.compile("[-\u2010\u2011]")
NARROW: Final = "\u202f"
BEFORE_MARKS: Final = re.compile(r"\s*([:;!])")


class Ablation(NamedTuple):
    """A change of a stimulus.

    Attributes:
        name: name in P-B.
        family: "identity", "writing" or "layout".
        claim: "reversible", "idempotent" or "neither": the effect of a second application.
        apply: stimulus → changed stimulus.
        undo: inverse of a reversible ablation.
    """

    name: str
    family: str
    claim: Claim
    about: str
    apply: Callable[[Stimulus], Stimulus]
    undo: Callable[[Stimulus], Stimulus] | None = None


def hard_name_mask(bundle: Stimulus) -> Stimulus:
    """Replace every author by one mask, in the query too: C1, C2a and C2b become the same text.

    >>> from trueval.probes.authors import sample_people
    >>> from trueval.probes.stimuli import build_stimuli
    >>> masked = hard_name_mask(build_stimuli(sample_people("en"), "en", 2, 0, 0)[1]).texts()
    >>> masked.candidates[0].endswith("Author: AUTHOR_001."), len(set(masked.candidates))
    (True, 2)
    """
    mask = mask_of(bundle.language, bundle.number)
    return bundle.with_all(lambda parts: parts._replace(author=Name("", mask)))


def mask_of(language: str, number: int) -> str:
    """The mask that replaces an author.

    Args:
        number: index of the query, or of the author where there is no stimulus.

    >>> mask_of("fr", 7)
    'AUTEUR_007'
    """
    return f"{TEMPLATES[language].mask}{number:03d}"


def gibberish_name(bundle: Stimulus) -> Stimulus:
    """Replace each author by a token such as ID-7KQ2MX, consistently."""
    tokens: dict[str, str] = {}
    for author in map(_author_text, (bundle.query, *bundle.candidates)):
        if author not in tokens:
            # On a collision with another author of the stimulus, the next token is used.
            tokens[author] = next(token for token in tokens_of(author) if token not in tokens.values())
    return bundle.with_all(lambda parts: parts._replace(author=Name("", tokens[_author_text(parts)])))


def _author_text(parts: TextParts) -> str:
    return plain(parts.author.text)


def tokens_of(author: str) -> Iterator[str]:
    """Random tokens for a name, hashed from the name and a counter.

    Args:
        author: in NFC.

    >>> next(tokens_of("Manon Lefèvre"))
    'ID-98DN27'
    """
    number = 0
    while True:
        digest = hashlib.blake2b(
            f"{number}:{author}".encode(errors="surrogatepass"), digest_size=SYMBOLS_IN_ALL
        ).digest()
        yield "ID-" + "".join(SYMBOLS[byte % len(SYMBOLS)] for byte in digest)
        number += 1


def edit_distance_near_miss(bundle: Stimulus) -> Stimulus:
    """Name impostors at edit distance 1, 2 and 3 from the author: C2a, C2b and C4. C1 and C3 stay."""
    true = _author_text(bundle.query)
    c1, c2a, c2b, c3, c4 = bundle.candidates
    near = [
        parts._replace(author=Name("", near_miss(true, distance, bundle.names)))
        for distance, parts in ((1, c2a), (2, c2b), (3, c4))
    ]
    return bundle._replace(candidates=(c1, near[0], near[1], c3, near[2]))


def remove_label(bundle: Stimulus) -> Stimulus:
    """Remove "Author:" before the author."""
    return bundle.with_all(lambda parts: parts._replace(label=""))


def strip_diacritics(bundle: Stimulus) -> Stimulus:
    """Strip diacritics from all texts; letters that do not decompose, such as ø and ł, stay."""
    return bundle.with_all(lambda parts: _add_writing(parts, without_diacritics))


def without_diacritics(text: str) -> str:
    """A text without combining diacritical marks, in composed form.

    >>> without_diacritics("Łukasz Świętosławski à Þórshöfn")
    'Łukasz Swietosławski a Þorshofn'
    """
    return unicodedata.normalize("NFC", DIACRITICS.sub("", unicodedata.normalize("NFD", text)))


def initials_form(bundle: Stimulus) -> Stimulus:
    """Abbreviate given names to initials: "A. Dupont", "J.-B. Oudinet"."""
    return bundle.with_all(
        lambda parts: parts._replace(author=parts.author._replace(given=initials(parts.author.given)))
    )


def initials(given: str) -> str:
    """Initials of given names, with hyphens kept; initials stay as they are.

    >>> initials("Jean-Baptiste Élie"), initials("J. R."), initials("J.R.R.")
    ('J.-B. É.', 'J. R.', 'J.R.R.')
    """
    words = [[_initials(part) for part in HYPHENS.split(word)] for word in given.split()]
    return " ".join(filter(None, ("-".join(filter(None, parts)) for parts in words)))


def _initials(word: str) -> str:
    """The initial of a name, or joined initials such as "J.R.R."."""
    return "".join(_first(part) for part in word.split(".") if part)


def _first(word: str) -> str:
    """The first letter of a word with its diacritics, and a full stop."""
    end = next((at for at in range(1, len(word)) if unicodedata.category(word[at])[0] != "M"), len(word))
    return f"{word[:end]}."


def name_order_inversion(bundle: Stimulus) -> Stimulus:
    """Write candidates' authors as in a bibliography, "Dupont, Alice"; applying it twice restores the text."""
    return bundle.with_candidates(
        lambda parts: parts._replace(author=parts.author._replace(inverted=not parts.author.inverted))
    )


def case_punct_perturb(bundle: Stimulus) -> Stimulus:
    """Change the case of authors, straighten curly apostrophes, and replace hyphens by spaces.

    The case follows the query's number: candidates cycle through upper, lower and title case, and the query has the
    next one, so that no query has the case of its candidates.
    """
    cases = (str.upper, str.lower, str.title)
    there, here = cases[bundle.number % 3], cases[(bundle.number + 1) % 3]
    changed = bundle.with_candidates(lambda parts: _change_case(parts, there))
    return changed._replace(query=_change_case(bundle.query, here))


def _change_case(parts: TextParts, case: Writing) -> TextParts:
    given, family = (
        HYPHENS.sub(" ", case(text).translate(CURLY)) for text in (parts.author.given, parts.author.family)
    )
    return parts._replace(author=parts.author._replace(given=given, family=family))


def author_position_shift(bundle: Stimulus) -> Stimulus:
    """Move the author to the front of candidates."""

    def move_author_first(parts: TextParts) -> TextParts:
        # The sort is stable, so the other segments keep their order.
        return parts._replace(segments=tuple(sorted(parts.segments, key=lambda each: "{author}" not in each)))

    return bundle.with_candidates(move_author_first)


def unicode_normalization_stress(bundle: Stimulus) -> Stimulus:
    """Query in NFC; candidates in NFD with narrow no-break spaces before : ; and !."""
    changed = bundle.with_candidates(lambda parts: _add_writing(parts, stress_unicode))
    return changed._replace(query=_add_writing(bundle.query, plain))


def stress_unicode(text: str) -> str:
    r"""A text in NFD with one narrow no-break space before each : ; and !, replacing spaces there.

    >>> ascii(stress_unicode("Été : quoi!"))
    "'E\\u0301te\\u0301\\u202f: quoi\\u202f!'"
    """
    return BEFORE_MARKS.sub(rf"{NARROW}\1", unicodedata.normalize("NFD", text))


def _add_writing(parts: TextParts, writing: Writing) -> TextParts:
    return parts._replace(writings=(*parts.writings, writing))


_ALL = (
    Ablation(
        "hard_name_mask",
        DESTROYING,
        "idempotent",
        "one mask for every author: what is left of the margin is not the name",
        hard_name_mask,
    ),
    Ablation(
        "gibberish_name", DESTROYING, "neither", "a token for each author: the same identity, no name", gibberish_name
    ),
    Ablation(
        "edit_distance_near_miss",
        DESTROYING,
        "idempotent",
        "impostors 1, 2 and 3 letters from the author",
        edit_distance_near_miss,
    ),
    Ablation("remove_label", LAYOUT, "idempotent", "no label before the author", remove_label),
    Ablation("strip_diacritics", WRITING, "idempotent", "no diacritical marks in any text", strip_diacritics),
    Ablation("initials_form", WRITING, "idempotent", "given names as initials", initials_form),
    Ablation(
        "name_order_inversion",
        WRITING,
        "reversible",
        "candidates have the family name first, with a comma",
        name_order_inversion,
        name_order_inversion,
    ),
    Ablation(
        "case_punct_perturb",
        WRITING,
        "idempotent",
        "authors in another case, apostrophes straight, hyphens as spaces",
        case_punct_perturb,
    ),
    Ablation(
        "author_position_shift", LAYOUT, "idempotent", "candidates name their author first", author_position_shift
    ),
    Ablation(
        "unicode_normalization_stress",
        WRITING,
        "idempotent",
        "the query in NFC, candidates in NFD with narrow no-break spaces",
        unicode_normalization_stress,
    ),
)
ABLATIONS: Mapping[str, Ablation] = MappingProxyType({each.name: each for each in _ALL})
"""Every ablation by its name, in the order of the paper's tables."""


def find_ablations(names: Sequence[str] | None) -> tuple[Ablation, ...]:
    """Look up ablations by name, in the order of the paper's tables; all of them for None.

    Raises:
        PolicyError: there is none of a name; the nearest is offered.

    >>> [each.name for each in find_ablations(["remove_label", "hard_name_mask"])]
    ['hard_name_mask', 'remove_label']
    """
    for name in names or ():
        if name not in ABLATIONS:
            raise PolicyError(
                f"There is no ablation {name!r}.{nearest(name, ABLATIONS)} Known: {', '.join(ABLATIONS)}."
            )
    return tuple(each for each in _ALL if names is None or each.name in names)
