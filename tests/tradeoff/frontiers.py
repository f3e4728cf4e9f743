"""Frontiers in the shape of frontier.json, of made-up sweeps, with chances that are made up."""

from __future__ import annotations

import math
from typing import Any

from tests.tradeoff.sweeps import rounded

from trueval import __version__

Entry = dict[str, Any]


def made_frontier(sweep: Entry) -> Entry:
    """The frontier of a sweep of `tests.tradeoff.sweeps`; a chance is .99 on the frontier and falls with the distance.

    Args:
        sweep: the JSON of it.
    """
    points = [_point(sweep, each) for each in sweep["configurations"]]
    for point in points:
        gap = min((_gap(point, other) for other in points if other is not point), default=1.0)
        point["on_frontier"] = gap > 0
        point["probability"] = 0.5 + 0.5 * math.tanh(40 * gap)
        point["plain"] = point["probability"]
    order = sorted(range(len(points)), key=lambda place: -points[place]["quality"]["value"])
    made = {
        "kind": "frontier",
        "format": 1,
        "trueval": __version__,
        "sweep": {"name": sweep["name"], "file": "sweep.json", "sha256": "0" * 64, "trueval": __version__},
        "quality": sweep["quality"],
        "rule": "pareto",
        "percentile": "p50",
        "level": 0.95,
        "sure": 0.5,
        "resamples": 2000,
        "seed": 0,
        "currency": "USD",
        "queries": 100,
        "panels": [{"K": None, "points": list(range(len(points)))}],
        "objectives": ["cost", "latency", "quality"],
        "band": {"of": "jitter", "seconds": None, "ratio": 1.125},
        "model": {"plain": False, "noise": 0.02, "own": 0.01, "surface": 0.03},
        "points": points,
        "groups": [{"leader": order[0], "members": order[:2], "probability": 0.99}],
        "rules": _rules(points, order),
        "slo": [
            {
                "latency_ms": 350.0,
                "percentile": "p50",
                "K": None,
                "points": order[-2:],
                "best": order[-2],
                "feasible": 12,
            }
        ],
        "matched_recall": [
            {
                "recall": 0.95,
                "families": [
                    {"name": points[0]["system_name"], "system": 0, "other": None, "reached": 0.97}
                    | {"latency": 0.012, "memory": 100_000, "how": "at or above"}
                ],
            }
        ],
        "recall_of": "flat",
        "efficiency": [
            {"system": 0, "name": points[0]["system_name"], "measures": ["RA-nWG@10", "N-Recall4+@10"]}
            | {"performance": 0.817, "latency": 0.3329, "efficiency": 0.817 / 0.3329}
        ],
        "marginals": [
            {"axis": "K", "system": 0, "other_system": 0, "from": 10, "to": 20, "points": [0, 1]}
            | {"quality": {"value": 0.0625, "low": 0.03125, "high": 0.125}, "milliseconds": None, "cost": 1.25}
            | {"per_millisecond": None, "per_currency": {"value": 0.05, "low": 0.025, "high": 0.1}}
            | {"reason": "the latency of both is the same"}
        ],
        "advice": {
            "sentence": "Mend the order: a better reranker has more to gain than a larger pool.",
            "verdict": "mend the order",
            "point": order[0],
            "retrieval_headroom": {"value": 0.05, "low": 0.03, "high": 0.07},
            "ordering_headroom": {"value": 0.075, "low": 0.05, "high": 0.1},
            "difference": {"value": 0.025, "low": 0.0, "high": 0.05},
            "noise": 0.03,
            "share": 0.92,
            "queries": 98,
        },
        "left_out": sweep["left_out"],
        "failed": sweep["failed"],
        "notes": [],
    }
    return dict(rounded(made))


def _point(sweep: Entry, configuration: Entry) -> Entry:
    system = sweep["systems"][configuration["system"]]
    value, latency = configuration["measures"][configuration["quality"]], system["latency"]
    ends = {name: value[name] for name in ("low", "high", "lowest", "highest", "queries")}
    return {
        "name": configuration["name"],
        "system": configuration["system"],
        "system_name": system["name"],
        "method": system["method"],
        "K": configuration["K"],
        "values": system["values"],
        "cost": configuration["cost"]["total"],
        "latency": latency and {name: latency[name] for name in ("p50", "p95", "p99")},
        "quality": {"measure": configuration["quality"], "value": value["expected"], **ends},
        "prompt_tokens": configuration["prompt_tokens"],
        "recall": None if system["recall"] is None else system["recall"]["value"],
        "dominated_by": None,
        "group": 0,
    }


def _gap(point: Entry, other: Entry) -> float:
    """How far another point is from removing this one: above 0 where it does not."""
    if (point["latency"] is None) != (other["latency"] is None) or (point["cost"] is None) != (other["cost"] is None):
        return 1.0
    gaps = [point["quality"]["value"] - other["quality"]["value"]]
    if other["latency"] is not None and point["latency"] is not None:
        gaps.append(other["latency"]["p50"]["value"] - 1.2 * point["latency"]["p50"]["value"])
    if other["cost"] is not None and point["cost"] is not None:
        gaps.append((other["cost"] - point["cost"]) / 5)
    return float(max(gaps))


def _rules(points: list[Entry], order: list[int]) -> list[Entry]:
    rules = []
    for name, limits, places in (
        ("latency-bound", {"latency_ms": 500.0}, [place for place in order if _seconds(points[place]) <= 0.5]),
        ("best quality", {}, order),
    ):
        answer, runner_up = (*places, None, None)[:2]
        value = None if answer is None else points[answer]["quality"]["value"]
        rules.append(
            {
                "rule": name,
                "K": None,
                "seeks": "quality",
                "limits": limits,
                "feasible": places,
                "answer": answer,
                "runner_up": runner_up,
                "value": value,
                "runner_up_value": None if runner_up is None else points[runner_up]["quality"]["value"],
                "better": 0.62,
                "feasible_chance": 0.97,
                "surest": None,
                "within_noise": places[:2],
                "best": answer,
                "decided_by": "quality",
                "cross_fitted": {"value": value, "chosen_on_all": value, "optimism": 0.01, "folds": 5, "repeats": 10}
                | {"picks": []},
                "sentence": f"By the rule {name}, {points[answer]['name'] if answer is not None else 'nothing'}.",
            }
        )
    return rules


def _seconds(point: Entry) -> float:
    return math.inf if point["latency"] is None else float(point["latency"]["p50"]["value"])
