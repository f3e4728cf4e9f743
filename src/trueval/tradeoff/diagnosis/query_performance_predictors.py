"""Query performance predictors: per-query signals available after the reranker has scored the smaller pool.

    margin    score of the first document - score of the k-th of the dense list; of unit vectors, a margin of cosines
    entropy   -sum p ln p / ln n of the softmax p over the reranker's logits of the first n candidates; 0 for one
    gap, tied, nqc   of the scores of the dense list: retrieval/pipeline/router.py, which computes all but the drop
    drop      1 - cosine of the query and the query with noise around it (probes/query_noise.py); one more embedding

P-B section 5 names both but defines neither. The mean gap between neighbors is margin / (k - 1), which ranks queries
identically. For a reranker that outputs probabilities, log odds serve as logits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from trueval.collection import Collection
from trueval.errors import InputError, PolicyError
from trueval.evaluation.evaluate import Measures
from trueval.judgments import Judgments
from trueval.models.hosted.account import LEDGER, Account
from trueval.models.model_location import find_model
from trueval.models.pair_scores import PAIRED
from trueval.policy.policy import Policy
from trueval.probes.probe_retrieval_correlation import drops
from trueval.probes.query_noise import noisy
from trueval.retrieval.fusion.ranked_lists import score_lists
from trueval.retrieval.fusion.union import replace_scores
from trueval.retrieval.pipeline.config import Settings
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.retrieval.pipeline.rewriting import AS_IS
from trueval.retrieval.pipeline.router import TOP, gap, normalised_entropy, relative_spread, span, tied_share
from trueval.retrieval.pipeline.stage_resources import Begin, nobody, open_resources
from trueval.retrieval.pipeline.stage_runner import StageRunner
from trueval.run import Run
from trueval.tradeoff.quality.query_scores import QualityMeasures
from trueval.tradeoff.route.route import RoutingResult, learn_routing, router_inputs
from trueval.tradeoff.route.routing_policy import Signal


def margin(run: Run, query_ids: Sequence[str], k: int = TOP) -> Signal:
    """Score of the first document - score of the k-th, or the last of a shorter list.

    Args:
        query_ids: [query] ids; a query without a list has margin 0.
        k: rank from 1.

    >>> margin(Run.from_dict({"q": {"a": 0.5, "b": 0.75, "c": 0.25}}), ["q", "r"], k=2).values.tolist()
    [0.25, 0.0]
    """
    if k < 2:
        raise PolicyError(f"k of the margin must be an integer >= 2. Got {k!r}.")
    lists = score_lists(run, k)
    return Signal("margin", np.array([span(lists.get(query, ())) for query in query_ids]), low_is_hard=True)


def entropy(run: Run, query_ids: Sequence[str], fewer: int, *, odds: bool) -> Signal:
    """Entropy of the reranker's softmax over the smaller pool, as a share of the maximum.

    Args:
        run: reranked candidates.
        query_ids: [query] ids; a query without a list has entropy 0.
        fewer: size of the smaller pool.
        odds: whether scores are probabilities, whose log odds are the logits.

    >>> entropy(Run.from_dict({"q": {"a": 0.5, "b": 0.5}, "r": {"a": 0.9}}), ["q", "r"], 50, odds=True).values.tolist()
    [1.0, 0.0]
    """
    lists = score_lists(run, fewer)
    return Signal("entropy", np.array([normalised_entropy(lists.get(query, ()), odds=odds) for query in query_ids]))


def score_features(run: Run, query_ids: Sequence[str], fewer: int) -> tuple[Signal, ...]:
    """Gap and ties at the smaller pool's end, and NQC, of the dense list: what a served router may read besides.

    Args:
        query_ids: [query] ids; a query without a list has zeros.
        fewer: size of the smaller pool.
    """
    lists = score_lists(run)
    own = [lists.get(query, ()) for query in query_ids]
    return (
        Signal("gap", np.array([gap(scores, fewer) for scores in own]), low_is_hard=True, joint=False),
        Signal("tied", np.array([tied_share(scores, fewer) for scores in own]), joint=False),
        Signal("nqc", np.array([relative_spread(scores[:fewer]) for scores in own]), low_is_hard=True, joint=False),
    )


class QueryNoise(NamedTuple):
    """Noise added to a query, to measure how far its embedding moves.

    Attributes:
        level: level of noise, 1 to 4.
        language: language of the noise, "en" or "fr".
        cost: cost of the additional embedding, in the unit of the routing costs. The usual unit is a pair of the
            reranker; a noisy query is shorter than a pair with its document, so one pair is an upper bound.
    """

    level: int = 4
    language: str = "en"
    seed: int = 0
    cost: float = 1.0


def make_noisy_queries(collection: Collection, noise: QueryNoise) -> dict[str, str]:
    """Query id → its text with noise."""
    return {
        query: noisy(text, noise.level, noise.language, seed=noise.seed).text
        for query, text in collection.queries.items()
    }


def drop(
    collection: Collection,
    settings: Settings,
    query_ids: Sequence[str],
    noise: QueryNoise,
    *,
    cache: Path | None = None,
    begin: Begin | None = None,
    account: Account | None = None,
) -> Signal:
    """1 - cosine of each query and its noisy version: the sensitivity of the embedder.

    Args:
        settings: settings of a pipeline with [embed].
        account: account of a hosted embedder; None for no limit.

    Raises:
        InputError: nothing is embedded.
    """
    if "embed" not in settings:
        raise InputError("The drop of a query needs vectors. Add [embed] with a model, or leave drop out of signals.")
    texts = make_noisy_queries(collection, noise)
    account = account or Account(ledger=None if cache is None else cache / LEDGER)
    vectors = []
    for each in (collection.queries, texts):
        with open_resources(cache, account, kept=False) as shared:
            work = StageRunner(replace(collection, queries=each), settings, shared, begin or nobody)
            vectors.append(np.array(work.query_vectors((begin or nobody)("drop"))))
    same = np.array([texts[query] == text for query, text in collection.queries.items()])
    found = dict(zip(texts, drops(vectors[0], vectors[1], same).tolist(), strict=True))
    return Signal("drop", np.array([found[query] for query in query_ids]), cost=noise.cost)


def route_pipeline(
    collection: Collection,
    settings: Settings,
    judgments: Judgments,
    measure: Measures,
    *,
    rng: np.random.Generator,
    depths: tuple[int, int] = (50, 100),
    k: int = TOP,
    noise: QueryNoise | None = None,
    rewrite: str = AS_IS,
    policy: Policy | None = None,
    unjudged: float | None = None,
    cache: Path | None = None,
    begin: Begin | None = None,
    account: Account | None = None,
    **choices: Any,
) -> RoutingResult:
    """Learn and price the routing of a pipeline's reranker; the longer list holds the logits of both depths.

    Args:
        settings: settings of a pipeline with [rerank]; if its own depth is larger, that many are scored, so that cached
            scores can be reused.
        measure: the first one is the quality; higher values must be better.
        depths: smaller and larger number of candidates of the reranker.
        noise: noise whose cosine drop is an additional signal; None for none.
        rewrite: the form that the queries of the collection are in, for the certificate.
        unjudged: grade of unjudged documents; None for none.
        account: account of hosted models; None for no limit.
        choices: as in learn_routing: budget, price, costs, unit, folds, repeats, bootstrap.

    Raises:
        InputError: there is no reranker, or as in Pipeline.retrieve.
        PolicyError: the reranker is given fewer candidates than asked for, or lower values are better.
    """
    fewer, more = _depths(settings, depths)
    judged = QualityMeasures.of(collection, judgments, measure, policy, unjudged)
    settings = {name: values for name, values in settings.items() if name != "repair"}  # routers choose before it
    rerank = {**settings["rerank"], "depth": max(more, settings["rerank"]["depth"])}
    pipeline = Pipeline({**settings, "rerank": rerank})
    *_, before, last = stages = pipeline.retrieve(collection, cache=cache, begin=begin, account=account).stages
    shallow, deep = (replace_scores(before.run, last.run, depth) for depth in (fewer, more))
    low, high = judged.score_run(shallow), judged.score_run(deep)
    if low.quality in low.lower:
        raise PolicyError(f"Routing needs a measure of which higher values are better. Got {low.quality}.")
    odds = find_model(settings["rerank"]["model"], None).recipe.scoring in PAIRED
    signals: tuple[Signal, ...] = (
        margin(stages[0].run, low.query_ids, k),
        entropy(shallow, low.query_ids, fewer, odds=odds),
        *score_features(stages[0].run, low.query_ids, fewer),
    )
    if noise is not None:
        moved = drop(collection, settings, low.query_ids, noise, cache=cache, begin=begin, account=account)
        signals = *signals, moved
    values = low.values[low.quality], high.values[low.quality]
    found = learn_routing(*values, signals, rng=rng, measure=low.quality, depths=(fewer, more), **choices)
    served = {**settings, "queries": {"rewrite": rewrite}}
    inputs = router_inputs(values, signals, k, odds=odds, settings=served)
    return replace(found, inputs=inputs)


def _depths(settings: Settings, depths: tuple[int, int]) -> tuple[int, int]:
    """The smaller and larger depth, if the pipeline has that many candidates."""
    fewer, more = depths
    if "rerank" not in settings:
        raise InputError("Routing chooses how many candidates are reranked. Add [rerank] with a model.")
    if not 1 <= fewer < more:
        raise PolicyError(f"depths must be two integers, the lower first. Got {fewer!r} and {more!r}.")
    name = next(each for each in ("fuse", "index", "sparse") if each in settings)
    pool = settings[name]["depth"]
    if pool < more:
        raise PolicyError(f"[{name}] gives {pool} candidates, and {more} are to be reranked. Set its depth to {more}.")
    return fewer, more
