"""A directory as `trueval sweep` leaves it, of a made-up sweep: values of queries and times that have its means."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from trueval import __version__

Entry = dict[str, Any]
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def write_sweep(
    folder: Path, sweep: Entry, *, queries: int = 40, timed: int = 10, repeats: int = 3, seed: int = 0
) -> Path:
    """Write sweep.json, queries.parquet and samples/.

    Args:
        folder: made if absent.
        sweep: as `tests.tradeoff.sweeps.made_sweep` gives it; its latencies become those of the samples.
        queries: with values.
        timed: those that have times too.
        repeats: of each.
        seed: of the noise.
    """
    rng = np.random.default_rng(seed)
    (folder / "samples").mkdir(parents=True, exist_ok=True)
    for system in sweep["systems"]:
        if system["latency"] is not None:
            _write_samples(folder / "samples" / f"{system['key']}.parquet", system, rng, timed, repeats)
    _values(sweep, rng, queries).write_parquet(folder / "queries.parquet")
    (folder / "sweep.json").write_text(json.dumps(sweep), encoding="utf-8")
    return folder


def _write_samples(file: Path, system: Entry, rng: np.random.Generator, timed: int, repeats: int) -> None:
    rows, totals = [], np.zeros((timed, repeats))
    for stage in system["stages"]:
        seconds = stage["p50"]["value"] * np.exp(rng.normal(0, 0.05, (timed, repeats)))
        totals += seconds
        rows += [
            (stage["name"], f"q{query}", repeat, 1.7e9 + 60 * repeat + query, float(seconds[query, repeat]))
            for query in range(timed)
            for repeat in range(repeats)
        ]
    names = ["stage", "query_id", "repeat", "started", "seconds"]
    pl.DataFrame(rows, schema=names, orient="row").write_parquet(file)
    for name, share in SHARES.items():
        value = float(np.quantile(totals, share))
        system["latency"][name] = {"value": value, "low": 0.97 * value, "high": 1.03 * value}


def _values(sweep: Entry, rng: np.random.Generator, queries: int) -> pl.DataFrame:
    frames = []
    ids = [f"q{number}" for number in range(queries)]
    shared = rng.normal(0, 0.15, queries)
    for each in sweep["configurations"]:
        measures = {name: value["expected"] for name, value in each["measures"].items()}
        if each["ceiling"]:
            measures[f"PROC(RA-nWG, pool=50)@{each['K']}"] = each["ceiling"]["PROC"]
        for name, mean in measures.items():
            apart = shared + rng.normal(0, 0.08, queries)
            values = mean + apart - apart.mean()
            tied = {"lowest": values - 0.01, "highest": values + 0.01, "sd": np.full(queries, 0.005)}
            frame = pl.DataFrame({"query_id": ids, "expected": values, **tied})
            frames.append(frame.with_columns(configuration=pl.lit(each["name"]), measure=pl.lit(name)))
    return pl.concat(frames)


def write_arrays(
    folder: Path,
    *,
    times: Sequence[tuple[str, Any]],
    configurations: Sequence[tuple[int, int, str, Any, float | None]],
    others: Mapping[str, Any] | None = None,
    **result: Any,
) -> Path:
    """Write a sweep of given values and times.

    Args:
        folder: made if absent.
        times: of each system its method, and [query, repeat] seconds, or None where nothing was timed.
        configurations: place of the system, K, quality, [query] values (NaN: none) and cost of each.
        others: another measure → [query, configuration] values.
        result: keys of sweep.json.
    """
    (folder / "samples").mkdir(parents=True, exist_ok=True)
    systems = []
    for place, (method, given) in enumerate(times):
        key = f"{place:016x}"
        systems.append({"name": f"{method} {place}", "key": key, "method": method, "values": {}, "latency": None})
        if given is None:
            continue
        seconds = np.asarray(given, dtype=float)
        systems[-1]["latency"] = {
            name: {"value": float(np.nanquantile(seconds, share)), "low": None, "high": None}
            for name, share in SHARES.items()
        }
        rows = [
            ("all", f"q{query:03}", repeat, 1.7e9, float(one))
            for (query, repeat), one in np.ndenumerate(seconds)
            if not np.isnan(one)
        ]
        schema = ["stage", "query_id", "repeat", "started", "seconds"]
        pl.DataFrame(rows, schema=schema, orient="row").write_parquet(folder / "samples" / f"{key}.parquet")
    frames, told = [], []
    for place, (system, k, quality, values, cost) in enumerate(configurations):
        columns = {quality: values, **{name: some[:, place] for name, some in (others or {}).items()}}
        name = f"{systems[system]['name']} K={k}"
        measures = {}
        for measure, given in columns.items():
            column = np.asarray(given, dtype=float)
            frames.append(
                pl.DataFrame(
                    {
                        "configuration": name,
                        "query_id": [f"q{query:03}" for query in range(len(column))],
                        "measure": measure,
                        "expected": column,
                        "sd": np.zeros(len(column)),
                    }
                )
            )
            known = column[~np.isnan(column)]
            measures[measure] = {"expected": float(known.mean()) if len(known) else None}
        told.append(
            {
                "name": name,
                "system": system,
                "K": k,
                "measures": measures,
                "quality": quality,
                "ceiling": None,
                "cost": None if cost is None else {"total": cost},
                "prompt_tokens": 100.0 * k,
            }
        )
    pl.concat(frames).write_parquet(folder / "queries.parquet")
    sweep = {"kind": "sweep", "format": 1, "trueval": __version__, "name": "given", "quality": told[0]["quality"]}
    sweep |= {"level": 0.95, "resamples": 400, "seed": 0, "systems": systems, "configurations": told, **result}
    (folder / "sweep.json").write_text(json.dumps(sweep), encoding="utf-8")
    return folder
