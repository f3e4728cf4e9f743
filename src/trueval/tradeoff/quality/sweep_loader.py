"""Sweep results loaded from a directory into arrays."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from trueval.errors import InputError, Place, TruevalError
from trueval.report.kinds import read_json
from trueval.standings.standings import Floats, Ints
from trueval.tradeoff.quality.panels import Panel, panels
from trueval.tradeoff.quality.pareto import Objectives

FILE: Final = "sweep.json"
QUERIES: Final = "queries.parquet"
SAMPLES: Final = "samples"
KIND: Final = "sweep"
FORMAT: Final = 1  # newest readable format of sweep.json
PERCENTILES: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
CEILING: Final = "PROC("  # prefix of the names of ceilings
AGREES: Final = 1e-9  # tolerance for means of the same values summed in another order
# Keys of sweep.json that resampling needs → requirement in words, and a check.
DRAWN: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    "level": ("a number between 0 and 1", lambda value: isinstance(value, int | float) and 0 < value < 1),
    "resamples": ("an integer of at least 1", lambda value: isinstance(value, int) and value >= 1),
    "seed": ("an integer of at least 0", lambda value: isinstance(value, int) and value >= 0),
}
COLUMNS: Final = {
    "queries": ("configuration", "query_id", "measure", "expected", "sd"),
    "samples": ("stage", "query_id", "repeat", "seconds"),
}


@dataclass(frozen=True, eq=False)
class SweepArrays:
    """Sweep results as arrays.

    Attributes:
        query_ids: query ids, in the order of the rows of arrays.
        values: [query, configuration] expected quality over tie orders; NaN where missing.
        variances: [query, configuration] variance of the quality over tie orders; NaN if unknown.
        ceilings: [query, configuration] the same measure for the best order of the pool; NaN if unknown.
        totals: [system, query, repeat] seconds of all stages of a query; NaN without a sample.
    """

    result: Mapping[str, Any]
    sha256: str
    query_ids: tuple[str, ...]
    values: Floats
    variances: Floats
    ceilings: Floats
    totals: Floats
    notes: tuple[str, ...]
    folder: Path = Path()

    @property
    def configurations(self) -> Sequence[Mapping[str, Any]]:
        """The configurations, in the order of the sweep."""
        found: Sequence[Mapping[str, Any]] = self.result["configurations"]
        return found

    @property
    def systems(self) -> Sequence[Mapping[str, Any]]:
        """The systems, in the order of the sweep."""
        found: Sequence[Mapping[str, Any]] = self.result["systems"]
        return found

    @cached_property
    def system(self) -> Ints:
        """[configuration] index of its system."""
        return np.array([each["system"] for each in self.configurations], dtype=np.intp)

    @cached_property
    def cost(self) -> Floats:
        """[configuration] cost of 1,000 queries; NaN if unknown."""
        return numbers((each["cost"] or {}).get("total") for each in self.configurations)

    @cached_property
    def prompt(self) -> Floats:
        """[configuration] prompt tokens, or K where tokens were not counted."""
        tokens = numbers(each.get("prompt_tokens") for each in self.configurations)
        return self.contexts if np.isnan(tokens).any() else tokens

    @property
    def prompts_are_paid(self) -> bool:
        """Whether the cost of every configuration counts the prompts of its generator."""
        return all((each["cost"] or {}).get("generator") is not None for each in self.configurations)

    @cached_property
    def contexts(self) -> Floats:
        """[configuration] K; NaN without contexts."""
        return numbers(each["K"] for each in self.configurations)

    @cached_property
    def quality(self) -> Floats:
        """[configuration] measured quality; NaN if unknown."""
        return numbers((each["measures"].get(each["quality"]) or {}).get("expected") for each in self.configurations)

    @cached_property
    def panels(self) -> tuple[Panel, ...]:
        """The panels of comparable configurations."""
        return panels([each["K"] for each in self.configurations], [each["quality"] for each in self.configurations])

    def latency(self, percentile: str) -> Floats:
        """[configuration] percentile of the query latency in seconds; NaN where not timed.

        Args:
            percentile: "p50", "p95" or "p99".
        """
        found = numbers(((each["latency"] or {}).get(percentile) or {}).get("value") for each in self.systems)
        return found[self.system]

    def of_measure(self, measure: str) -> tuple[Floats, Floats]:
        """[query, configuration] values and tie-order variances of another measure; NaN where missing."""
        names = [each["name"] for each in self.configurations]
        ids, values, variances, _ = _of_queries(self.folder / QUERIES, names, [measure] * len(names))
        rows = [ids.index(each) for each in self.query_ids]
        return values[rows], variances[rows]

    def of_measures(self, measures: Sequence[str]) -> Floats:
        """[query, configuration] values of a measure of each configuration; NaN where missing."""
        names = [each["name"] for each in self.configurations]
        ids, values, *_ = _of_queries(self.folder / QUERIES, names, measures)
        return values[[ids.index(each) for each in self.query_ids]]

    def points(self, percentile: str) -> Objectives:
        """The measured values of all configurations."""
        return Objectives(self.cost, self.latency(percentile), self.quality)


def numbers(values: Any) -> Floats:
    """Numbers with NaN in place of None."""
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def read_sweep(directory: str | Path) -> SweepArrays:
    """Read the output of `trueval sweep`.

    Args:
        directory: directory of the sweep, from its --out.

    Raises:
        InputError: there is no sweep, a file of it is missing, was changed, or belongs to another sweep.
    """
    folder = Path(directory)
    place = folder / FILE
    result, digest = _result(place)
    try:
        names = [each["name"] for each in result["configurations"]]
        wanted = [each["quality"] for each in result["configurations"]]
        keys = [each["key"] for each in result["systems"]]
        values = _of_queries(folder / QUERIES, names, wanted)
        timed = [each["latency"] is not None for each in result["systems"]]
        totals = _totals(folder / SAMPLES, keys)
        lost = sum(here and bool(np.isnan(own).all()) for here, own in zip(timed, totals, strict=True))
        told = f"{lost} of {len(keys)} systems have no times in {SAMPLES}/: their latencies tie with all others."
        found = SweepArrays(result, digest, *values, totals, (told,) if lost else (), folder)
        _check_together(found, folder / QUERIES)
        # Everything used later is checked here, where errors can name the file.
        _ = found.prompt, found.contexts, [found.points(percentile) for percentile in PERCENTILES]
    except TruevalError:
        raise
    except (KeyError, TypeError, IndexError, AttributeError, ValueError, pl.exceptions.PolarsError) as error:
        told = f"{type(error).__name__} {str(error).splitlines()[0] if str(error) else ''}".strip()
        message = f"not as trueval sweep writes it: {told}. Run the same trueval sweep again."
        raise Place(str(place)).error(message) from error
    return found


def _result(place: Path) -> tuple[Mapping[str, Any], str]:
    try:
        data = place.read_bytes()
    except OSError as error:
        message = f"no sweep there ({error.strerror}). Name the folder that --out of trueval sweep named."
        raise Place(str(place)).error(message) from error
    found = read_json(place, data)
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise Place(str(place)).error('it must be of kind "sweep". Name the folder that --out of trueval sweep named.')
    if not isinstance(found.get("format"), int) or found["format"] > FORMAT:
        message = f"format {found.get('format')!r}; this version reads up to {FORMAT}. Update trueval, or sweep again."
        raise Place(str(place)).error(message)
    for name, (wanted, fits) in DRAWN.items():
        if name in found and not fits(found[name]):
            message = f"{name} must be {wanted}. Got {found[name]!r}. Run the same trueval sweep again."
            raise Place(str(place)).error(message)
    if not found.get("configurations"):
        reasons = [f"{each['name']}: {each['reason']}" for each in found.get("failed", [])][:1]
        message = f"no configuration was measured. {' '.join(reasons)} Correct the sweep, and run it again."
        raise Place(str(place)).error(message)
    return found, hashlib.sha256(data).hexdigest()


def _frame(file: Path, kind: str) -> pl.DataFrame:
    """The required columns of a table."""
    columns = COLUMNS[kind]
    try:
        frame = pl.read_parquet(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        message = f"cannot be read ({reason}). Run the same trueval sweep again."
        raise Place(str(file)).error(message) from error
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise Place(str(file)).error(f"no column {', '.join(missing)}. Run the same trueval sweep again.")
    return frame.select(columns)


def _of_queries(
    file: Path, names: Sequence[str], wanted: Sequence[str]
) -> tuple[tuple[str, ...], Floats, Floats, Floats]:
    """Query ids, and [query, configuration] values, variances and ceilings of the quality."""
    frame = _frame(file, "queries").with_columns(pl.col("configuration", "query_id", "measure").cast(pl.String))
    ids = frame["query_id"].unique(maintain_order=True).to_list()
    order = pl.DataFrame({"query_id": ids, "row": np.arange(len(ids))})
    columns = pl.DataFrame({"configuration": names, "quality": wanted, "column": np.arange(len(names))})
    ceiling = pl.col("measure").str.starts_with(CEILING)
    frame = frame.join(columns, on="configuration").join(order, on="query_id")
    frame = frame.filter(ceiling | (pl.col("measure") == pl.col("quality")))
    values, variances, ceilings = (np.full((len(ids), len(names)), np.nan) for _ in range(3))
    for is_ceiling, rows in ((False, frame.filter(~ceiling)), (True, frame.filter(ceiling))):
        place = rows["row"].to_numpy(), rows["column"].to_numpy()
        expected = rows["expected"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        (ceilings if is_ceiling else values)[place] = expected
        if not is_ceiling:
            variances[place] = rows["sd"].cast(pl.Float64).fill_null(np.nan).to_numpy() ** 2
    return tuple(ids), values, variances, ceilings


def _totals(folder: Path, keys: Sequence[str]) -> Floats:
    """[system, query, repeat] total seconds over all stages."""
    frames = {key: _samples(file) for key in keys if (file := folder / f"{key}.parquet").exists()}
    summed = [
        frame.group_by("query_id", "repeat").agg(pl.col("seconds").sum()).with_columns(system=pl.lit(place))
        for place, key in enumerate(keys)
        if (frame := frames.get(key)) is not None and len(frame)
    ]
    if not summed:
        return np.full((len(keys), 0, 0), np.nan)
    table = pl.concat(summed).with_columns(pl.col("query_id").rank("dense").cast(pl.Int64) - 1)
    table = table.with_columns(pl.col("repeat").rank("dense").cast(pl.Int64) - 1)
    query, repeat = table["query_id"].to_numpy(), table["repeat"].to_numpy()
    totals = np.full((len(keys), query.max() + 1, repeat.max() + 1), np.nan)
    totals[table["system"].to_numpy(), query, repeat] = table["seconds"].to_numpy()
    return totals


def _samples(file: Path) -> pl.DataFrame:
    """The latency samples of a system.

    Raises:
        InputError: one has no seconds, which a sum would take for none at all.
    """
    frame = _frame(file, "samples")
    seconds = frame["seconds"].cast(pl.Float64)
    lacking = int((seconds.is_null() | ~seconds.is_finite().fill_null(value=False) | (seconds < 0)).sum())
    if lacking:
        message = f"{lacking} of {frame.height} samples have no seconds. Remove the file, and run the same sweep again."
        raise Place(str(file)).error(message)
    return frame


def _check_together(found: SweepArrays, file: Path) -> None:
    """Refuse per-query values whose means differ from those of the sweep.

    Raises:
        InputError: naming the first configuration that differs.
    """
    known = ~np.isnan(found.values)
    counts = known.sum(axis=0)
    means = np.where(known, found.values, 0.0).sum(axis=0) / np.maximum(counts, 1)
    means = np.where(counts > 0, means, np.nan)
    differs = ~np.isclose(means, found.quality, rtol=0, atol=AGREES, equal_nan=True)
    if differs.any():
        place = int(differs.argmax())
        name = found.configurations[place]["name"]
        mean, said = f"{means[place]:.6g}", f"{found.quality[place]:.6g}"
        message = f"the mean of {name} is {mean}, and {said} in {FILE}: of two sweeps. Run the same sweep again."
        raise InputError(f"{file}: {message}", source=str(file))
