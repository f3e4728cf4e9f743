"""Sweeps in the shape of sweep.json, of made-up systems: a few, many with long names, some without price or latency."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from trueval import __version__
from trueval.policy.policy import Policy

Entry = dict[str, Any]
FAMILIES = ("RA-nWG", "N-Recall4+")
STORAGE = {"flat": 4.0, "hnsw": 4.0, "hnsw(storage='int8')": 1.0, "pq(m=32)": 0.1}
LOSS = {"flat": 0.0, "hnsw": 0.002, "hnsw(storage='int8')": 0.03, "pq(m=32)": 0.09}


def made_sweep(
    *,
    methods: Sequence[str] = ("dense", "hybrid+rerank"),
    dimensions: Sequence[int] = (384, 128),
    indexes: Sequence[str] = ("flat", "hnsw(storage='int8')"),
    depths: Sequence[int] = (50,),
    cutoffs: Sequence[int] = (10, 20, 50),
    latency: bool = True,
    priced: bool = True,
    label: str = "",
    seed: int = 0,
) -> Entry:
    """A sweep of every combination.

    Args:
        methods: of the pipeline.
        dimensions: of embeddings.
        indexes: specs.
        depths: of the reranker.
        cutoffs: K.
        latency: whether times were measured.
        priced: whether a price is known of anything.
        label: text before every name.
        seed: of the noise.
    """
    rng = np.random.default_rng(seed)
    systems: list[Entry] = []
    configurations: list[Entry] = []
    grid = itertools.product(methods, dimensions, indexes, depths)
    for method, dimension, index, depth in grid:
        if "rerank" not in method and depth != depths[0]:
            continue
        system = _system(rng, method, dimension, index, depth, latency=latency, label=label)
        systems.append(system)
        configurations += _configurations(rng, len(systems) - 1, system, cutoffs, priced=priced)
    made = {
        "kind": "sweep",
        "format": 1,
        "trueval": __version__,
        "name": "made",
        "collection": {
            "name": "cranfield",
            "source": "cranfield",
            "documents": 1400,
            "queries": 100,
            "judged": 100,
            "sha256": {"corpus.jsonl": "0" * 64},
        },
        "policy": Policy().to_dict(),
        "measures": [f"{family}@K" for family in FAMILIES],
        "quality": "RA-nWG@K",
        "level": 0.95,
        "resamples": 2000,
        "seed": 0,
        "machine": {"processors": 2, "load": 0.25, "model": "a processor"},
        "latency": {"queries": 30, "repeats": 3, "warmup": 2, "concurrency": [4], "rates": [2.0], "band_ms": None},
        "prices": {
            "date": "2025-11-01",
            "currency": "USD",
            "source": "prices.toml",
            "rerank": "rerank-2.5" if priced else None,
            "embed": None,
            "generator": "gpt-5" if priced else None,
            "candidate_tokens": None,
        },
        "limits": {"latency_ms": 500.0, "cost": 2.5, "quality": 0.7, "slo_ms": [350.0, 500.0], "percentile": "p50"},
        "axes": [
            {"key": "pipeline.methods", "values": list(methods)},
            {"key": "embed.dimension", "values": list(dimensions)},
            {"key": "index.spec", "values": list(indexes)},
            {"key": "rerank.depth", "values": list(depths)},
            {"key": "generate.contexts", "values": list(cutoffs)},
        ],
        "systems": systems,
        "configurations": configurations,
        "ladder": [_ladder(systems[-1]["name"])],
        "tuned": [_tuned()],
        "route": None,
        "left_out": [
            {"name": f"{each['name']} K=100", "reason": "K 100 is above the pool of 50 candidates"}
            for each in systems
            if each["pool"] < 100
        ],
        "failed": [
            {"name": "dense 384d <b>ivf</b>", "reason": "index.spec: no index is called 'ivf'", "key": "f" * 16},
        ],
        "notes": ["Half of the top documents are not judged."],
    }
    return dict(rounded(made))


def rounded(value: Any) -> Any:
    """A copy whose numbers have six decimals: the same ones on every machine."""
    if isinstance(value, Mapping):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return round(value, 6) if isinstance(value, float) else value


def large_sweep() -> Entry:
    """200 configurations and more with long names; every seventh system has no latency, every fifth no price."""
    made = made_sweep(
        methods=("dense", "sparse", "hybrid", "dense+rerank", "hybrid+rerank"),
        dimensions=(384, 256, 128),
        indexes=tuple(STORAGE),
        depths=(25, 50),
        cutoffs=(10, 20, 50),
        label="sentence-transformers/all-MiniLM-L6-v2 normalised ",
    )
    for place, system in enumerate(made["systems"]):
        if place % 7 == 6:
            system["latency"], system["stages"], system["loads"] = None, [], []
    for configuration in made["configurations"]:
        if configuration["system"] % 5 == 4:
            configuration["cost"] = dict.fromkeys(("rerank", "embed", "generator", "total"))
    return made


def _system(
    rng: np.random.Generator, method: str, dimension: int, index: str, depth: int, *, latency: bool, label: str
) -> Entry:
    rerank, sparse = "rerank" in method, method.startswith(("hybrid", "sparse"))
    name = f"{label}{method} {dimension}d {index}" + (f" depth {depth}" if rerank else "")
    vectors = 1400 * dimension * STORAGE[index]
    graph = 1400.0 * 64 * 4 if index.startswith("hnsw") else 0.0
    seconds = {"embed": 0.006, "retrieve": 0.002 + dimension * 4e-6 * (index == "flat")}
    seconds |= {"sparse": 0.001, "fuse": 0.0003} if sparse else {}
    seconds |= {"rerank": 0.018 * depth} if rerank else {}
    seconds = {stage: value * float(rng.uniform(0.95, 1.1)) for stage, value in seconds.items()}
    total = sum(seconds.values())
    return {
        "name": name,
        "key": f"{hash_of(name):016x}",
        "file": f"systems/{hash_of(name):016x}.json",
        "method": method,
        "values": {
            "pipeline.methods": method,
            "embed.dimension": dimension,
            "index.spec": index,
            "rerank.depth": depth if rerank else None,
        },
        "settings": {"embed": {"model": "all-MiniLM-L6-v2", "dimension": dimension}, "index": {"spec": index}},
        "seconds": 12.5,
        "cached": False,
        "pool": depth if rerank else 100,
        "queries": 100,
        "recall": None
        if index == "flat"
        else {"of": "flat", "depth": 100, **_spread(1 - 2 * LOSS[index], 0.01, names=("value", "low", "high"))},
        "memory": {
            "vectors": int(vectors),
            "graph": int(graph),
            "tables": 0,
            "words": 250_000 if sparse else 0,
            "measured": int(vectors + graph) + 20_000,
            "millions": {"1": int((vectors + graph) / 1400 * 1e6), "10": int((vectors + graph) / 1400 * 1e7)},
        },
        "tokens": {"query": 12.5, "candidate": 103.0 if rerank else None, "context": 103.0},
        "stages": [{"name": stage, **_percentiles(value), "samples": 90} for stage, value in seconds.items()]
        if latency
        else [],
        "latency": {**_percentiles(total), "samples": 90, "jitter": 0.03} if latency else None,
        "loads": [
            {"loop": "closed", "workers": 4, "rate": None, **_loaded(2.5 * total), "samples": 90, "achieved": 3.5},
            {"loop": "open", "workers": 1, "rate": 2.0, **_loaded(1.5 * total), "samples": 90, "achieved": 1.9},
        ]
        if latency
        else [],
        "ties": {"tied_fraction": 0.01, "largest_group": 3, "cut_queries": 1},
        "notes": [],
    }


def hash_of(name: str) -> int:
    """A number of 64 bits that every run of Python makes the same of a text."""
    number = 1469598103934665603
    for letter in name.encode():
        number = (number ^ letter) * 1099511628211 % 2**64
    return number


def _configurations(
    rng: np.random.Generator, place: int, system: Entry, cutoffs: Sequence[int], *, priced: bool
) -> Iterator[Entry]:
    values = system["values"]
    ability = 0.45 + 0.08 * math.log2(values["embed.dimension"] / 128) / 1.6 - LOSS[values["index.spec"]]
    ability += 0.08 * ("hybrid" in system["method"]) + 0.16 * ("rerank" in system["method"])
    ability += 0.015 * (system["pool"] > 25) + float(rng.normal(0, 0.008))
    for k in cutoffs:
        if k > system["pool"]:
            continue
        quality = 1 - (1 - ability) * (10 / k) ** 0.35
        measures = {
            f"{family}@{k}": _measure(quality - shift, 0.03) for family, shift in zip(FAMILIES, (0, 0.02), strict=True)
        }
        ceiling = min(1.0, quality + 0.6 * (1 - quality))
        reranked = system["pool"] * 103 * 5e-8 * 1000 * ("rerank" in system["method"])
        cost = {"rerank": reranked, "embed": 0.0, "generator": k * 103 * 1.25e-6 * 1000}
        yield {
            "name": f"{system['name']} K={k}",
            "system": place,
            "K": k,
            "measures": measures,
            "quality": f"RA-nWG@{k}",
            "ceiling": {
                "PROC": ceiling,
                "actual": quality,
                "share": quality / ceiling,
                "mean_share": quality / ceiling - 0.01,
                "retrieval_headroom": 1 - ceiling,
                "ordering_headroom": ceiling - quality,
                "queries": 98,
            },
            "judged": 0.25 + 2 / k,
            "unjudged_highest": min(1.0, quality + 0.2),
            "cost": {**cost, "total": sum(cost.values())} if priced else dict.fromkeys((*cost, "total")),
            "prompt_tokens": k * 103.0,
        }


def _measure(value: float, spread: float) -> Entry:
    lowest, highest = max(0.0, value - 0.004), min(1.0, value + 0.004)
    ends = {"lowest": lowest, "highest": highest, "range": highest - lowest, "sd": 0.002, "queries": 98}
    return {"expected": value, **ends, "low": max(0.0, value - spread), "high": min(1.0, value + spread)}


def _spread(value: float, spread: float, *, names: Sequence[str]) -> Entry:
    return dict(zip(names, (value, max(0.0, value - spread), min(1.0, value + spread)), strict=True))


def _percentiles(seconds: float) -> Entry:
    return {
        name: {"value": factor * seconds, "low": 0.96 * factor * seconds, "high": 1.07 * factor * seconds}
        for name, factor in {"p50": 1.0, "p95": 1.3, "p99": 1.9}.items()
    }


def _loaded(seconds: float) -> Entry:
    """Percentiles under load, which have no intervals."""
    return {name: each["value"] for name, each in _percentiles(seconds).items()}


def _ladder(system: str) -> Mapping[str, Any]:
    told = (
        ("exact float32", "flat", 1.0, 0.62, None),
        ("int8, exact", "flat(storage='int8')", 0.97, 0.61, -0.01),
        ("hnsw", "hnsw(storage='int8')", 0.95, 0.605, -0.005),
        ("fused with BM25", None, None, 0.66, 0.055),
        ("reranked", None, None, 0.78, 0.12),
    )
    steps = [
        {
            "name": name,
            "spec": spec,
            "depth": 100,
            "recall": None if recall is None else _ends(recall, 0.01),
            "quality": quality,
            "low": quality - 0.03,
            "high": quality + 0.03,
            "change": None if change is None else _ends(change, 0.01),
            "measures": {},
        }
        for name, spec, recall, quality, change in told
    ]
    return {"name": system, "quality": "RA-nWG@10", "level": 0.95, "steps": steps, "notes": []}


def _ends(value: float, spread: float) -> Entry:
    return {"value": value, "low": value - spread, "high": value + spread, "queries": 100}


def _tuned() -> Mapping[str, Any]:
    tried = [
        {
            "efSearch": ef,
            "recall": _ends(1 - 2 / ef, 0.005),
            "quality": _ends(0.6 - 1 / ef, 0.02),
            "measures": {},
            "loss": {"recall": _spread(2 / ef, 0.005, names=("value", "low", "high"))},
            "suffices": ef == 128,
            "seconds": ef * 1e-5,
        }
        for ef in (16, 32, 64, 128)
    ]
    return {
        "name": "dense 128d",
        "spec": "hnsw(efSearch=128)",
        "depth": 16,
        "quality": "RA-nWG@10",
        "within": 0.02,
        "by": "bound",
        "efSearch": 128,
        "least": {"recall": 128},
        "exact": {"quality": _ends(0.6, 0.02), "seconds": 0.002},
        "storage": {},
        "tried": tried,
        "advice": None,
    }
