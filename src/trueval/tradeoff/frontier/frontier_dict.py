"""The JSON of a frontier, docs/design/tradeoff.md."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from trueval.comparison.limits import ROUNDING, rounding
from trueval.tradeoff.diagnosis.advice import advise
from trueval.tradeoff.diagnosis.cross_fit import cross_fit
from trueval.tradeoff.diagnosis.marginals import efficiencies, marginals
from trueval.tradeoff.diagnosis.matched_recall import matched_recall
from trueval.tradeoff.frontier.rule_sentences import of_rule
from trueval.tradeoff.frontier.rules import COST, LATENCY, QUALITY, Choice
from trueval.tradeoff.quality.changes import Bootstrap
from trueval.tradeoff.quality.pareto import PAPER, on_frontier, removers
from trueval.tradeoff.quality.quality import within_range
from trueval.tradeoff.quality.sweep_loader import FILE, PERCENTILES
from trueval.version import __version__

if TYPE_CHECKING:
    from trueval.tradeoff.frontier.frontier import Frontier

KIND: Final = "frontier"
# 1: the first.
FORMAT_VERSION: Final = 1


def told(found: Frontier) -> dict[str, Any]:
    """All that is known of a frontier.

    Args:
        found: the frontier.
    """
    measured, choices, result = found.measured, found.choices, found.measured.result
    shrunk, chances = found.qualities.shrunk, found.has_chances
    return {
        "kind": KIND,
        "format": FORMAT_VERSION,
        "trueval": __version__,
        "sweep": {
            "name": result.get("name"),
            "file": FILE,
            "sha256": measured.sha256,
            "trueval": result.get("trueval"),
        },
        "quality": result["quality"],
        "rule": choices.rule,
        "percentile": choices.percentile,
        "level": choices.level,
        "sure": choices.sure,
        "resamples": choices.resamples,
        "seed": choices.seed,
        "currency": (result.get("prices") or {}).get("currency"),
        "queries": len(measured.query_ids),
        "panels": [{"K": k, "points": places.tolist()} for k, places in measured.panels],
        "objectives": list(found.known.known),
        "band": {name: value for name, value in found.ties._asdict().items() if name != "apart"},
        "model": {
            "plain": not chances or bool(np.isnan(shrunk.own)),
            "noise": _or_none(shrunk.noise),
            "own": _or_none(shrunk.own),
            "surface": _or_none(shrunk.surface),
        },
        "points": list(_points(found)),
        "groups": [{**each._asdict(), "members": list(each.members)} for each in found.groups] if chances else [],
        "rules": [_rule(found, each) for each in found.rules],
        "slo": list(_slo(found)),
        "matched_recall": matched_recall(measured, choices.percentile),
        "recall_of": next((each["recall"]["of"] for each in measured.systems if each.get("recall")), None),
        "efficiency": efficiencies(measured, choices.percentile),
        "marginals": marginals(measured, found.qualities, found.latencies, choices.level, choices.percentile),
        "advice": advise(measured, found.leading, level=choices.level, resamples=choices.resamples, seed=choices.seed),
        "left_out": result.get("left_out", []),
        "failed": result.get("failed", []),
        "notes": list(_notes(found)),
    }


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _points(found: Frontier) -> Iterator[dict[str, Any]]:
    measured, chances = found.measured, found.has_chances
    member = {place: number for number, each in enumerate(found.groups) for place in each.members} if chances else {}
    probability = found.there.mean(axis=1) if chances else found.on
    for place, each in enumerate(measured.configurations):
        system = measured.systems[each["system"]]
        latency = system["latency"]
        yield {
            "name": each["name"],
            "system": each["system"],
            "system_name": system["name"],
            "method": system.get("method"),
            "K": each["K"],
            "values": system.get("values", {}),
            "cost": _or_none(measured.cost[place]),
            "latency": None if latency is None else {name: latency[name] for name in PERCENTILES},
            "quality": _quality(found, place),
            "prompt_tokens": each.get("prompt_tokens"),
            "recall": (system.get("recall") or {}).get("value"),
            "on_frontier": bool(found.on[place]),
            "probability": float(probability[place]) if chances else None,
            "plain": float(found.plain[place]) if chances else None,
            "dominated_by": _removed_by(found, place),
            "group": member.get(place),
        }


def _quality(found: Frontier, place: int) -> dict[str, Any]:
    each = found.measured.configurations[place]
    value = each["measures"].get(each["quality"]) or {}
    low, high = value.get("low"), value.get("high")
    values, choices = found.measured.values[:, place], found.choices
    known = int((~np.isnan(values)).sum())
    if known > 1 and (low is None or choices.level != found.measured.result.get("level")):
        again = Bootstrap(choices.level, choices.resamples, choices.seed, choices.threads)
        _, low, high, _ = again.mean(values)
        low, high = within_range(each["quality"], (low, high))
    return {
        "measure": each["quality"],
        "value": value.get("expected"),
        "low": low,
        "high": high,
        "lowest": value.get("lowest"),
        "highest": value.get("highest"),
        "queries": known,
    }


def _removed_by(found: Frontier, place: int) -> int | None:
    """The one of the measured frontier, best first, that removes a configuration; any other where latencies tie."""
    if found.on[place]:
        return None
    places = next(panel.places for panel in found.measured.panels if place in panel.places)
    known, apart = found.known.select(places), found.ties.apart[np.ix_(places, places)]
    there = removers(known, int(np.flatnonzero(places == place)[0]), rule=found.choices.rule, apart=apart)
    those = places[there]
    return int(max(those, key=lambda each: (found.on[each], np.nan_to_num(found.known.quality[each], nan=-np.inf))))


def _rule(found: Frontier, choice: Choice) -> dict[str, Any]:
    values, names = getattr(found.known, choice.seeks), [each["name"] for each in found.measured.configurations]
    removed = None if choice.answer is None else _removed_by(found, choice.answer)
    fitted = None
    if choice.seeks == QUALITY and choice.answer is not None:
        measured = found.measured
        fitted = cross_fit(measured.values, choice.feasible, measured.prompt, seed=found.choices.seed)
    return {
        "rule": choice.rule,
        "K": choice.k,
        "seeks": choice.seeks,
        "limits": choice.limits.to_dict(),
        "feasible": [int(place) for place in np.flatnonzero(choice.feasible)],
        "answer": choice.answer,
        "runner_up": choice.runner_up,
        "value": None if choice.answer is None else float(values[choice.answer]),
        "runner_up_value": None if choice.runner_up is None else float(values[choice.runner_up]),
        "better": choice.better,
        "feasible_chance": choice.feasible_chance,
        "surest": choice.surest,
        "within_noise": list(choice.within_noise),
        "best": choice.best,
        "decided_by": choice.decided_by,
        "cross_fitted": None if fitted is None else fitted.to_dict(),
        "sentence": of_rule(choice, names, found.choices, removed_by=removed, equal=_equal(found, choice)),
    }


def _equal(found: Frontier, choice: Choice) -> bool:
    """Whether answer and runner-up never differ in what is sought, as two indexes that find the same."""
    if choice.answer is None or choice.runner_up is None:
        return False
    draws = {QUALITY: found.qualities.plain, LATENCY: found.latencies, COST: found.known.cost}[choice.seeks]
    return bool(np.allclose(draws[choice.answer], draws[choice.runner_up], rtol=ROUNDING, atol=ROUNDING))


def _slo(found: Frontier) -> Iterator[dict[str, Any]]:
    """The frontier of what answers in time, for each limit and percentile."""
    own = found.choices.limits.latency
    for limit in sorted({*found.choices.slo, *(() if own is None else (own,))}):
        for percentile in PERCENTILES:
            points, ties = found.measured.points(percentile), found.ties_at(percentile)
            for k, places in found.measured.panels:
                inside = places[points.latency[places] <= limit + rounding(limit)]
                apart = ties.apart[np.ix_(inside, inside)]
                there = inside[on_frontier(points.select(inside), rule=found.choices.rule, apart=apart)]
                quality = np.nan_to_num(points.quality[there], nan=-np.inf)
                yield {
                    "latency_ms": limit * 1000,
                    "percentile": percentile,
                    "K": k,
                    "points": there.tolist(),
                    "best": int(there[quality.argmax()]) if len(there) else None,
                    "feasible": len(inside),
                }


def _notes(found: Frontier) -> Iterator[str]:
    measured, known = found.measured, found.known.known
    yield from measured.notes
    if not found.has_chances:
        yield "One query says nothing of chances: none are given."
    for name in ("cost", "latency", "quality"):
        # Where nobody asked for a price, nothing is said of costs.
        if name != "cost" or name in known or measured.result.get("prices"):
            yield from _of_objective(found, name)
    said = measured.result.get("level")
    if said is not None and said != found.choices.level and "latency" in known:
        yield f"The intervals of single latencies are those of the sweep, of {100 * said:g} %."
    if np.isnan(measured.variances[~np.isnan(measured.values)]).any():
        yield "The spread over tie orders is not known everywhere: there resamples hold queries alone."
    if found.has_chances and np.isnan(found.qualities.shrunk.own):
        yield "Too few different configurations to learn from each other: shares are those of plain resamples."
    if found.ties.of == "none" and "latency" in known:
        yield "With one repeat of each query nothing separates two latencies: set repeats of [latency], or --band-ms."


def _of_objective(found: Frontier, name: str) -> Iterator[str]:
    """Who does not know an objective."""
    values = getattr(found.known, name)
    if name not in found.known.known:
        yield f"No configuration has a {name}: it decides nothing here."
    elif np.isnan(values).any():
        told = f"configurations have no {name}: they remove no other one, and no other one them."
        yield f"{int(np.isnan(values).sum())} {told}"
    elif found.choices.rule == PAPER and len(values) > 1 and np.ptp(values) == 0:
        yield f"All configurations have the same {name}, so by the rule of the paper nobody removes another."
