"""Comparison at matched recall: the latency and memory that each kind of index needs for the same recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np

from trueval.errors import PolicyError
from trueval.specs import format_spec, read_arguments
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
) -> list[dict[str, Any]]:
    """Latency and memory of each family of systems at the same recall, as JSON.

    A family contains systems that differ only in search effort (efSearch). Between two of its systems with less and
    more recall than requested, latency and memory are interpolated in recall; else the fastest system at or above is
    taken; a family that stays below is reported as such.

    Args:
        recalls: target recalls, ascending.
    """
    families = _families(measured, percentile)
    if not families:
        return []
    return [
        {"recall": recall, "families": [{"name": name, **at_recall(each, recall)} for name, each in families.items()]}
        for recall in recalls
    ]


def at_recall(family: Sequence[IndexedSystem], recall: float) -> dict[str, Any]:
    """The latency and memory that a family of systems needs to reach a recall.

    Args:
        recall: target recall.

    Returns:
        "system", "other", "reached", "latency", "memory", "how".

    Example:
        >>> family = [IndexedSystem(0, 0.8, 0.010, 100.0), IndexedSystem(1, 1.0, 0.030, 100.0)]
        >>> found = at_recall(family, 0.9)
        >>> found["how"], round(found["latency"], 4)
        ('interpolated', 0.02)
    """
    ordered = sorted(family, key=lambda each: (each.recall, each.latency))
    above = [each for each in ordered if each.recall >= recall]
    if not above:
        best = ordered[-1]
        return _recall_entry(best.system, None, best.recall, np.nan, np.nan, "not reached")
    exact = [each for each in above if each.recall == recall]
    for low, high in pairwise(ordered):
        if not exact and low.recall < recall < high.recall:
            share = (recall - low.recall) / (high.recall - low.recall)
            latency, memory = ((1 - share) * one + share * other for one, other in zip(low[2:], high[2:], strict=True))
            return _recall_entry(low.system, high.system, recall, latency, memory, "interpolated")
    first = min(above, key=lambda each: (np.nan_to_num(each.latency, nan=np.inf), each.recall))
    return _recall_entry(first.system, None, first.recall, first.latency, first.memory, "at or above")


def _recall_entry(
    system: int, other: int | None, reached: float, latency: float, memory: float, how: str
) -> dict[str, Any]:
    return {
        "system": system,
        "other": other,
        "reached": reached,
        "latency": None if np.isnan(latency) else float(latency),
        "memory": None if np.isnan(memory) else float(memory),
        "how": how,
    }


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
