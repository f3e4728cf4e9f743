"""Regimes: the formats of the model, of stored embeddings, and of scores, chosen independently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import polars as pl

from trueval.errors import PolicyError, nearest
from trueval.models.pair_scores import FINISHED, HIGH, LISTWISE, MODEL, PAIRED, pair_scores
from trueval.numerics import find_format, formats, round_to, storage_dtype
from trueval.retrieval.exhaustive import Embeddings
from trueval.retrieval.indexes.dense import Flat
from trueval.retrieval.indexes.storages import BINARY, storage_names
from trueval.run import Run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from trueval.collection import Candidates


ROWS: Final = 2_000_000  # scores of one regime in memory at once


class Regime(NamedTuple):
    """The formats behind the scores of a model.

    Attributes:
        model: name of the model.
        scoring: φ: "softmax", "sigmoid", "product", "maxsim", or "softmax(τ)" of products over a list.
        model_dtype: number format in which the model ran.
        scoring_format: format to which φ was rounded; float32 on a narrower model is high-precision scoring.
        index_dtype: storage format of document embeddings; None without embeddings. Queries keep the model's dtype.
        part: the part of the model that alone ran in another format, such as "head=float32"; empty for none.
    """

    model: str
    scoring: str
    model_dtype: str
    scoring_format: str
    index_dtype: str | None = None
    part: str = ""

    @property
    def model_formats(self) -> str:
        """Model dtype and, where it differs, that of a part.

        >>> Regime("m", "softmax", "bfloat16", "float32", part="head=float32").model_formats
        'bfloat16+head=float32'
        """
        return f"{self.model_dtype}+{self.part}" if self.part else self.model_dtype

    @property
    def label(self) -> str:
        """Model dtype, scoring format and, where it differs from the model's, index dtype (P-A, Figures 4 and 5).

        >>> Regime("m", "softmax", "bfloat16", "float32").label
        'bfloat16_float32'
        """
        index = "" if self.index_dtype in (None, self.model_dtype) else f"_index-{self.index_dtype}"
        return f"{self.model_formats}_{self.scoring_format}{index}"

    @property
    def name(self) -> str:
        """Model and label."""
        return f"{self.model} {self.label}"

    @property
    def is_reference(self) -> bool:
        """Whether everything is float32: the reference of the model's other regimes."""
        return {self.model_dtype, self.scoring_format, self.index_dtype or HIGH} == {HIGH} and not self.part


def plan(
    model: str,
    scoring: str,
    model_dtype: str,
    formats: Sequence[str] = (),
    index_dtypes: Sequence[str] = (),
    part: str = "",
) -> tuple[Regime, ...]:
    """List the regimes of a model in one dtype.

    Args:
        model_dtype: number format in which it ran.
        formats: formats of the scores; "model" is the model's dtype. By default these are that and float32.
        index_dtypes: storages of document embeddings: number formats, int8, int4, binary; by default the model's dtype.
        part: as in `Regime`.

    Raises:
        PolicyError: a format is unknown, the model gives finished scores, which no format can be computed of, or a
            softmax is asked for over products of signs.

    >>> [regime.label for regime in plan("m", "product", "bfloat16")]
    ['bfloat16_bfloat16', 'bfloat16_float32']
    """
    if scoring == FINISHED:
        raise PolicyError(
            f"{model} gives finished scores: there is nothing to rescore in another format. Evaluate its run instead."
        )
    chosen = _distinct(formats or (MODEL, HIGH), model_dtype)
    stored = [None] if scoring in PAIRED else _distinct_storages(index_dtypes or (MODEL,), model_dtype)
    if scoring.startswith(LISTWISE) and BINARY in stored:
        raise PolicyError(
            f"{scoring} takes products of vectors, and those of signs are whole numbers up to the dimension. Leave "
            "binary, or the softmax, out."
        )
    return tuple(Regime(model, scoring, model_dtype, one, index, part) for index in stored for one in chosen)


def check_formats(formats: Sequence[str], storages: Sequence[str]) -> None:
    """Refuse formats of scores and storages of embeddings that nothing has; call it before hours of passes.

    Raises:
        PolicyError: one is unknown.
    """
    _distinct(formats, HIGH)
    _distinct_storages(storages, HIGH)


def _distinct(formats: Sequence[str], model_dtype: str) -> list[str]:
    return list(dict.fromkeys(model_dtype if one == MODEL else find_format(one).name for one in formats))


def _distinct_storages(names: Sequence[str], model_dtype: str) -> list[str]:
    known = dict.fromkeys((*formats(), *storage_names()))
    for name in names:
        if name not in (MODEL, *known):
            raise PolicyError(f"Vectors are stored in one of {', '.join(known)}. Got {name!r}.{nearest(name, known)}")
    return list(dict.fromkeys(model_dtype if one == MODEL else one for one in names))


class StoredVectors(NamedTuple):
    """The embeddings that an index compares.

    Attributes:
        queries: [query, dimension], or one [token, dimension] each.
        documents: the same of documents, as the index holds them.
    """

    queries: Any
    documents: Any


