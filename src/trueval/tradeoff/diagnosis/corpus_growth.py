"""Corpus growth: a pipeline over thinned corpora, from which `trueval frontier --grow` says what a larger one gives.

A thinned corpus has every judged document and a share of the others, drawn at random without replacement: a query that
was answered can still be answered, among fewer distractors. Each share below 1 is drawn several times. A document keeps
the embedding that it has in the whole corpus, so that no model runs again; indexes are built anew, in memory. A
reranker is left out: on a thinned corpus it would be asked for pairs that nobody scored.

Source: docs/formulas.md §6.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from trueval.collection import Collection
from trueval.errors import InputError
from trueval.judgments import Judgments
from trueval.models.hosted.account import LEDGER, Account
from trueval.policy.policy import Policy
from trueval.retrieval.fusion.ranked_lists import rank_lists
from trueval.retrieval.indexes.index import make_index, read_spec
from trueval.retrieval.indexes.repeated_calls import SearchSession
from trueval.retrieval.pipeline.config import STAGES, Settings, set_scoring, with_search
from trueval.retrieval.pipeline.stage_keys import DEPTHS
from trueval.retrieval.pipeline.stage_resources import Begin, StageResources, nobody
from trueval.retrieval.pipeline.stage_runner import StageRunner
from trueval.run import Run
from trueval.standings.standings import Ints
from trueval.tradeoff.diagnosis.diagnosis_results import GrowthMeasurement
from trueval.tradeoff.diagnosis.loss_decomposition import BELOW, recall
from trueval.tradeoff.quality.query_scores import QualityMeasures

SHARES: Final = tuple(2.0**-power for power in range(6, -1, -1))  # 1/64 to 1
REPLICATES: Final = 5
# Tables of a pipeline that are left out: a reranker and what follows it.
AFTER_SEARCH: Final = ("rerank", "repair", "route")
EXACT: Final = "flat"  # the index that compares every vector in float32
TIMED: Final = 30  # queries that are searched one at a time
FEWEST: Final = 64  # unjudged documents; below, a 64th of them is none


class ThinnedCorpus(NamedTuple):
    """A part of a corpus.

    Attributes:
        share: of the unjudged documents.
        replicate: 0 for the first one of its share.
        places: [document] their places in the whole corpus.
    """

    share: float
    replicate: int
    places: Ints


@dataclass(frozen=True, eq=False)
class GrowthTask:
    """What is measured on each thinned corpus.

    Attributes:
        settings: tables of the pipeline.
        measures: how runs are evaluated; the first measure is the quality.
        k: number of documents of a context.
    """

    settings: Settings
    measures: QualityMeasures
    k: int


def thin_corpus(documents: int, judged: Ints, *, replicates: int = REPLICATES, seed: int = 0) -> list[ThinnedCorpus]:
    """Draw parts of a corpus: every judged document, and a share of the others without replacement.

    Args:
        documents: number of documents of the corpus.
        judged: their places that are judged.
        replicates: draws of each share below 1.
        seed: of the draws.

    Raises:
        InputError: so few documents are unjudged that a share of them is none.
    """
    others = np.setdiff1d(np.arange(documents), judged)
    if len(others) < FEWEST:
        raise InputError(
            f"{len(others)} of {documents:,} documents are unjudged, and thinning takes a 64th of them at the least. "
            f"Growth needs {FEWEST} or more."
        )
    rng = np.random.default_rng(seed)
    found = []
    for share in SHARES:
        for replicate in range(1 if share == 1 else replicates):
            some = others if share == 1 else rng.choice(others, round(share * len(others)), replace=False)
            found.append(ThinnedCorpus(share, replicate, np.sort(np.concatenate([judged, some]))))
    return found


def measure_growth(
    collection: Collection,
    settings: Settings,
    judgments: Judgments,
    measure: str,
    k: int,
    *,
    policy: Policy | None = None,
    unjudged: float | None = None,
    cache: Path | None = None,
    seed: int = 0,
    replicates: int = REPLICATES,
    begin: Begin | None = None,
) -> tuple[GrowthMeasurement, ...]:
    """Search thinned corpora by a pipeline, and measure what changes.

    Args:
        collection: the whole corpus and the queries.
        settings: tables of the pipeline; a reranker is left out.
        judgments: of the queries.
        measure: the quality.
        k: number of documents of a context.
        policy: of the measure.
        unjudged: grade of unjudged documents; None for none.
        cache: of embeddings.
        seed: of the draws.
        replicates: draws of each share below 1.
        begin: as in Pipeline.retrieve.

    Raises:
        InputError: no query is judged, or hardly a document is unjudged.
    """
    task = GrowthTask(
        set_scoring({name: table for name, table in settings.items() if name not in AFTER_SEARCH}, STAGES),
        QualityMeasures.of(collection, judgments, [measure], policy, unjudged),
        k,
    )
    ids = list(collection.documents)
    known = set(judgments.frame["doc_id"].to_list())
    judged = np.array([place for place, document in enumerate(ids) if document in known], dtype=np.int64)
    corpora = thin_corpus(len(ids), judged, replicates=replicates, seed=seed)
    account = Account(None, None if cache is None else cache / LEDGER)
    whole = StageResources(cache, None if cache is None else cache / "outputs", account)
    runner = StageRunner(collection, task.settings, whole, begin or nobody)
    of_documents: frozenset[str] = frozenset()
    if "embed" in task.settings:
        step = (begin or nobody)("embed")
        runner.document_vectors(step)
        of_documents = frozenset(whole.vectors)
        runner.embed_queries(step)
    step, found = (begin or nobody)("thinned corpora"), []
    for number, corpus in enumerate(corpora):
        texts = {ids[place]: collection.documents[ids[place]] for place in corpus.places.tolist()}
        vectors = {key: rows[corpus.places] if key in of_documents else rows for key, rows in whole.vectors.items()}
        shared = replace(whole, cache=None, outputs=None, vectors=vectors, stages={}, hashes={})
        found.append(_search_thinned(replace(collection, documents=texts), corpus, task, shared))
        step("searched", number + 1, len(corpora))
    return tuple(found)


def _search_thinned(
    collection: Collection, corpus: ThinnedCorpus, task: GrowthTask, shared: StageResources
) -> GrowthMeasurement:
    """What a pipeline gives on one thinned corpus.

    Args:
        shared: resources with the vectors of this corpus.
    """
    work = StageRunner(collection, task.settings, shared, nobody)
    stages = [work.stage(name, make) for name, make in work.retrievers().items()]
    for name in work.refiners():
        stages.append(work.refine(name, stages if name == "fuse" else stages[-1:], ()))
    scores = task.measures.score_run(stages[-1].run)
    sessions = {name: work.opened[name] for name in work.retrievers()}
    return GrowthMeasurement(
        share=corpus.share,
        replicate=corpus.replicate,
        documents=len(collection.documents),
        quality=float(np.nanmean(scores.values[scores.quality])),
        cut=share_cut(stages[-1].run, task.k),
        recall=_recall(work, stages[0].run) if stages[0].name == "dense" else None,
        bytes=sum(each.describe().bytes or 0 for each in work.indexes),
        seconds=sum(
            _median_seconds(each, work.settings[DEPTHS[work.searches[name].kind]]["depth"])
            for name, each in sessions.items()
        ),
    )


def share_cut(run: Run, k: int) -> float:
    """Share of the queries whose first k documents are a matter of ties: the k-th has the score of the next one.

    >>> share_cut(Run.from_dict({"q1": {"a": 2.0, "b": 1.0, "c": 1.0}, "q2": {"a": 2.0, "b": 1.0}}), 2)
    0.5
    """
    lists = rank_lists(run)
    return float(((lists.rank == k + 1) & (lists.first_rank <= k)).sum() / len(lists.query_ids))


def _recall(work: StageRunner, run: Run) -> float | None:
    """Mean recall of a dense index against exact float32 search of the same vectors; None of such a search itself."""
    kind, chosen = read_spec(work.settings["index"]["spec"])
    if kind.takes_of(chosen) != "vectors" or make_index(work.settings["index"]["spec"]).spec == make_index(EXACT).spec:
        return None
    depth = work.settings["index"]["depth"]
    exact = {"spec": EXACT, "depth": depth + BELOW, "scoring": "index"}
    asked = replace(work.collection, queries=work.asked)
    other = StageRunner(asked, with_search(work.settings, exact), replace(work.shared, stages={}), nobody)
    return float(recall(run, other.stage("dense", other.dense).run, depth).mean())


def _median_seconds(opened: SearchSession, depth: int) -> float:
    """Median seconds of a search for one query, without its embedding."""
    taken = []
    for place in range(min(len(opened.query_ids), TIMED)):
        query, began = opened.select(np.array([place])), time.perf_counter()
        opened.index.search(query, depth)
        taken.append(time.perf_counter() - began)
    return float(np.median(taken))
