"""Items not in the cache, for --dry-run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from trueval.models.hosted.services import is_hosted
from trueval.models.known_outputs import prefix_of
from trueval.models.output_reuse import find_missing_items
from trueval.models.outputs import OutputPart, place_of, settings_of
from trueval.probes.model_scorers import different_pairs, part_of
from trueval.probes.names import NamesDesign
from trueval.probes.probe_estimate import ProbeEstimate
from trueval.probes.scorer import ScorerPairs
from trueval.probes.scorers import EMBEDDER, RERANKER, ProbeScorers
from trueval.report.number_texts import count_phrase
from trueval.retrieval.pipeline.pipeline_estimate import ModelTexts, texts_of_model
from trueval.standings.standings import Ints

Texts = Mapping[str, Sequence[Any]]


class UncachedItems(NamedTuple):
    """The items of one model that are not in the cache.

    Attributes:
        model: an embedder or a reranker.
        part: texts, or pairs of texts.
        places: indices of the items that are not in the cache.
    """

    model: Any
    part: OutputPart
    places: Ints

    @property
    def items(self) -> list[Any]:
        """The items that are not in the cache."""
        return [self.part.items[place] for place in self.places.tolist()]


def find_uncached_items(model: Any, texts: Texts, folder: Path | None) -> Iterator[UncachedItems]:
    """Find the texts that a model would have to process.

    Args:
        model: model with settings, from `load_model`.
        texts: part → items.
        folder: folder of stored model outputs; None for none.
    """
    for name, items in texts.items():
        part, places = part_of(model, name, items), np.arange(len(items))
        if folder is not None and model.scoring == "maxsim":  # token vectors are stored for all items or for none
            places = places[: 0 if place_of(settings_of(model), name, part.texts(), folder).complete else None]
        elif folder is not None:
            places = find_missing_items(settings_of(model), part, folder)
        yield UncachedItems(model, part, places)


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


@dataclass(frozen=True)
class NamesEstimate(ProbeEstimate):
    """The estimated work of a names probe."""

    designs: tuple[NamesDesign, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `trueval probe names --dry-run`."""
        first = self.designs[0]
        return {
            "languages": [each.language for each in self.designs],
            **{name: getattr(first, name) for name in ("queries", "runs", "seed")},
            "conditions": list(first.conditions),
            **super().to_dict(),
        }

    def sentences(self) -> list[str]:
        """The estimate as sentences."""
        told = [
            f"{each.language}: {count_phrase(each.queries, 'query', 'queries')}, "
            f"{count_phrase(each.runs, 'run', 'runs')}, "
            f"{count_phrase(len(each.conditions), 'condition', 'conditions')}: {len(each.pairs.query):,} pairs of "
            f"{each.texts:,} different texts."
            for each in self.designs
        ]
        return [*told, *super().sentences()]


def estimate_names(
    entrants: ProbeScorers, designs: Sequence[NamesDesign], *, max_cost: float | None = None
) -> NamesEstimate:
    """Estimate the items for models, without running them.

    Weights are loaded only where the cache has outputs of the same model, to compare their settings.

    Args:
        entrants: the requested scorers.
        max_cost: spending limit for hosted models; None for no limit.

    Raises:
        InputError: there is no such model.
    """
    found = [_of_model(entrants, role, name, list(texts_of_names(designs, role))) for role, name in entrants.models()]
    return NamesEstimate(tuple(found), max_cost=max_cost, designs=tuple(designs))


def _of_model(entrants: ProbeScorers, role: str, name: str, given: Sequence[Texts]) -> ModelTexts:
    count = sum(len(items) for texts in given for items in texts.values())
    if not is_hosted(name) and not _may_be_cached(entrants, role, name):
        return ModelTexts(name, role, count, count)
    model = entrants.model(role, name)
    found = [each for texts in given for each in find_uncached_items(model, texts, entrants.folder)]
    return replace(texts_of_model(model, role, [(each.part, each.places) for each in found], count), name=name)


def _may_be_cached(entrants: ProbeScorers, role: str, name: str) -> bool:
    """Whether the folder has outputs of a model of this name and dtype, with any settings."""
    about = {"model": entrants.place(role, name).name, "dtype": entrants.asked.dtype}
    folder = entrants.folder
    return folder is not None and any(folder.glob(f"{prefix_of(about, '').removesuffix('-')}*"))
