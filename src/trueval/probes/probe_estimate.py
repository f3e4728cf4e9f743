"""Estimates of probes: items for models and a judge, and their cost, for --dry-run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueval.collection import Collection
from trueval.golden.build.build_estimate import TaskEstimate
from trueval.models.hosted.account import Account, in_words, sum_costs
from trueval.probes.noise import Rewriter, draw_queries, texts_to_embed
from trueval.probes.noise_settings import NoiseSettings
from trueval.probes.query_variants import work_of
from trueval.report.number_texts import count_phrase
from trueval.retrieval.pipeline.pipeline import Pipeline
from trueval.retrieval.pipeline.pipeline_estimate import ModelCounts, ModelTexts
from trueval.retrieval.pipeline.stage_resources import nobody, open_resources


@dataclass(frozen=True)
class ProbeEstimate:
    """The estimated work of a probe.

    Attributes:
        models: items for each model.
        judge: estimate of the judge's calls; None without a judge.
        max_cost: spending limit for models and judge together; None for no limit.
    """

    models: tuple[ModelTexts, ...]
    judge: TaskEstimate | None = None
    max_cost: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def cost(self) -> float | None:
        """Expected cost of all calls; None if a price is unknown."""
        return sum_costs((*(each.cost for each in self.models), *(each.cost for each in self._paid)))

    @property
    def at_most(self) -> float | None:
        """Maximum cost of all calls; None if unknown."""
        return sum_costs((*(each.at_most for each in self.models), *(each.at_most for each in self._paid)))

    @property
    def _paid(self) -> tuple[TaskEstimate, ...]:
        """The estimate of a judge that is billed by tokens; empty for any other."""
        return (self.judge,) if self.judge is not None and self.judge.calls and self.judge.tokens_in is not None else ()

    @property
    def calls(self) -> int:
        """Number of calls to services and to the judge."""
        return sum(each.calls for each in self.models) + (0 if self.judge is None else self.judge.calls)

    def to_dict(self) -> dict[str, Any]:
        """The JSON of a dry run; calls, tokens and cost include models and judge."""
        judged = 0 if self.judge is None else (self.judge.tokens_in or 0) + (self.judge.tokens_out or 0)
        return {
            "models": [vars(each) for each in self.models],
            "judge": None if self.judge is None else self.judge._asdict(),
            "calls": self.calls,
            "tokens": sum(each.tokens for each in self.models) + judged,
            "cost": self.cost,
            "at_most": self.at_most,
            "notes": list(self.notes),
        }

    def sentences(self) -> list[str]:
        """The estimate as sentences."""
        told = [] if self.judge is None else [self.judge.sentence()]
        told += [each.sentence for each in self.models]
        if not self.models:
            told.append("No text goes through a model.")
        if self.calls and len(told) > 1:
            told.append(f"In all: {count_phrase(self.calls, 'call', 'calls')}, {in_words(self.cost, self.at_most)}.")
        if self.max_cost is not None and self.cost is not None and self.cost > self.max_cost:
            told.append(f"That is more than --max-cost {self.max_cost:g}: the probe would stop before it is spent.")
        return [*told, *self.notes]


def estimate_noise(
    pipelines: Sequence[Pipeline],
    collection: Collection,
    design: NoiseSettings,
    *,
    rewriter: Rewriter | None = None,
    cache: Path | None = None,
) -> list[ModelTexts]:
    """Estimate the items of `probe_pipelines` without running it.

    Args:
        rewriter: rewrites queries where the design includes "judge"; may return placeholders for texts that do not
            exist yet.
        cache: cache to search.

    Raises:
        InputError: as in probe_pipelines.
    """
    names = {text: name for name, text in texts_to_embed(collection, design, rewriter).items()}
    chosen, counts = draw_queries(collection, design), ModelCounts()
    with open_resources(cache, Account(), kept=False) as shared:
        for pipeline in pipelines:
            counts.add(work_of(pipeline.settings, chosen, names, shared, nobody))
        return counts.found()
