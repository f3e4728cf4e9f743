"""Name margins on a real collection: a query's relevant document, against itself with other names.

The names probe uses synthetic sentences. Here the query is real, C1 is a relevant document that names the author of the
query, and C2a and C2b are the same document with the author replaced by two others of the table, who are named neither
in the query nor in the document, and have another family name:

Δname = s(q, C1) − max(s(q, C2a), s(q, C2b)), of cosines
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence, Set
from itertools import islice
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.collection import Collection
from trueval.comparison.resampling.resampled_sums import generator
from trueval.probes.authors import plain
from trueval.probes.mentions import Mentions, forms
from trueval.standings.standings import Floats

# Random stream of a seed, distinct from those of stimuli.
IMPOSTORS: Final = (1 << 41) + 1


class Trials(NamedTuple):
    """Relevant documents with the original author and with impostors.

    Attributes:
        documents: id → text, each distinct text once.
        places: query → ids of C1, C2a and C2b, for queries that have all three.
    """

    documents: Mapping[str, str]
    places: Mapping[str, tuple[str, str, str]]

    def margins(self, query_ids: Sequence[str], queries: NDArray[np.generic], documents: NDArray[np.generic]) -> Floats:
        """[query] Δname; NaN for a query without a trial.

        Args:
            documents: [document, dimension] vectors of `documents`, in the same order.

        >>> trials = Trials({"a": "", "b": "", "c": ""}, {"q": ("a", "b", "c")})
        >>> trials.margins(["q", "r"], np.array([[1.0, 0], [0, 1]]), np.array([[2.0, 0], [1, 0], [0, 1]])).tolist()
        [0.0, nan]
        """
        unit = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in map(_float64, (queries, documents))]
        row = {text: at for at, text in enumerate(self.documents)}
        found = np.full(len(query_ids), np.nan)
        for at, query in enumerate(query_ids):
            if query in self.places:
                candidates = unit[1][[row[each] for each in self.places[query]]]
                right, *others = np.einsum("cd,d->c", candidates, unit[0][at])
                found[at] = right - max(others)
        return found


def _float64(vectors: NDArray[np.generic]) -> Floats:
    return np.asarray(vectors, dtype=np.float64)


def trials_of(collection: Collection, mentions: Mentions, seed: int) -> Trials:
    """The trials of queries that name an author whom one of their relevant documents also names.

    Args:
        mentions: finder of the names in a table of authors.
        seed: seed of the impostors; those of a query do not depend on the other queries.
    """
    documents: dict[str, str] = {}
    ids: dict[str, str] = {}
    places = {}
    relevant = collection.graded.frame.filter(pl.col("grade") > 0).sort("grade", descending=True, maintain_order=True)
    for (query,), rows in relevant.group_by("query_id", maintain_order=True):
        found = mentions.first(collection.queries.get(str(query), ""))
        if found is None:
            continue
        # In NFC, as the text under another name will be.
        known = (plain(collection.documents[each]) for each in rows["doc_id"].to_list() if each in collection.documents)
        text = next((each for each in known if found.author in _find_authors(mentions, each)), None)
        if text is None:
            continue
        named = _find_authors(mentions, text) | _find_authors(mentions, collection.queries[str(query)])
        others = _impostors(mentions, found.author, named, seed, str(query))
        if len(others) < 2:
            continue
        candidates = [text, *(_under(mentions, text, found.author, by) for by in others)]
        right, first, second = (ids.setdefault(each, f"c{len(ids)}") for each in candidates)
        documents |= {ids[each]: each for each in candidates}
        places[str(query)] = (right, first, second)
    return Trials(documents, places)


def _find_authors(mentions: Mentions, text: str) -> set[int]:
    """The authors named in a text."""
    return {found.author for found in mentions.all(plain(text))}


def _under(mentions: Mentions, text: str, author: int, by: int) -> str:
    """A document with an author renamed, each mention in its own form."""
    other = mentions.authors[by]
    names = forms(other)
    return mentions.replace(text, lambda found, _: names.get(found.form) or other.text, author)


def _impostors(mentions: Mentions, author: int, named: Set[int], seed: int, query: str) -> list[int]:
    """Two other authors of the table with other family names; fewer where the table has no more.

    Args:
        author: author to replace.
        named: authors named in the query or the document, who are excluded: with their names the document would be
            about them.
    """
    chunk = int.from_bytes(hashlib.blake2b(query.encode(errors="surrogatepass"), digest_size=8).digest(), "big")
    family = _family(mentions, author)
    drawn = generator(seed, IMPOSTORS, chunk).permutation(len(mentions.authors)).tolist()
    fit = (at for at in drawn if at != author and at not in named and _family(mentions, at) != family)
    return list(islice(fit, 2))


def _family(mentions: Mentions, author: int) -> str:
    """The case-folded family name, or whole name where there is no family name."""
    name = mentions.authors[author]
    return plain(name.family or name.text).casefold()
