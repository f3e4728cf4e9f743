"""Tie causes: why the documents of a group have equal scores.

    identical texts     white space aside
    near duplicates     word 5-grams with a Jaccard similarity of .8 or more, as in suppress.py
    equal vectors       different texts, the same embedding
    index or format     different vectors: storage, codes or the format of the scores made the tie
    equal scores        different texts, and no vectors are known
    fusion, reranker    in a pipeline, the stage whose scores are equal

A group is called by the narrowest of these that all of its documents share. Where embeddings are known, their products
are computed in float64, which say whether exact scores decide the cut.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import polars as pl

from trueval.retrieval.pipeline.suppress import suppress_duplicates
from trueval.run import Run
from trueval.standings.groups import starts_of

if TYPE_CHECKING:
    from trueval.retrieval.cuts.cutoff import CutoffGroup
    from trueval.retrieval.indexes.repeated_calls import SearchSession

IDENTICAL: Final = "identical texts"
NEAR: Final = "near duplicates"
VECTORS: Final = "equal vectors"
INDEX: Final = "index or format"
SCORES: Final = "equal scores"
UNKNOWN: Final = "not known"

# Maximum number of documents in a group for the search of near duplicates, which compares all pairs.
MOST_PAIRED: Final = 1000
# Products of unit vectors in float64 that differ by less count as equal: rounding of 384 terms.
NOISE: Final = 1e-13


class TieCause(NamedTuple):
    """The cause of a tie group.

    Attributes:
        name: the narrowest cause common to all its documents.
        texts: number of distinct texts, white space aside; None where a text is not known.
        vectors: number of distinct embeddings; None if there are none.
        decided: whether products in float64 decide which documents enter; None without embeddings.
    """

    name: str
    texts: int | None
    vectors: int | None
    decided: bool | None


def causes_of(
    cuts: Sequence[CutoffGroup], texts: Mapping[str, str], opened: SearchSession | None, *, otherwise: str = SCORES
) -> tuple[TieCause, ...]:
    """Find the cause of each cut's ties.

    Args:
        cuts: cuts of one run.
        texts: texts by document id.
        opened: the index and its vectors; None for run files.
        otherwise: name of the cause for distinct texts where no vectors are known.
    """
    near = _near(cuts, texts)
    if opened is None or opened.vectors is None or opened.query_vectors is None:
        return tuple(_cause(cut, texts, near, otherwise=otherwise) for cut in cuts)
    places = {doc: at for at, doc in enumerate(opened.doc_ids.to_list())}
    rows = {query: at for at, query in enumerate(opened.query_ids)}
    found = []
    for cut in cuts:
        own = np.asarray(opened.vectors[[places[doc] for doc in cut.documents]], dtype=np.float64)
        decided = _decides(own, np.asarray(opened.query_vectors[rows[cut.query]], dtype=np.float64), cut.slots)
        found.append(_cause(cut, texts, near, len(np.unique(own, axis=0)), decided))
    return tuple(found)


def _cause(
    cut: CutoffGroup,
    texts: Mapping[str, str],
    near: Container[str],
    vectors: int | None = None,
    decided: bool | None = None,
    otherwise: str = SCORES,
) -> TieCause:
    known = all(doc in texts for doc in cut.documents)
    different = len({" ".join(texts[doc].split()) for doc in cut.documents}) if known else None
    if cut.size == 1:  # in an open group only one document is known
        name = UNKNOWN
    elif different == 1:
        name = IDENTICAL
    elif cut.query in near:
        name = NEAR
    elif vectors is not None:
        name = VECTORS if vectors == 1 else INDEX
    else:
        name = otherwise if known else UNKNOWN
    return TieCause(name, different, vectors, decided)


def _decides(vectors: Any, query: Any, slots: int) -> bool | None:
    """Whether products in float64 separate the last document that enters from the first that does not."""
    if slots >= len(vectors):
        return None
    exact = np.sort((vectors * query).sum(axis=1))[::-1]
    return bool(exact[slots - 1] - exact[slots] > NOISE)


def _near(cuts: Sequence[CutoffGroup], texts: Mapping[str, str]) -> frozenset[str]:
    """The queries whose whole group consists of near duplicates of one of its documents."""
    paired = [cut for cut in cuts if 1 < cut.size <= MOST_PAIRED and all(doc in texts for doc in cut.documents)]
    if not paired:
        return frozenset()
    documents = [doc for cut in paired for doc in cut.documents]
    rows = pl.DataFrame({"doc_id": documents, "score": np.zeros(len(documents))})
    queries = pl.Series([cut.query for cut in paired])
    groups = Run(rows, queries, starts_of(np.array([cut.size for cut in paired])), "groups", "groups")
    left = suppress_duplicates(groups, texts).run
    return frozenset(left.query_ids.filter(pl.Series(np.diff(left.offsets) == 1)).to_list())
