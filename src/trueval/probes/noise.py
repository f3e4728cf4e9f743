"""The noise probe: the effect of conversational noise around a question on a pipeline's results.

A sample of a collection's judged queries is written with several levels of noise, with and without denoising, and with
and without normalization (NFC, plain spaces and apostrophes), and all are searched together (query_variants.py).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from trueval.collection import Collection
from trueval.comparison.resampling.reshuffle import Reshuffle, reshuffle_after_change
from trueval.comparison.resampling.run_reshuffle import lists_of
from trueval.errors import InputError, TruevalWarning
from trueval.evaluation.defaults import RELEVANT, fill_defaults
from trueval.evaluation.evaluate import evaluate
from trueval.evaluation.scores import Scores
from trueval.judgments import Judgments
from trueval.measures import Measure
from trueval.measures.grammar import Measures
from trueval.models.hosted.account import LEDGER, Account
from trueval.policy.policy import Policy
from trueval.probes.noise_settings import CLEAN, JUDGE, NONE, RULES, NoiseCondition, NoiseSettings
from trueval.probes.query_noise import BANKS, Noisy, noisy
from trueval.probes.query_variants import AS_IT_IS, name_texts, search
from trueval.report.number_texts import count_phrase
from trueval.retrieval.indexes.analysis import one_writing
from trueval.retrieval.pipeline.denoise import denoise
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.retrieval.pipeline.stage_resources import Begin, nobody, open_resources
from trueval.run import Run
from trueval.standings.standings import Floats
from trueval.threads import Executor, as_executor

DEFAULT_MEASURES: Final = "nDCG@10 R@10"
GRADED_MEASURE: Final = "N-Recall4+@10"  # the measure of P-B, where grades reach 4
# Function from texts to their rewritten forms, in order.
Rewriter = Callable[[Sequence[str]], Sequence[str]]


@dataclass(frozen=True, eq=False)
class NoiseProbe:
    """The effect of noise on one pipeline's results; rows are conditions, columns queries.

    Attributes:
        query_ids: [query] ids of the sampled queries.
        conditions: [condition] conditions, the clean one first.
        added: [condition, query] share of noise characters in the query before denoising.
        cosines: [condition, query] cosine of the text and the clean text; None without an embedder.
        lists: [condition, query] overlap, τ and RBO of the results and those of the clean query; the minimum where one
            of the lists is empty, NaN where both are.
        worth: measure → [condition, query] expected values over tie orders.
        policy: policy of the evaluation.
        notes: one-line remarks of the pipeline and of the evaluation of the clean queries.
    """

    name: str
    design: NoiseSettings
    collection: str
    measures: tuple[Measure, ...]
    query_ids: tuple[str, ...]
    conditions: tuple[NoiseCondition, ...]
    added: Floats
    cosines: Floats | None
    lists: Reshuffle
    worth: Mapping[str, Floats]
    policy: Policy
    notes: tuple[str, ...]

    def row(self, condition: NoiseCondition) -> int:
        """The row of a condition.

        Raises:
            InputError: it was not asked for.
        """
        if condition not in self.conditions:
            raise InputError(f"The probe has no condition {condition}. It has {len(self.conditions)} others.")
        return self.conditions.index(condition)


def probe_pipelines(
    pipelines: Sequence[Pipeline],
    collection: Collection,
    design: NoiseSettings,
    *,
    measures: Measures | None = None,
    rewriter: Rewriter | None = None,
    cache: Path | None = None,
    begin: Begin | None = None,
    max_cost: float | None = None,
    account: Account | None = None,
    executor: Executor | None = None,
    policy: Policy | None = None,
    **choices: object,
) -> list[NoiseProbe]:
    """Measure the effect of noise on pipelines; shared work is done once, with or without a cache.

    Args:
        collection: documents, queries and judgments.
        measures: measures of the results; if None, nDCG@10, R@10, and N-Recall4+@10 where grades reach 4; for a golden
            set those of `evaluate`.
        rewriter: rewrites queries where the design includes "judge".
        cache: keeps embeddings, indexes and candidates.
        max_cost: spending limit for the hosted models of all pipelines together.
        account: account of the hosted models, where several probes share a limit; replaces max_cost.
        executor: runs local models in other processes or on other machines, as in `retrieve`.

    Returns:
        One probe for each pipeline.

    Raises:
        InputError: there are no judgments, "judge" has no rewriter, or as in Pipeline.retrieve.
    """
    if JUDGE in design.denoised and rewriter is None:
        raise InputError("Denoising by a judge needs a judge. Name a model with --judge, or leave judge out.")
    chosen = draw_queries(collection, design)
    plain = default_measures(chosen.graded)
    measuring = _Measuring(chosen, *fill_defaults(chosen.graded, measures, policy, choices, plain=plain))
    conditions = tuple(design.conditions())
    written = texts_of(conditions, chosen.queries, design, rewriter)
    names = _name_texts(conditions, tuple(chosen.queries), written.texts)
    account = account or Account(max_cost, None if cache is None else cache / LEDGER)
    probes = []
    with open_resources(cache, account, kept=False, executor=as_executor(executor)) as shared:
        for pipeline in pipelines:
            found = search(pipeline.settings, chosen, names, shared, begin or nobody)
            lists, worth = measuring.of([found.run_of(chosen.queries, row) for row in written.texts])
            probes.append(
                NoiseProbe(
                    pipeline.name,
                    design,
                    collection.name,
                    measuring.measures,
                    tuple(chosen.queries),
                    conditions,
                    written.added,
                    found.cosines(written.texts),
                    lists,
                    worth.values,
                    measuring.policy,
                    tuple(dict.fromkeys((*found.notes, *worth.notes))),
                )
            )
    return probes


def draw_queries(collection: Collection, design: NoiseSettings) -> Collection:
    """The collection with a sample of its judged queries, determined by the seed.

    Args:
        design: its `queries` and `seed` determine the sample.

    Raises:
        InputError: there are no judgments, or no judged query has a text.
    """
    judged = judged_queries(collection)
    if len(judged) < 2:
        told = count_phrase(len(judged), "judged query", "judged queries")
        raise InputError(
            f"{collection.source}: {told} with a text and a relevant document. A probe needs 2 at least. Add "
            "judgments, or choose another collection."
        )
    rng = np.random.default_rng([design.seed, 0x6E6F6973])
    places = np.sort(rng.permutation(len(judged))[: design.queries]).tolist()
    every = list(judged)
    asked = {every[place]: judged[every[place]] for place in places}
    return replace(collection.restrict(frozenset(asked)), queries=asked, lists=None)


def judged_queries(collection: Collection) -> dict[str, str]:
    """Id → text of the queries with a relevant document."""
    relevant = collection.graded.frame.filter(pl.col("grade") > 0)["query_id"].unique(maintain_order=True)
    return {query: collection.queries[query] for query in relevant.to_list() if query in collection.queries}


def default_measures(judgments: Judgments) -> str:
    """Default measures for the grades of the judgments."""
    graded = bool((judgments.frame["grade"] >= RELEVANT).any())
    return f"{DEFAULT_MEASURES} {GRADED_MEASURE}" if graded else DEFAULT_MEASURES


def raw_texts(queries: Mapping[str, str], design: NoiseSettings) -> list[str]:
    """The distinct texts for a rewriter.

    Args:
        queries: id → text of the sampled queries.
    """
    return list(
        dict.fromkeys(
            each.text for rows in _make_noisy_queries(design.conditions(), queries, design).values() for each in rows
        )
    )


def _make_noisy_queries(
    conditions: Iterable[NoiseCondition], queries: Mapping[str, str], design: NoiseSettings
) -> dict[tuple[int, str], list[Noisy]]:
    """(level, templates) → each query with that noise."""
    return {
        (each.level, each.templates): [
            noisy(text, each.level, design.language, seed=design.seed, bank=each.templates or BANKS[0])
            for text in queries.values()
        ]
        for each in dict.fromkeys(each._replace(denoised=NONE, normalised=False) for each in conditions)
    }


class WrittenQueries(NamedTuple):
    """Queries as written under each condition.

    Attributes:
        texts: [condition][query] texts.
        added: [condition, query] share of noise characters, before denoising.
    """

    texts: tuple[tuple[str, ...], ...]
    added: Floats


def texts_of(
    conditions: Sequence[NoiseCondition], queries: Mapping[str, str], design: NoiseSettings, rewriter: Rewriter | None
) -> WrittenQueries:
    """Query texts under each condition.

    Args:
        conditions: conditions of the design.
        queries: id → text.
        rewriter: rewrites queries where the design includes "judge"; it gets each distinct text once.
    """
    chatter = _make_noisy_queries(conditions, queries, design)
    raw = {key: [each.text for each in rows] for key, rows in chatter.items()}
    asked = [text for each in conditions if each.denoised == JUDGE for text in raw[each.level, each.templates]]
    different = list(dict.fromkeys(asked))
    told = dict(zip(different, rewriter(different), strict=True)) if rewriter is not None and different else {}
    ways: dict[str, Callable[[str], str]] = {NONE: str, RULES: denoise, JUDGE: lambda text: told[text] or text}
    rows = []
    for each in conditions:
        texts = [ways[each.denoised](text) for text in raw[each.level, each.templates]]
        rows.append(tuple(one_writing(text) if each.normalised else text for text in texts))
    added = np.array([[one.added for one in chatter[each.level, each.templates]] for each in conditions])
    return WrittenQueries(tuple(rows), added)


def texts_to_embed(collection: Collection, design: NoiseSettings, rewriter: Rewriter | None = None) -> dict[str, str]:
    """Id → text of the queries that an embedder needs for a design.

    Args:
        rewriter: rewrites queries where the design includes "judge".

    Raises:
        InputError: as in `draw_queries`.
    """
    conditions, queries = tuple(design.conditions()), draw_queries(collection, design).queries
    texts = texts_of(conditions, queries, design, rewriter).texts
    return {name: text for text, name in _name_texts(conditions, tuple(queries), texts).items()}


def _name_texts(
    conditions: Sequence[NoiseCondition], query_ids: Sequence[str], texts: Sequence[Sequence[str]]
) -> dict[str, str]:
    """Distinct text → the query id under which it is searched."""
    return name_texts([AS_IT_IS if each == CLEAN else each.description for each in conditions], query_ids, texts)


class _ConditionValues(NamedTuple):
    """Values under each condition, with the remarks of the first."""

    values: dict[str, Floats]
    notes: tuple[str, ...]


class _Measuring(NamedTuple):
    """How runs are evaluated."""

    collection: Collection
    measures: tuple[Measure, ...]
    policy: Policy

    def of(self, runs: Sequence[Run]) -> tuple[Reshuffle, _ConditionValues]:
        """[condition, query] change of each result list against the first, and the values of each."""
        lists = lists_of(runs, self.collection.graded, self.policy, tuple(self.collection.queries))
        kept = [reshuffle_after_change(lists[0], each) for each in lists]
        return Reshuffle(*(np.array([each[part] for each in kept]) for part in range(3))), self.evaluate_runs(runs)

    def evaluate_runs(self, runs: Sequence[Run]) -> _ConditionValues:
        """Evaluate each run; remarks are those of the first."""
        found: list[Scores] = []
        rows: dict[str, list[Any]] = {str(measure): [] for measure in self.measures}
        for run in runs:
            with warnings.catch_warnings():
                # The same for every condition, about queries without hits.
                warnings.simplefilter("ignore", TruevalWarning)
                scores = evaluate(run, self.collection.graded, self.measures, policy=self.policy)
            found.append(scores)
            place = {query: at for at, query in enumerate(scores.query_ids)}
            order = [place[query] for query in self.collection.queries]
            for column, name in enumerate(rows):
                rows[name].append(scores.expected[order, column])
        return _ConditionValues({name: np.array(values) for name, values in rows.items()}, found[0].notes)
