"""Estimates of probes: the items that models and a judge still need to process, for --dry-run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from trueval.collection import Collection
from trueval.models.hosted.account import Account
from trueval.models.hosted.services import is_hosted
from trueval.models.missing_work import DryRun, MissingWork, sum_work
from trueval.models.model_speed import BY_SPEED, Trial, expected_seconds, seconds_of
from trueval.models.output_reuse import TEXT
from trueval.probes.model_scorers import different_pairs, part_of
from trueval.probes.names import NamesDesign
from trueval.probes.noise import Rewriter, draw_queries, texts_to_embed
from trueval.probes.noise_settings import NoiseSettings
from trueval.probes.query_variants import work_of
from trueval.probes.scorer import ScorerPairs
from trueval.probes.scorers import EMBEDDER, RERANKER, TOKENS, ProbeScorers
from trueval.report.number_texts import count_phrase
from trueval.retrieval.pipeline.missing_outputs import MissingOutputs
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.retrieval.pipeline.stage_resources import nobody, open_resources

Texts = Mapping[str, Sequence[Any]]


def estimate_noise(
    pipelines: Sequence[Pipeline],
    collection: Collection,
    design: NoiseSettings,
    *,
    rewriter: Rewriter | None = None,
    cache: Path | None = None,
) -> list[MissingWork]:
    """Estimate the items of `probe_pipelines` without running it.

    Args:
        rewriter: rewrites queries where the design includes "judge"; may return placeholders for texts that do not
            exist yet.
        cache: cache to search.

    Raises:
        InputError: as in probe_pipelines.
    """
    names = {text: name for name, text in texts_to_embed(collection, design, rewriter).items()}
    chosen = draw_queries(collection, design)
    with open_resources(cache, Account(), kept=False, asks=False) as shared:
        counts = MissingOutputs(shared.outputs)
        for pipeline in pipelines:
            work = work_of(pipeline.settings, chosen, names, shared, nobody)
            counts.add(work)
            if "embed" in work.settings:
                counts.add_texts(work, "queries")  # their cosines are computed also where results are cached
        return shared.with_questions(counts.work())


def texts_of_names(designs: Iterable[NamesDesign], role: str = EMBEDDER) -> Iterator[Texts]:
    """Part → texts or pairs that a model of a role needs, for each names probe in turn.

    Args:
        designs: one per language, in the order of probing.
        role: "embedder", "tokens" or "reranker".

    Yields:
        For each probe, the texts or pairs that no earlier probe has.
    """
    seen: dict[str, set[Any]] = {}
    for pairs in (each.pairs for each in designs):
        parts = _parts(pairs, role)
        known = {name: seen.setdefault(name, set()) for name in parts}
        yield {name: [item for item in items if item not in known[name]] for name, items in parts.items()}
        for name, items in parts.items():
            known[name].update(items)


def _parts(pairs: ScorerPairs, role: str) -> Texts:
    if role == RERANKER:
        return {"pairs": different_pairs(pairs)}
    return {"queries": pairs.queries, "documents": pairs.candidates}


def estimate_names(
    entrants: ProbeScorers,
    designs: Sequence[NamesDesign],
    *,
    max_cost: float | None = None,
    trial: Trial = seconds_of,
) -> DryRun:
    """Estimate the items for models and the minutes of local ones, without running the probe.

    Args:
        entrants: the requested scorers.
        max_cost: spending limit for hosted models; None for no limit.
        trial: measures the seconds of a local model for a few items.

    Raises:
        InputError: there is no such model.
    """
    first = designs[0]
    about = {
        "languages": [each.language for each in designs],
        **{name: getattr(first, name) for name in ("queries", "runs", "seed")},
        "conditions": list(first.conditions),
    }
    lines = [
        f"{each.language}: {count_phrase(each.queries, 'query', 'queries')}, {count_phrase(each.runs, 'run', 'runs')}, "
        f"{count_phrase(len(each.conditions), 'condition', 'conditions')}: {len(each.pairs.query):,} pairs of "
        f"{each.texts:,} different texts."
        for each in designs
    ]
    found = [each for role, name in entrants.models() for each in _missing_work(entrants, role, name, designs, trial)]
    notes = [BY_SPEED] if any(each.seconds is not None for each in found) else []
    return DryRun(sum_work(found), max_cost, about=about, lines=lines, notes=notes)


def _missing_work(
    entrants: ProbeScorers, role: str, name: str, designs: Sequence[NamesDesign], trial: Trial
) -> Iterator[MissingWork]:
    """What a model still has to do."""
    model, counts = entrants.model(role, name), MissingOutputs(entrants.folder)
    for parts in texts_of_names(designs, role):
        for part, items in parts.items():
            stage = f"{part} (MaxSim)" if role == TOKENS else part
            counts.add_part(model, part_of(model, part, items), TEXT, stage)
    for each in counts.take():
        yield each.work(None if is_hosted(name) else expected_seconds(each, trial))
