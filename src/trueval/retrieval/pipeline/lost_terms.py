"""What a rewritten query may not lose: numbers, codes, names and negations.

A term is a word of letters and digits, also joined by hyphens, dots, slashes or apostrophes. It counts where it has a
digit, is a negation of English or French, or is written as a name: with a capital that does not begin a sentence, in a
text that has small letters too. It is lost where the rewritten query does not have it, in any case and either form of
equivalent characters; commas between thousands are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from trueval.retrieval.indexes.analysis import one_writing

WORD: Final = re.compile(r"[^\W_]+(?:[-./'][^\W_]+)*")
NEGATIONS: Final = frozenset(
    (
        *(
            "no",
            "not",
            "never",
            "without",
            "nor",
            "neither",
            "none",
            "nobody",
            "nothing",
            "cannot",
            "except",
            "excluding",
        ),
        *("non", "pas", "sans", "jamais", "ni", "aucun", "aucune", "rien", "personne", "sauf", "hormis"),
    )
)
THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}\b)")
SENTENCE: Final = re.compile(r"[.!?:;\n]\s*[\"'(«]*$")
SHOWN: Final = 3  # queries in a remark


def lost_terms(before: str, after: str) -> tuple[str, ...]:
    """The terms of a query that its rewritten form does not have, in their order.

    Args:
        before: text of the query.
        after: its rewritten form.

    >>> lost_terms("Who wrote RFC 2616, not Bob?", "who wrote the standard?")
    ('RFC', '2616', 'not', 'Bob')
    >>> lost_terms("Hi! What is the drag at 1,000 m?", "drag at 1000 m")
    ()
    """
    text, kept = _plain(before), {word.casefold() for word in WORD.findall(_plain(after))}
    found = (match for match in WORD.finditer(text) if _counts(text, match))
    return tuple(dict.fromkeys(match[0] for match in found if match[0].casefold() not in kept))


def describe_losses(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """A remark on the queries that lose a term, if there are any.

    Args:
        before: query id → text.
        after: query id → rewritten form.
    """
    changed = {query: text for query, text in before.items() if after.get(query, text) != text}
    lost = {query: terms for query, text in changed.items() if (terms := lost_terms(text, after[query]))}
    if lost:
        shown = "; ".join(f"{query!r} {', '.join(terms)}" for query, terms in list(lost.items())[:SHOWN])
        yield (
            f"{len(lost):,} of {len(changed):,} rewritten queries lose a number, code, name or negation: {shown}"
            f"{f'; and {len(lost) - SHOWN:,} more' if len(lost) > SHOWN else ''}."
        )


def _plain(text: str) -> str:
    return THOUSANDS.sub("", one_writing(text))


def _counts(text: str, match: re.Match[str]) -> bool:
    """Whether a word is a number, a code, a negation or a name."""
    word = match[0]
    if any(character.isdigit() for character in word):
        return True
    if word.casefold() in NEGATIONS or word.casefold().endswith("n't"):
        return True
    begins = not text[: match.start()].strip() or SENTENCE.search(text[: match.start()]) is not None
    written = word[0].isupper() and len(word) > 1 and not text.isupper()
    return written and (not begins or (word.isupper() and len(word) > 1))
