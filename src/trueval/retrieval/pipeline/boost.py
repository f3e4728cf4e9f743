"""Lexical boosts: score bonuses for documents that contain the query's words, phrases and codes verbatim.

    boosted(d) = fused(d) + unit sum over features f of  w_f share_f(d)

    terms     share of the query's words that d contains, each weighted by its rarity, ln(1 + (N - n + .5) / (n + .5)):
              the idf of BM25 over the N documents of the run, n of them with the word
    phrases   share of the pairs of adjacent words of the query that are adjacent in d (Metzler & Croft 2005)
    codes     share of the query's numbers and codes in d: words with a digit, such as 2.5, NACA-0012 or 10.1/x

Dense vectors blur rare signals: names, numbers, codes. P-B §5.2 proposes light lexical boosts "for rare-signal
passages" and leaves the form open; this one is ours. The unit is the contribution of the first rank of one more run, so
that weights are comparable to those of runs: 1 / (k + 1) for ranks, 1 for normalized scores.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import InputError, PolicyError
from trueval.retrieval.fusion.ranked_lists import TieCount, count_ties, in_order, rank_lists
from trueval.run import Run
from trueval.standings.groups import tie_groups

Floats = NDArray[np.float64]

FEATURES: Final = ("terms", "phrases", "codes")
WORD: Final = re.compile(r"\w+")
# Words with internal punctuation: 10.1145/1571941, NACA-0012, 2,5; a comma joins digits only.
CODE: Final = re.compile(r"\w+(?:(?:[-./:_]|(?<=\d),(?=\d))\w+)*")
DIGIT: Final = re.compile(r"\d")


@dataclass(frozen=True, eq=False)
class BoostResult:
    """A boosted run.

    Attributes:
        run: documents by descending score; ties in the order of the input run.
        gained: number of documents whose score rose.
        before: tie counts of the input run.
        made: number of documents that now tie with one that they did not tie with before.
    """

    run: Run
    gained: int
    before: TieCount
    ties: TieCount
    made: int


def lexical_boost(
    run: Run,
    queries: Mapping[str, str],
    documents: Mapping[str, str],
    weights: Mapping[str, float],
    *,
    unit: float = 1.0,
    name: str | None = None,
) -> BoostResult:
    """Add a bonus to each score for the query's words, phrases and codes in the document.

    Args:
        run: run whose queries and documents all have a text.
        queries: texts by id.
        documents: texts by id.
        weights: feature (terms, phrases, codes) → weight, at least 0.
        unit: bonus of a document that contains everything, for a weight of 1.
        name: name of the new run; that of the old one if None.

    Raises:
        InputError: a query or a document has no text.
        PolicyError: there is no such feature, or a weight is below 0 or not finite.

    >>> run = Run.from_dict({"q": {"a": 0.5, "b": 0.5}})
    >>> found = lexical_boost(run, {"q": "lift of NACA-0012"}, {"a": "Lift.", "b": "The naca-0012."}, {"codes": 0.1})
    >>> found.run.documents.rows(), found.before.tied, found.ties.tied
    ([('b', 0.6), ('a', 0.5)], 2, 0)
    """
    _check(weights)
    lists = rank_lists(run)
    ids = lists.documents["doc_id"].to_list()
    try:
        asked = [_Features.of(queries[query]) for query in lists.query_ids.to_list()]
        wanted = _Features.together(asked)
        held = {doc: _Features.of(documents[doc]).among(wanted) for doc in dict.fromkeys(ids)}
    except KeyError as error:
        raise InputError(f"{run.name}: {error} has no text. Use the collection that the run was made from.") from None
    rarity = _rarity(held.values(), wanted.terms)
    gains = [_gain(asked[at], held[doc], weights, rarity) for at, doc in zip(lists.of_row.tolist(), ids, strict=True)]
    gain = unit * np.array(gains, dtype=np.float64)
    old = lists.documents["score"].to_numpy()
    groups = tie_groups(old + gain, lists.offsets)
    order, scores = in_order(groups), groups.score.repeat(groups.size)
    rows = pl.DataFrame({"doc_id": lists.documents["doc_id"][order], "score": scores})
    found = Run(rows, lists.query_ids, lists.offsets, name or run.name, run.source, empty=run.empty)
    # Groups begin where the score changes; a group with two former scores is new.
    former, begins = old[order], groups.start[:-1]
    new = np.maximum.reduceat(former, begins) > np.minimum.reduceat(former, begins)
    made = int(groups.size[new].sum())
    return BoostResult(found, int((gain > 0).sum()), lists.ties, count_ties(scores, lists.offsets), made)


def _check(weights: Mapping[str, float]) -> None:
    unknown = next((name for name in weights if name not in FEATURES), None)
    if unknown is not None:
        raise PolicyError(f"Lexical boosts are of {', '.join(FEATURES)}. Got {unknown!r}.")
    if not all(0 <= weight < math.inf for weight in weights.values()):
        raise PolicyError(f"Weights of lexical boosts must be numbers >= 0. Got {dict(weights)}.")


class _Features(NamedTuple):
    """The features of a text that can be matched verbatim, ignoring case.

    Attributes:
        terms: words.
        phrases: pairs of adjacent words.
        codes: words with a digit, with the parts joined to them by punctuation.
    """

    terms: frozenset[str]
    phrases: frozenset[tuple[str, str]]
    codes: frozenset[str]

    @classmethod
    def of(cls, text: str) -> _Features:
        plain = unicodedata.normalize("NFKC", text).casefold()
        words = WORD.findall(plain)
        codes = frozenset(code for code in CODE.findall(plain) if DIGIT.search(code))
        return cls(frozenset(words), frozenset(pairwise(words)), codes)

    @classmethod
    def together(cls, several: Iterable[_Features]) -> _Features:
        terms, phrases, codes = zip(*several, strict=True)
        return cls(frozenset().union(*terms), frozenset().union(*phrases), frozenset().union(*codes))

    def among(self, wanted: _Features) -> _Features:
        """The features that some query contains; the others of a long text would waste memory."""
        return _Features(self.terms & wanted.terms, self.phrases & wanted.phrases, self.codes & wanted.codes)


def _rarity(held: Iterable[_Features], terms: Iterable[str]) -> dict[str, float]:
    """The idf of each term."""
    documents = list(held)
    holding = Counter(term for each in documents for term in each.terms)
    return {term: math.log(1 + (len(documents) - holding[term] + 0.5) / (holding[term] + 0.5)) for term in terms}


def _gain(query: _Features, document: _Features, weights: Mapping[str, float], rarity: Mapping[str, float]) -> float:
    """The weighted shares of one document; equal for documents with the same matches."""
    gain = 0.0
    if weights.get("terms") and query.terms:
        # math.fsum: the last bit does not depend on the order of the terms.
        held = math.fsum(rarity[term] for term in query.terms & document.terms)
        gain += weights["terms"] * held / math.fsum(rarity[term] for term in query.terms)
    if weights.get("phrases") and query.phrases:
        gain += weights["phrases"] * len(query.phrases & document.phrases) / len(query.phrases)
    if weights.get("codes") and query.codes:
        gain += weights["codes"] * len(query.codes & document.codes) / len(query.codes)
    return gain
