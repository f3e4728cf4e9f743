"""P-B's own experiments in the shape of sweep.json: what its tables say, and null where they say nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.tradeoff.paper import (
    CEILINGS,
    HEAD,
    LITE,
    TABLE_1,
    TABLE_7,
    TABLE_15,
    TABLE_16,
    WITH_RERANKER,
    Embedder,
)
from tests.tradeoff.sweeps import made_sweep

from trueval.cost.prices import PriceBook, QueryUsage, SystemPrices, cost_of_thousand

Entry = dict[str, Any]
KS = (10, 20, 30)
DEPTHS = (50, 100, 150, 200)
TOKENS = 500.0
BOOK = PriceBook.read()


def paper_sweep() -> Entry:
    """Dense search (Table 1), its indexes (Table 7), and dense pools reranked by both models (Tables 15 to 24)."""
    systems: list[Entry] = []
    configurations: list[Entry] = []

    def add(system: Entry, values: Mapping[str, float | None], ceilings: tuple[float, ...] = ()) -> None:
        configurations.extend(_configurations(len(systems), system, values, ceilings))
        systems.append(system)

    for embedder, row in TABLE_1.items():
        add(_system(embedder, stages={"embed": row[10], "retrieve": row[9]}), dict(zip(HEAD, row, strict=False)))
    for name, (values, _) in TABLE_7.items():
        spec = "hnsw(storage='int8')" if "int8" in name else "hnsw"
        measures = dict(zip((name for name in HEAD if not name.endswith("@30")), values, strict=False))
        add(_system(Embedder("voyage-3.5", 1024), spec, stages={"embed": 138.8, "retrieve": values[6]}), measures)
    for reranker, latency in (("rerank-2.5", TABLE_15), ("rerank-2.5-lite", TABLE_16)):
        for depth in DEPTHS:
            for embedder, times in latency.items():
                system = _system(
                    embedder, reranker=reranker, depth=depth, stages={"rerank": times[DEPTHS.index(depth)]}
                )
                lite = dict(zip(HEAD, LITE[depth][embedder], strict=False))
                known = lite if reranker.endswith("lite") else WITH_RERANKER.get((embedder, depth), {})
                add(system, known, CEILINGS[depth][embedder])
    prices = {"date": BOOK.date, "currency": BOOK.currency, "source": BOOK.source, "rerank": None, "embed": None}
    return {
        **made_sweep(methods=("dense",)),
        "name": "paper",
        "prices": {**prices, "generator": "gpt-5", "candidate_tokens": TOKENS},
        "axes": [{"key": key, "values": []} for key in ("embed.dimension", "index.spec", "rerank.depth")],
        "systems": systems,
        "configurations": configurations,
        "left_out": [],
        "failed": [],
        "notes": [],
    }


def _system(
    embedder: Embedder,
    spec: str = "flat",
    *,
    reranker: str | None = None,
    depth: int | None = None,
    stages: Mapping[str, float],
) -> Entry:
    settings: Entry = {"embed": embedder._asdict(), "index": {"spec": spec}}
    values: Entry = {"embed.model": embedder.model, "embed.dimension": embedder.dimension, "index.spec": spec}
    if reranker is not None:
        settings["rerank"] = {"model": reranker, "depth": depth}
        values |= {"rerank.model": reranker, "rerank.depth": depth}
    times = {name: {"value": milliseconds / 1000, "low": None, "high": None} for name, milliseconds in stages.items()}
    total = sum(each["value"] for each in times.values())
    return {
        "name": " ".join(map(str, values.values())),
        "key": "0" * 16,
        "file": "systems/0.json",
        "method": "dense+rerank" if reranker else "dense",
        "values": values,
        "settings": settings,
        "seconds": 1.0,
        "cached": False,
        "pool": depth or 100,
        "queries": 50,
        "recall": None,
        "memory": None,
        "tokens": {"query": None, "candidate": TOKENS if reranker else None, "context": TOKENS},
        "stages": [{"name": name, **_median(told), "samples": 50} for name, told in times.items()],
        "latency": {**_median({"value": total, "low": None, "high": None}), "samples": 50, "jitter": None},
        "loads": [],
        "ties": {},
        "notes": [],
    }


def _configurations(
    place: int, system: Entry, values: Mapping[str, float | None], ceilings: tuple[float, ...]
) -> list[Entry]:
    model, depth = (system["settings"].get("rerank", {}).get(key) for key in ("model", "depth"))
    prices = SystemPrices(generator=BOOK.find("generators", "gpt-5").price)
    if model is not None:
        prices = prices._replace(rerank=BOOK.find("rerankers", model).price)
    found = []
    for k in KS:
        names = [name for name in HEAD if name.endswith(f"@{k}")]
        use = QueryUsage(depth or 0, TOKENS, contexts=k, context_tokens=TOKENS)
        cost = cost_of_thousand(use, prices)
        actual, proc = values.get(f"RA-nWG@{k}"), dict(zip(HEAD, ceilings, strict=False)).get(f"RA-nWG@{k}")
        shares = {"share": actual / proc if actual and proc else None, "mean_share": None, "queries": 50}
        shares |= {"retrieval_headroom": None, "ordering_headroom": None}
        found.append(
            {
                "name": f"{system['name']} K={k}",
                "system": place,
                "K": k,
                "measures": {name: _measure(values.get(name)) for name in names},
                "quality": f"RA-nWG@{k}",
                "ceiling": None if proc is None else {"PROC": proc, "actual": actual, **shares},
                "judged": None,
                "unjudged_highest": None,
                "cost": {**cost._asdict(), "total": cost.total},
                "prompt_tokens": use.prompt_tokens,
            }
        )
    return found


def _measure(value: float | None) -> Entry:
    ends = {"range": 0.0, "sd": 0.0, "queries": 50, "low": None, "high": None}
    return dict.fromkeys(("expected", "lowest", "highest"), value) | ends


def _median(told: Entry) -> Entry:
    """The paper has medians alone."""
    return {"p50": told, **{name: {"value": None, "low": None, "high": None} for name in ("p95", "p99")}}
