"""What codes of stored vectors cost: ties and lost documents of int8, 4-bit, product and binary codes.

An index that stores vectors as codes scores a document by the vector that its code stands for, so documents of one code
tie, and the first K of a query are others than those of the float32 vectors. Scoring the first N documents of the codes
again with the float32 vectors brings most of them back. Here every document is scored by every code, so that nothing
depends on how an index searches:

    recall@K with ties   hits / K, where a document is a hit if its float32 score is at least the K-th best one (as
                         big-ann-benchmarks counts: a document equal to the K-th is not a miss)
    expected             over the orders of equal code scores where K or N cuts a group: of a group of t documents with
                         h hits p are taken, and their hits are hypergeometric with mean p h / t; lowest and highest

Products are summed in float64 and rounded once to float32, so that documents of one code tie wherever they stand.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import polars as pl

from trueval.collection import Collection, ids_in_order
from trueval.errors import PolicyError, TruevalWarning
from trueval.evaluation.defaults import fill_defaults
from trueval.evaluation.evaluate import evaluate
from trueval.precision.codes_result import CodesReport, CodesRow, MeasureRange, RecallRange, RescoreLevel
from trueval.precision.scoring_agreement import agreement
from trueval.retrieval.exhaustive import Embeddings, evaluate_corpus
from trueval.retrieval.indexes.dense import Dense, finite_vectors
from trueval.retrieval.indexes.hits import best, join_hits
from trueval.retrieval.indexes.index import make_index

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Unpack

    from numpy.typing import NDArray

    from trueval.evaluation.scores import Scores
    from trueval.judgments import Judgments
    from trueval.measures import Measure
    from trueval.measures.grammar import Measures
    from trueval.models.output_part import Step
    from trueval.policy.policy import Policy
    from trueval.policy.policy_choices import PolicyChoices
    from trueval.retrieval.pipeline.stage_resources import Begin
    from trueval.standings.standings import Bools, Floats, Ints

STORAGES: Final = ("flat(storage='int8')", "flat(storage='int4')", "pq", "flat(storage='binary')")
RESCORED: Final = (2, 4, 10)  # times K
EXACT: Final = "flat"
SCORES: Final = 1 << 23  # in memory at once: queries of a block times documents


def precision_codes(
    collection: Collection | Path | str,
    model: str,
    storages: Sequence[str] = STORAGES,
    measures: Measures | None = None,
    *,
    k: int = 10,
    rescore: Sequence[int] = RESCORED,
    length: int = 100,
    qrels: Path | str | None = None,
    cache: Path | None = None,
    begin: Begin | None = None,
    policy: Policy | None = None,
    **choices: Unpack[PolicyChoices],
) -> CodesReport:
    """Measure what codes of an embedder's vectors cost: `trueval precision codes`.

    Args:
        collection: documents, queries and judgments, or their path.
        model: embedder: a recipe, a folder, a hub id, or SERVICE:MODEL.
        storages: specs of flat, pq and opq indexes.
        measures: as in `evaluate`, like policy and choices.
        k: number of documents of a result.
        rescore: how many documents are scored again with float32 vectors, in multiples of k.
        length: documents of each list in which ties are counted, and which are compared with the float32 list.
        qrels: file of judgments, or the folder of a golden set, instead of the collection's.
        cache: cache folder of embeddings, as in `retrieve`.
        begin: called with the name of each step; returns a progress callback.

    Raises:
        InputError: a collection or model is bad, or there are too few documents to train a code with.
        PolicyError: a spec is unknown or visits only some vectors, or a number is below 1.

    >>> precision_codes("collection", "all-MiniLM-L6-v2", ["flat(storage='int8')"], "nDCG@10")  # doctest: +SKIP
    """
    # Late: pipelines check their files by pydantic.
    from trueval.models.hosted.account import Account
    from trueval.retrieval.pipeline.pipeline import Pipeline
    from trueval.retrieval.pipeline.stage_resources import nobody, open_resources
    from trueval.retrieval.pipeline.stage_runner import StageRunner

    _check(storages, k, rescore, length)  # before minutes of embedding
    found = Collection.of(collection, qrels=qrels)
    parsed, chosen = fill_defaults(found.graded, measures, policy, choices)
    start = begin or nobody
    with open_resources(cache, Account(), kept=False) as shared:
        work = StageRunner(found, Pipeline.of(None, index=EXACT, model=model).settings, shared, start)
        dimension = getattr(work.embedder(), "dimension", None)
        if dimension is not None:
            for spec in storages:
                _index(spec).check(dimension, len(found.documents))
        step = start("embed")
        vectors, queries = work.document_vectors(step), work.query_vectors(step)
    ids = list(found.queries), ids_in_order(found.documents)
    return measure_codes(
        *(queries, vectors, *ids, found.graded, storages, parsed),
        k=k,
        rescore=rescore,
        length=length,
        model=model,
        begin=start,
        policy=chosen,
    )


def measure_codes(
    queries: NDArray[Any],
    documents: NDArray[Any],
    query_ids: Sequence[str],
    doc_ids: Sequence[str] | pl.Series,
    judgments: Judgments,
    storages: Sequence[str] = STORAGES,
    measures: Measures | None = None,
    *,
    k: int = 10,
    rescore: Sequence[int] = RESCORED,
    length: int = 100,
    model: str = "vectors",
    begin: Begin | None = None,
    policy: Policy | None = None,
    **choices: Unpack[PolicyChoices],
) -> CodesReport:
    """Measure what codes of some vectors cost.

    Args:
        queries: [query, dimension] vectors.
        documents: [document, dimension] vectors.
        query_ids: [query] distinct ids.
        doc_ids: [document] distinct ids.
        judgments: of these ids.
        model: name of what made the vectors.

    Others, and errors, are those of `precision_codes`.
    """
    from trueval.retrieval.pipeline.stage_resources import nobody

    _check(storages, k, rescore, length)
    wanted, chosen = fill_defaults(judgments, measures, policy, choices)
    names = pl.Series("doc_id", doc_ids, dtype=pl.String)
    corpus = _Corpus(finite_vectors(queries, "queries"), finite_vectors(documents, "documents"), list(query_ids), names)
    rows, start = [], begin or nobody
    for spec in dict.fromkeys((EXACT, *storages)):
        index, step = _index(spec), start(spec)
        index.check(corpus.documents.shape[1], len(names))
        index.build(corpus.documents)
        again = () if spec == EXACT else tuple(dict.fromkeys(rescore))  # scoring float32 again would give the same
        lists = _compare_lists(corpus, index, k, again, length, step)
        rows.append(_row(corpus, index, lists, again, k, judgments, wanted, chosen))
    return CodesReport(
        model=model,
        documents=len(names),
        queries=len(corpus.queries),
        dimension=corpus.documents.shape[1],
        k=k,
        length=min(length, len(names)),
        storages=tuple(rows),
        policy=chosen.to_dict(),
        notes=tuple(dict.fromkeys((*(note for row in rows for note in row.notes), *_ends(wanted, rows, len(names))))),
    )


def _ends(measures: Sequence[Measure], rows: Sequence[CodesRow], documents: int) -> Iterator[str]:
    """Notes on measures that read past the documents that are scored again, where these are not all of a corpus."""
    again = sorted({level.documents for row in rows for level in row.rescored if 0 < level.documents < documents})
    for measure in measures:
        cutoff = math.inf if measure.cutoff is None else measure.cutoff
        if short := [f"{each:,}" for each in again if each < cutoff]:
            yield (
                f"{measure} reads past the {' or '.join(short)} documents that are scored again: these lists end "
                "there. Compare it with values of the codes' own scores by a cutoff within them."
            )


def _check(storages: Sequence[str], k: int, rescore: Sequence[int], length: int) -> None:
    """Refuse numbers below 1, and storages that are none."""
    for name, numbers in (("k", [k]), ("length", [length]), ("rescore", rescore)):
        if min(numbers, default=1) < 1:
            raise PolicyError(f"{name} must be of integers >= 1. Got {', '.join(map(str, numbers))}.")
    for spec in storages:
        _index(spec)


def _index(spec: str) -> Dense:
    index = make_index(spec)
    if not isinstance(index, Dense) or type(index).decode is Dense.decode:
        raise PolicyError(f"{spec} visits some of its vectors, or keeps none. To look at codes, name flat, pq or opq.")
    index.ready()
    return index


class _Corpus(NamedTuple):
    """Float32 vectors, and ids."""

    queries: NDArray[np.float32]
    documents: NDArray[np.float32]
    query_ids: list[str]
    doc_ids: pl.Series


@dataclass
class _Lists:
    """What the lists of a code hold; most are one number a query.

    Attributes:
        distinct: different scores among the first documents.
        tied: share of these that tie with another document of the corpus.
        tau_b: Kendall's τ-b with the float32 scores, over the first documents by these.
        rbo: rank-biased overlap of the same.
        recall: [multiple of k that is rescored, 0 for none] recall at k of each query.
        cuts: [multiple of k that is rescored] whether it falls inside a group.
        hits: [multiple of k that is rescored] rescored places and float32 scores of each query.
    """

    distinct: list[int] = field(default_factory=list)
    tied: list[float] = field(default_factory=list)
    tau_b: list[float] = field(default_factory=list)
    rbo: list[float] = field(default_factory=list)
    recall: dict[int, list[RecallRange]] = field(default_factory=dict)
    cuts: dict[int, list[bool]] = field(default_factory=dict)
    hits: dict[int, list[tuple[Ints, Floats]]] = field(default_factory=dict)


def _compare_lists(corpus: _Corpus, index: Dense, k: int, rescore: Sequence[int], length: int, step: Step) -> _Lists:
    """Score every document for every query by a code, and hold its lists against those of float32."""
    found, documents = _Lists(), len(corpus.documents)
    levels = [0, *rescore]
    reach = min(max(length, k, *(k * each for each in levels)) + 1, documents)
    for level in levels:
        found.recall[level], found.cuts[level], found.hits[level] = [], [], []
    for exact, coded in _blocks(corpus, index):
        for true, own in zip(exact, coded, strict=True):
            first = best(own, reach)
            top = own[first[: length + 1]]  # with the one after, which the last may tie with
            same = top[1:] == top[:-1]
            tied = np.append(False, same) | np.append(same, False)
            found.distinct.append(len(np.unique(top[:length])))
            found.tied.append(float(tied[:length].mean()))
            reference = best(true, length)
            alike = agreement(own[reference].astype(float), true[reference].astype(float), k)
            found.tau_b.append(alike.tau_b)
            found.rbo.append(alike.rbo)
            least = np.partition(true, documents - k)[documents - k] if documents > k else -np.inf
            hits = true >= least
            for level in levels:
                last = min(k * max(level, 1), documents)
                found.recall[level].append(recall_range(own, hits, last, min(k, documents)))
                found.cuts[level].append(last < documents and bool(own[first[last - 1]] == own[first[last]]))
                if level:
                    chosen = first[:last]
                    again = chosen[np.lexsort((chosen, -true[chosen]))]
                    found.hits[level].append((again, true[again].astype(np.float64)))
            step("queries", len(found.rbo), len(corpus.queries))
    return found


def _blocks(corpus: _Corpus, index: Dense) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """[query, document] scores of float32 vectors and of codes, some queries at a time."""
    stored, exact = index.decode().astype(np.float64), corpus.documents.astype(np.float64)
    asked = index.encode_queries(corpus.queries).astype(np.float64)
    size = max(SCORES // len(exact), 1)
    for start in range(0, len(asked), size):
        part = slice(start, start + size)
        yield (
            (corpus.queries[part].astype(np.float64) @ exact.T).astype(np.float32),
            (asked[part] @ stored.T).astype(np.float32),
        )


def recall_range(scores: Floats | NDArray[np.float32], hits: Bools, last: int, k: int) -> RecallRange:
    """The recall at k of the first documents by some scores, over all orders of equal ones.

    Args:
        scores: [document] scores that choose the first documents.
        hits: [document] whether it counts.
        last: how many are chosen; hits among them come first when they are scored again.
        k: what the number of hits is divided by, and cut to.

    >>> recall_range(np.array([3.0, 2.0, 2.0, 1.0]), np.array([True, True, False, False]), 2, 2)
    RecallRange(expected=0.75, lowest=0.5, highest=1.0)
    """
    if last >= len(scores):
        value = min(int(hits.sum()), k) / k
        return RecallRange(value, value, value)
    value = np.partition(scores, len(scores) - last)[len(scores) - last]
    above, group = scores > value, scores == value
    sure, tied, among, taken = int(hits[above].sum()), int(group.sum()), int(hits[group].sum()), last - int(above.sum())
    lowest, highest = max(0, among - (tied - taken)), min(among, taken)
    if sure + highest <= k:  # the mean of the hypergeometric distribution, which nothing cuts
        expected = (sure + taken * among / tied) / k
    else:
        from scipy.stats import hypergeom

        picked = np.arange(lowest, highest + 1)
        chances = hypergeom(tied, among, taken).pmf(picked)
        expected = float(chances @ np.minimum(sure + picked, k) / chances.sum()) / k
    return RecallRange(expected, min(sure + lowest, k) / k, min(sure + highest, k) / k)


def _row(
    corpus: _Corpus,
    index: Dense,
    lists: _Lists,
    rescore: Sequence[int],
    k: int,
    judgments: Judgments,
    measures: Sequence[Measure],
    policy: Policy,
) -> CodesRow:
    about = index.describe()
    stored = Embeddings(
        index.encode_queries(corpus.queries), index.decode(), corpus.query_ids, corpus.doc_ids, name=index.spec
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)  # those of the whole lists are in the notes
        several = [evaluate_corpus(stored, judgments, measures, policy=policy)]
        for level in rescore:
            run = join_hits(lists.hits[level]).to_run(corpus.query_ids, corpus.doc_ids, f"{index.spec} {level}K")
            several.append(evaluate(run, judgments, measures, policy=policy))
    levels = [
        _level(min(level * k, len(corpus.doc_ids)), lists, scores, level)
        for level, scores in zip((0, *rescore), several, strict=True)
    ]
    notes = (note.removeprefix(f"{several[0].name}: ") for note in several[0].notes)
    rank = np.asarray(lists.tau_b)
    return CodesRow(
        storage=index.spec,
        bytes=about.bytes,
        distinct=float(np.mean(lists.distinct)),
        tied=float(np.mean(lists.tied)),
        tau_b=float(np.nanmean(rank)) if np.isfinite(rank).any() else None,
        rbo=float(np.mean(lists.rbo)),
        rescored=tuple(levels),
        notes=tuple(dict.fromkeys((*about.notes, *notes))),
    )


def _level(documents: int, lists: _Lists, scores: Scores, level: int) -> RescoreLevel:
    recalls = lists.recall[level]
    means = [scores.mean(measure) for measure in scores.measures]
    return RescoreLevel(
        documents=documents,
        recall=RecallRange(
            float(np.mean([each.expected for each in recalls])),
            float(np.mean([each.lowest for each in recalls])),
            float(np.mean([each.highest for each in recalls])),
        ),
        cut=float(np.mean(lists.cuts[level])),
        measures=tuple(
            MeasureRange(str(measure), mean.expected, mean.lowest, mean.highest)
            for measure, mean in zip(scores.measures, means, strict=True)
        ),
    )