def score_regimes(
    candidates: Candidates, outputs: Sequence[tuple[Regime, Mapping[str, object]]], rows: int = ROWS
) -> Iterator[dict[Regime, Run]]:
    """Score the candidates in every regime, some queries at a time.

    Ties belong to one query, so a whole corpus is scored block by block and is never in memory as one ranking.

    Args:
        outputs: regimes with the arrays that the model returned (`Outputs.arrays`); arrays may be shared.
        rows: maximum number of scores of one regime per block, unless a single query has more.

    Yields:
        For each block of queries a run of each regime, candidates in their order.

    Raises:
        InputError: a score overflows its format, or is not a number.
    """
    stored: dict[tuple[int, str | None], StoredVectors] = {}
    for first, last in _blocks(candidates, rows):
        lists = candidates.lists[first:last]
        owner = np.repeat(np.arange(first, last), [len(chosen) for chosen in lists])
        columns = {
            "query_id": pl.Series(candidates.query_ids).gather(owner),
            "doc_id": pl.Series(candidates.doc_ids).gather(np.concatenate(lists)),
            "score": np.zeros(len(owner)),
        }
        base = Run.from_frame(pl.DataFrame(columns), name=candidates.kind)
        runs = {}
        for regime, arrays in outputs:
            # Regimes of one pass and index format share the stored embeddings: a corpus is rounded once, not per block.
            key = (id(arrays), regime.index_dtype)
            if regime.scoring not in PAIRED and key not in stored:
                stored[key] = _store(arrays, regime)
            scores = _scores(regime, arrays, stored.get(key), candidates, first, last)
            column = pl.Series("score", scores.astype(np.float64))
            runs[regime] = replace(base, documents=base.documents.with_columns(column), name=regime.name)
        yield runs


def whole_corpus(regime: Regime, arrays: Mapping[str, object], candidates: Candidates) -> Embeddings:
    """The embeddings of a regime as a scorer of the whole corpus, whose order is that of the candidates.

    Args:
        regime: regime of an embedder.
        arrays: arrays that the model returned.
        candidates: every document for every query.
    """
    form = regime.index_dtype
    rounded = form in formats() and form != regime.model_dtype  # done tile by tile
    given = StoredVectors(arrays["queries"], arrays["documents"]) if rounded else _store(arrays, regime)
    return Embeddings(
        given.queries,
        given.documents,
        candidates.query_ids,
        candidates.doc_ids,
        scoring=regime.scoring,
        format=regime.scoring_format,
        storage=form if rounded else None,
        name=regime.name,
        in_order=True,
    )


def _blocks(candidates: Candidates, rows: int) -> Iterator[tuple[int, int]]:
    """Cut the lists into blocks of at most this many rows, and of at least one list."""
    first = held = 0
    for place, chosen in enumerate(candidates.lists):
        if held and held + len(chosen) > rows:
            yield first, place
            first, held = place, 0
        held += len(chosen)
    yield first, len(candidates.lists)


def _store(arrays: Mapping[str, Any], regime: Regime) -> StoredVectors:
    """The embeddings as an index with the storage of a regime compares them."""
    queries, documents, form = arrays["queries"], arrays["documents"], regime.index_dtype
    if form in (None, regime.model_dtype):
        return StoredVectors(queries, documents)
    if form in formats():
        stored = storage_dtype(str(form))
        if isinstance(documents, np.ndarray):
            return StoredVectors(queries, round_to(documents, form).astype(stored))
        return StoredVectors(queries, [round_to(document, form).astype(stored) for document in documents])
    index = Flat({"storage": form})
    index.build(_of_all(documents))
    return StoredVectors(_like(queries, index.encode_queries(_of_all(queries))), _like(documents, index.decode()))


def _of_all(texts: Any) -> NDArray[np.float32]:
    """[vector, dimension] the vectors of texts, or of all their tokens, in float32."""
    whole = texts if isinstance(texts, np.ndarray) else np.concatenate(list(texts))
    return np.asarray(whole).astype(np.float32)


def _like(texts: Any, vectors: NDArray[np.float32]) -> Any:
    """Vectors as those of each text, where the texts have several."""
    if isinstance(texts, np.ndarray):
        return vectors
    return np.split(vectors, np.cumsum([len(text) for text in texts])[:-1])


def _scores(
    regime: Regime,
    arrays: Mapping[str, Any],
    stored: StoredVectors | None,
    candidates: Candidates,
    first: int,
    last: int,
) -> NDArray[Any]:
    """Return the scores of some lists, one after another."""
    lists, form = candidates.lists[first:last], regime.scoring_format
    if stored is None:
        start = sum(len(chosen) for chosen in candidates.lists[:first])
        of_lists = {"pairs": arrays["pairs"][start : start + sum(len(chosen) for chosen in lists)]}
    else:
        of_lists = {"queries": stored.queries[first:last], "documents": stored.documents}
    return pair_scores(of_lists, lists, regime.scoring, form)
