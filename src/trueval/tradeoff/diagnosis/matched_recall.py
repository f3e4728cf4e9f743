"""Comparison at matched recall: the latency and memory that each kind of index needs for the same recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from trueval.errors import PolicyError
from trueval.numerics import or_null
from trueval.specs import format_spec, read_arguments
from trueval.tradeoff.diagnosis.diagnosis_results import FamilyAtRecall, RecallMatch
from trueval.tradeoff.quality.sweep_loader import SweepArrays

RECALLS: Final = (0.9, 0.95, 0.98, 0.99, 1.0)
# Parameters of search effort, which do not affect the built index.
SEARCH: Final = ("efSearch", "nprobe", "reorder")


class IndexedSystem(NamedTuple):
    """One system of a family.

    Attributes:
        system: index of the system.
        latency: seconds; NaN if unknown.
        memory: bytes; NaN if unknown.
    """

    system: int
    recall: float
    latency: float
    memory: float


def compare_at_recall(
    measured: SweepArrays, percentile: str, recalls: Sequence[float] = RECALLS
) -> tuple[RecallMatch, ...]:
    """Latency and memory of each family of systems at the same recall.

    A family contains systems that differ only in search effort (efSearch). Between two of its systems with less and
    more recall than requested, latency and memory are interpolated in recall; else the fastest system at or above is
    taken; a family that stays below is reported as such.

    Args:
        recalls: target recalls, ascending.
    """
    families = _families(measured, percentile)
    if not families:
        return ()
    return tuple(
        RecallMatch(recall, tuple(at_recall(name, each, recall) for name, each in families.items()))
        for recall in recalls
    )


def at_recall(name: str, family: Sequence[IndexedSystem], recall: float) -> FamilyAtRecall:
    """The latency and memory that a family of systems needs to reach a recall.

    Args:
        name: of the family.
        recall: target recall.

    Example:
        >>> family = [IndexedSystem(0, 0.8, 0.010, 100.0), IndexedSystem(1, 1.0, 0.030, 100.0)]
        >>> found = at_recall("hnsw", family, 0.9)
        >>> found.how, round(found.latency, 4)
        ('interpolated', 0.02)
    """
    ordered = sorted(family, key=lambda each: (each.recall, each.latency))
    above = [each for each in ordered if each.recall >= recall]
    if not above:
        best = ordered[-1]
        return FamilyAtRecall(name, best.system, None, best.recall, None, None, "not reached")
    exact = [each for each in above if each.recall == recall]
    for low, high in pairwise(ordered):
        if not exact and low.recall < recall < high.recall:
            share = (recall - low.recall) / (high.recall - low.recall)
            latency, memory = ((1 - share) * one + share * other for one, other in zip(low[2:], high[2:], strict=True))
            both = or_null(latency), or_null(memory)
            return FamilyAtRecall(name, low.system, high.system, recall, *both, "interpolated")
    first = min(above, key=lambda each: (np.nan_to_num(each.latency, nan=np.inf), each.recall))
    known = or_null(first.latency), or_null(first.memory)
    return FamilyAtRecall(name, first.system, None, first.recall, *known, "at or above")


def _families(measured: SweepArrays, percentile: str) -> dict[str, list[IndexedSystem]]:
    """Systems with known recall, by family name."""
    seconds, found = measured.latency(percentile), dict[str, list[IndexedSystem]]()
    for number, system in enumerate(measured.systems):
        recall = (system.get("recall") or {}).get("value")
        places = np.flatnonzero(measured.system == number)
        if recall is not None and len(places):
            one = IndexedSystem(number, float(recall), float(seconds[places[0]]), _memory(system))
            found.setdefault(_family(system), []).append(one)
    return found


def _family(system: Mapping[str, Any]) -> str:
    """The name of a system without its search effort."""
    settings = system.get("settings") or {}
    spec = (settings.get("index") or {}).get("spec")
    values = (system.get("values") or {}).items()
    others = [str(value) for key, value in values if key not in ("index.spec", "method") and value is not None]
    return " ".join([system.get("method") or "", *others, _without_search(spec) if spec else ""]).strip()


def _without_search(spec: str) -> str:
    """A spec without the parameters of search effort.

    >>> _without_search("hnsw(storage='int8', efSearch=64)"), _without_search("flat")
    ("hnsw(storage='int8')", 'flat')
    """
    name, bracket, rest = spec.partition("(")
    if not bracket:
        return spec
    plain, named = read_arguments(rest.removesuffix(")"), spec, PolicyError)
    return format_spec(name, {key: value for key, value in named.items() if key not in SEARCH}, *plain)


def _memory(system: Mapping[str, Any]) -> float:
    memory = system.get("memory") or {}
    parts = [memory[name] for name in ("vectors", "graph", "tables", "words") if memory.get(name) is not None]
    measured = memory.get("measured")
    return float(sum(parts)) if parts else np.nan if measured is None else float(measured)
