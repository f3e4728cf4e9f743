"""Probes in one call each: names, noise, and whether probe signals predict losses of queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Unpack

    from trueval.collection import Collection
    from trueval.files.source.source_bytes import Source
    from trueval.measures.grammar import Measures
    from trueval.policy.policy import Policy
    from trueval.policy.policy_choices import PolicyChoices
    from trueval.probes.margin_summary import NamesResult
    from trueval.probes.noise_settings import NoiseSettings
    from trueval.probes.noise_summary import NoiseResult
    from trueval.probes.prediction import Prediction
    from trueval.probes.scorer_request import ScorerRequest
    from trueval.retrieval.pipeline.pipeline import Pipeline
    from trueval.retrieval.pipeline.stage_resources import Begin
    from trueval.threads import Executor

# The library of probes is imported in the functions: it takes as long as the start of a command.


def probe_names(
    scorers: ScorerRequest | Sequence[str] | str,
    *,
    table: Source | None = None,
    languages: Sequence[str] = ("en",),
    queries: int = 100,
    runs: int = 15,
    seed: int = 0,
    ablations: Sequence[str] | None = None,
    cache: Path | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    threads: int | None = None,
    max_cost: float | None = None,
    begin: Begin | None = None,
    executor: Executor | None = None,
) -> NamesResult:
    """Test whether scorers separate a proper name from an impostor's.

    Args:
        scorers: names of embedders, or a ScorerRequest, which can also request BM25, hybrids and rerankers.
        table: table of authors, titles and topics, as for `trueval probe names`; None for the built-in sample.
        languages: languages of the texts around the names, "en" or "fr".
        queries: number of rows to sample.
        runs: number of runs, each with its own impostors, other work and templates.
        seed: seed of all random numbers.
        ablations: names of ablations; None for all.
        cache: folder that keeps model outputs; None keeps nothing.
        level: confidence level of intervals.
        resamples: number of bootstrap resamples.
        threads: number of threads for intervals; one per processor if None.
        max_cost: spending limit for hosted models, in the currency of their prices; None for no limit.
        begin: model name → progress callback.
        executor: runs local models in other processes or on other machines, as in `retrieve`.

    Raises:
        PolicyError: no scorer is requested, or a choice is unknown.
        InputError: a table or a model cannot be read.

    >>> probe_names("all-MiniLM-L6-v2", languages=["en", "fr"]).to_dict()  # doctest: +SKIP
    """
    from trueval.models.hosted.account import LEDGER, Account
    from trueval.probes.margin_summary import summarise
    from trueval.probes.names import probe_scorer
    from trueval.probes.names_probe import designs_of
    from trueval.probes.scorer_request import ScorerRequest
    from trueval.probes.scorers import ProbeScorers
    from trueval.threads import as_executor

    named = (scorers,) if isinstance(scorers, str) else scorers
    asked = named if isinstance(named, ScorerRequest) else ScorerRequest(tuple(named))
    designs = designs_of(table, languages, queries=queries, runs=runs, seed=seed, ablations=ablations)
    account = Account(max_cost, None if cache is None else cache / LEDGER)
    entrants = ProbeScorers(
        asked,
        folder=None if cache is None else cache / "outputs",
        begin=begin,
        account=account,
        executor=as_executor(executor),
    )
    probes = [probe_scorer(scorer, each) for each in designs for scorer in entrants.scorers(each.language)]
    return summarise(probes, level=level, resamples=resamples, seed=seed, threads=threads)


def probe_noise(
    collection: Collection | Path | str,
    pipelines: Iterable[Pipeline | Path | str] = (),
    *,
    models: Sequence[str] = (),
    index: str = "flat",
    bm25: bool = False,
    hybrid: bool = False,
    design: NoiseSettings | None = None,
    judge: str | None = None,
    qrels: Path | str | None = None,
    measures: Measures | None = None,
    cache: Path | None = None,
    max_cost: float | None = None,
    begin: Begin | None = None,
    executor: Executor | None = None,
    policy: Policy | None = None,
    **choices: Unpack[PolicyChoices],
) -> NoiseResult:
    """Measure the effect of noise around a collection's queries on its retrieval results.

    Args:
        collection: a Collection with judgments, or its path.
        pipelines: pipelines, or paths of pipeline files.
        models: embedders to search with as well, each through `index`.
        index: spec of the index of the models' vectors.
        bm25: whether to search with BM25 as well, in the language of the noise.
        hybrid: whether to fuse each model with BM25 as well.
        design: language, levels, templates and denoising; if None, English with everything but a judge.
        judge: a model that rewrites queries, or a TOML file with a table [judge]; needed where the design has "judge".
        qrels: file of judgments, or the folder of a golden set, instead of the collection's.
        measures: measures of the results; nDCG@10 and R@10 if None, and more for a golden set.
        cache: keeps computed and paid outputs; None keeps nothing.
        max_cost: spending limit for the judge and hosted models together; None for no limit.
        begin: called with the name of each stage; the returned function is called with the progress of the stage.
        executor: runs local models in other processes or on other machines, as in `retrieve`.
        policy: as in `evaluate`, like the choices.

    Raises:
        InputError: there are no judgments, "judge" has no judge, or an input is bad.
        PolicyError: nothing searches, two systems have one name, or a choice is unknown.

    >>> probe_noise("corpus", models=["all-MiniLM-L6-v2"], bm25=True).to_dict()  # doctest: +SKIP
    """
    from trueval.collection import Collection
    from trueval.probes.noise import probe_pipelines
    from trueval.probes.noise_settings import NoiseSettings
    from trueval.probes.noise_summary import summarize_noise
    from trueval.probes.probe_systems import check_unique_names, systems
    from trueval.probes.rewriter import open_rewriter
    from trueval.retrieval.pipeline.pipeline import Pipeline
    from trueval.retrieval.pipeline.stage_resources import nobody

    chosen = design or NoiseSettings("en", seed=choices.get("seed") or 0)
    made = systems(models, index, language=chosen.language, bm25=bm25, hybrid=hybrid)
    searching = check_unique_names([*map(Pipeline.of, pipelines), *made])
    texts = Collection.of(collection, qrels=qrels)
    begin = begin or nobody
    with open_rewriter(judge, texts, cache, max_cost, begin("rewriting")) as rewriter:
        probes = probe_pipelines(
            searching,
            texts,
            chosen,
            measures=measures,
            rewriter=rewriter.rewrite if judge else None,
            cache=cache,
            begin=begin,
            max_cost=max_cost,
            account=None if judge is None or max_cost is None else rewriter.account,
            executor=executor,
            policy=policy,
            **choices,
        )
    return summarize_noise(probes, texts)


def probe_join(
    collection: Collection | Path | str,
    pipelines: Iterable[Pipeline | Path | str] = (),
    *,
    models: Sequence[str] = (),
    bm25: bool = False,
    hybrid: bool = False,
    depth: int = 100,
    conditions: Sequence[str] | None = None,
    table: Source | None = None,
    language: str = "en",
    qrels: Path | str | None = None,
    measures: Measures | None = None,
    queries: int | None = None,
    k: int = 10,
    seed: int = 0,
    cache: Path | None = None,
    max_cost: float | None = None,
    begin: Begin | None = None,
    executor: Executor | None = None,
) -> Prediction:
    """Test whether probes predict losses: do the queries whose vectors or results move most lose most quality?

    Args:
        collection: a Collection with judgments, or its path.
        pipelines: pipelines, or paths of pipeline files.
        models: embedders to search with as well, exactly.
        bm25: whether to search with BM25 as well.
        hybrid: whether to fuse each model with BM25 as well.
        depth: number of documents per list of the models and BM25.
        conditions: changes of queries, such as "noise-4"; None for all.
        table: table of authors, as in probe_names; restricts the queries to those that name an author, and adds name
            margins as signals.
        language: language of the noise and of BM25, "en" or "fr".
        qrels: file of judgments, or the folder of a golden set, instead of the collection's.
        measures: measures of the loss; if None, R@10, and for a golden set those of `evaluate` except Harm.
        queries: number of judged queries to sample; all if None.
        k: number of top documents in the overlap.
        seed: seed of all random numbers.
        cache: keeps embeddings, indexes and candidates; None keeps nothing.
        max_cost: spending limit for hosted models; None for no limit.
        begin: called with the name of each stage; the returned function is called with the progress of the stage.
        executor: runs local models in other processes or on other machines, as in `retrieve`.

    Raises:
        InputError: there are no judgments, or an input is bad.
        PolicyError: nothing searches, or a change is unknown.

    >>> probe_join("corpus", bm25=True, conditions=["noise-4"]).to_dict()  # doctest: +SKIP
    """
    from trueval.collection import Collection
    from trueval.probes.authors import read_people
    from trueval.probes.conditions import find_conditions
    from trueval.probes.mentions import Mentions
    from trueval.probes.prediction import PredictionChoices
    from trueval.probes.probe_retrieval_correlation import join_probes
    from trueval.probes.probe_systems import searched_settings

    mentions = None if table is None else Mentions(read_people(table))
    changes = find_conditions(conditions, language, seed=seed, mentions=mentions)
    return join_probes(
        Collection.of(collection, qrels=qrels),
        searched_settings(pipelines, models, language=language, bm25=bm25, hybrid=hybrid, depth=depth),
        changes,
        measures,
        mentions=mentions,
        queries=queries,
        k=k,
        choices=PredictionChoices(seed=seed),
        cache=cache,
        begin=begin,
        max_cost=max_cost,
        executor=executor,
    )
