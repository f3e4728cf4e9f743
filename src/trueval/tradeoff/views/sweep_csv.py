"""The CSV file of a sweep: one line per configuration, in full precision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Final

from trueval.report.view import Column, Sheet
from trueval.tradeoff.runner.sweep_result import SweepResult, SweptConfiguration

COSTS: Final = ("rerank", "embed", "generator", "total", "rewrite")
PERCENTILES: Final = ("p50", "p95", "p99")
ENDS: Final = ("expected", "low", "high", "lowest", "highest")


def csv_sheet(result: SweepResult) -> Sheet[Mapping[str, object]]:
    """Settings, quality, ceiling, cost, latency and memory of each configuration.

    Args:
        result: of the command.
    """
    axes = [axis.key for axis in result.axes if axis.key not in ("method", "K")]
    fixed = _fixed_cutoffs(result)
    names: dict[str, int] = {}
    for each in sorted(result.configurations, key=lambda each: (each.system, each.k)):
        for name in each.measures:
            names.setdefault(name, each.k)
    ordered = sorted(names, key=names.__getitem__)  # stable: in the order of the file at one K
    measures = dict.fromkeys(name if name in fixed else _family(name) for name in ordered)
    columns = [
        *("configuration", "system", "method", "K", *axes),
        *(f"{name} {end}" for name in measures for end in ENDS),
        *("quality", "PROC", "%PROC", "mean %PROC", "judged", "unjudged highest", "recall"),
        *(f"cost {part}" for part in COSTS),
        *(f"latency {name}" for name in PERCENTILES),
        *("bytes", "prompt tokens"),
    ]
    rows = list(_rows(result, fixed, columns))
    return Sheet("", rows, [Column(name, itemgetter(name)) for name in columns])


def _fixed_cutoffs(result: SweepResult) -> set[str]:
    """Measures with a fixed cutoff or none, such as nDCG@10 of a configuration with K = 5."""
    return {name for each in result.configurations for name in each.measures if not _is_at(name, each.k)}


def _is_at(name: str, k: int) -> bool:
    return name.rpartition("@")[2] == str(k)


def _titles(name: str, k: int, fixed: set[str]) -> Iterator[str]:
    """The columns of a measure: where K is 10, nDCG@10 is also nDCG@K."""
    if name in fixed:
        yield name
    if _is_at(name, k):
        yield _family(name)


def _rows(result: SweepResult, fixed: set[str], columns: list[str]) -> Iterator[Mapping[str, object]]:
    nothing: dict[str, object] = dict.fromkeys(columns)
    for each in result.configurations:
        yield nothing | _row(result, each, fixed)


def _row(result: SweepResult, each: SweptConfiguration, fixed: set[str]) -> dict[str, object]:
    system, ceiling = result.systems[each.system], each.ceiling
    measured = {
        f"{title} {end}": getattr(value, end)
        for name, value in each.measures.items()
        for title in _titles(name, each.k, fixed)
        for end in ENDS
    }
    latency = {} if system.latency is None else {name: getattr(system.latency, name).value for name in PERCENTILES}
    return {
        **system.values,
        **measured,
        **{f"latency {name}": value for name, value in latency.items()},
        **{f"cost {part}": None if each.cost is None else getattr(each.cost, part) for part in COSTS},
        "configuration": each.name,
        "system": system.name,
        "method": system.method,
        "K": each.k,
        "quality": each.quality,
        "PROC": None if ceiling is None else ceiling.proc,
        "%PROC": None if ceiling is None else ceiling.share,
        "mean %PROC": None if ceiling is None else ceiling.mean_share,
        "judged": each.judged,
        "unjudged highest": each.unjudged_highest,
        "recall": None if system.recall is None else system.recall.value,
        "bytes": None if system.memory is None else system.memory.measured,
        "prompt tokens": each.prompt_tokens,
    }


def _family(name: str) -> str:
    """A measure without its cutoff, which the column K contains.

    >>> _family("RA-nWG@10")
    'RA-nWG'
    """
    return name.rpartition("@")[0] or name
