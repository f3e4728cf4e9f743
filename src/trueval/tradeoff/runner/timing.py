"""Timing of the systems of a sweep: groups timed together, stored results, and remarks.

    samples/calls.jsonl   each timed call as it comes, by task: equal work of two systems is timed once
    samples/KEY.parquet   the times of a system: stage, query_id, repeat, started, seconds; there once it is timed
    samples/KEY.json      how it was timed, and its loads

A system that was timed under the same protocol is not timed again, and its models are not loaded.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from trueval.files.atomic_files import write_whole
from trueval.latency.jitter import discontinuities, jitter, session_medians, sessions
from trueval.latency.latency import Protocol, measure
from trueval.latency.load_test import loads
from trueval.latency.percentiles import Times, latency, times_of
from trueval.latency.sample_ledger import SampleLedger
from trueval.latency.serving import ServedPipeline
from trueval.retrieval.pipeline.stage_runner import StageRunner
from trueval.tradeoff.config.grid import System
from trueval.tradeoff.quality.quality_settings import QualitySettings
from trueval.tradeoff.runner.system_builder import one_line
from trueval.tradeoff.runner.system_store import SAMPLES, SystemStore, write_json

_log = logging.getLogger(__name__)

TOGETHER: Final = 2 << 30  # maximum bytes of indexes open at once
CALLS: Final = "calls.jsonl"
COLUMNS: Final = ("stage", "query_id", "repeat", "started", "seconds")


class SystemTimes(NamedTuple):
    """The latencies of a system.

    Attributes:
        stages: latency percentiles per stage.
        latency: percentiles over all stages together, and their jitter; None where nothing was timed.
        loads: results of closed and open loops.
        first: percentiles until the end of an earlier stage; None where nobody asked for them.
        machine: name of the machine; None where nothing was timed, or by an earlier version.
    """

    stages: list[dict[str, Any]]
    latency: dict[str, Any] | None
    loads: list[dict[str, Any]]
    notes: tuple[str, ...] = ()
    first: dict[str, Any] | None = None
    machine: str | None = None


NOTHING: Final = SystemTimes([], None, [])


def protocol_of(table: Mapping[str, Any], seed: int) -> Protocol:
    """The timing protocol of the table [latency].

    Args:
        table: the table [latency].
        seed: seed from [measure].
    """
    band = table["band_ms"]
    return Protocol(
        table["queries"],
        table["repeats"],
        table["warmup"],
        table["concurrency"] or (),
        table["rates"] or (),
        None if band is None else band / 1e3,
        seed,
    )


class TimingTask(NamedTuple):
    """A system to be timed.

    Attributes:
        work: creates the runner of its stages.
    """

    system: System
    key: str
    bytes: int
    work: Callable[[], StageRunner]


class Timer:
    """Times the systems of a sweep.

    Args:
        store: the directory of the sweep.
        measuring: level, resamples and seed of intervals.
        step: called with the number of samples done and the total.
        machine: name of this machine; None where other work may be on it, so that only stored latencies are read.
    """

    def __init__(
        self,
        protocol: Protocol,
        store: SystemStore,
        measuring: QualitySettings,
        step: Callable[[str, int, int], None],
        machine: str | None,
    ) -> None:
        self.protocol, self.store, self.measuring, self.step = protocol, store, measuring, step
        self.machine = machine

    def time(self, systems: Sequence[TimingTask]) -> dict[str, SystemTimes]:
        """Latencies by system key; stored ones are read."""
        if not self.protocol.queries:
            return {each.key: NOTHING for each in systems}
        found: dict[str, SystemTimes] = {}
        missing = []
        for each in systems:
            kept = self.read(each.key)
            if kept is not None:
                found[each.key] = self._system_times(*kept)
            elif self.machine is None:
                found[each.key] = NOTHING
            else:
                missing.append(each)
        for group in _groups(missing):
            found |= self._time(group)
        return found

    def has(self, key: str) -> bool:
        """Whether a system has stored times under the same protocol."""
        return self.read(key) is not None

    def _time(self, group: Sequence[TimingTask]) -> dict[str, SystemTimes]:
        """Time some systems together, each task once."""
        served: dict[str, ServedPipeline] = {}
        found: dict[str, SystemTimes] = {}
        for each in group:
            with _note_timing_errors(each, found):
                one = ServedPipeline(each.work())
                one.check_cost(self.protocol)
                served[each.key] = one
        tasks = {task.name: task for one in served.values() for task in one.tasks}
        if not tasks:
            return found
        folder = self.store.folder
        ledger = None if folder is None else SampleLedger(folder / SAMPLES / CALLS, self.machine)
        first = next(iter(served.values()))
        measured = measure(
            list(tasks.values()),
            first.query_ids,
            self.protocol,
            done=None if ledger is None else ledger.read(),
            keep=None if ledger is None else ledger.append,
            step=lambda done, of: self.step("samples", done, of),
        )
        for each in group:
            if each.key not in served:
                continue
            one = served[each.key]
            broken = next((measured.failed[task.name] for task in one.tasks if task.name in measured.failed), None)
            with _note_timing_errors(each, found):
                if broken is not None:
                    raise broken
                found[each.key] = self._finish(each.key, one, measured.samples)
        return found

    def _finish(self, key: str, served: ServedPipeline, samples: pl.DataFrame) -> SystemTimes:
        """Store the latencies of a system, and return them."""
        # The ledger may contain more calls, from an earlier run that timed more.
        asked_ids = served.query_ids[: self.protocol.queries]
        samples = samples.filter(pl.col("query_id").is_in(asked_ids), pl.col("repeat") < self.protocol.repeats)
        parts = [
            samples.filter(task=stage.task.name).select(pl.lit(stage.name).alias("stage"), *COLUMNS[1:])
            for stage in served.stages
        ]
        written = {f"rewrite ({form})": each.seconds for form, each in served.work.written.items()}
        # Each repetition takes what the model took when it wrote the query, which is not asked for again.
        for stage, seconds in written.items():
            known = pl.col("query_id").replace_strict(dict(seconds), return_dtype=pl.Float64)
            parts.append(parts[0].with_columns(stage=pl.lit(stage), seconds=known))
        own, asked = pl.concat(parts), len(served.query_ids)
        under_load = [each.to_dict() for each in loads(served.answer, asked, self.protocol)]
        about = {
            "protocol": self._protocol,
            "machine": self.machine,
            "stages": [*written, *(stage.name for stage in served.stages)],
            "loads": under_load,
        }
        return self.keep(key, about, own)

    def keep(
        self, key: str, about: Mapping[str, Any], samples: pl.DataFrame, *, first: str | None = None
    ) -> SystemTimes:
        """Store the samples of a system, and return its latencies.

        Args:
            about: "stages", in their order, and "loads".
            samples: stage, query_id, repeat, started, seconds.
            first: name of a stage; percentiles until its end are returned too.
        """
        if self.store.folder is not None:
            (self.store.folder / SAMPLES).mkdir(parents=True, exist_ok=True)
            write_whole(self._samples(key), samples.write_parquet)
            write_json(self._about(key), about)
        found = self._system_times(about, samples)
        if first is None:
            return found
        stages = list(about["stages"])
        until = times_of(samples.rename({"stage": "task"}), stages[: stages.index(first) + 1])
        return found._replace(first=self._percentiles(until))

    def read(self, key: str) -> tuple[Mapping[str, Any], pl.DataFrame] | None:
        """Stored samples under the same protocol; None if missing or unreadable."""
        if self.store.folder is None or not self._about(key).is_file():
            return None
        try:
            about = json.loads(self._about(key).read_text(encoding="utf-8"))
            samples = pl.read_parquet(self._samples(key))
        except (OSError, ValueError, pl.exceptions.PolarsError):  # timed again
            return None
        same = isinstance(about, dict) and about.get("protocol") == self._protocol
        return (about, samples) if same else None

    @property
    def _protocol(self) -> dict[str, object]:
        """The part of the protocol that affects measurements, as JSON; the band affects only the report."""
        table = {name: value for name, value in vars(self.protocol).items() if name != "band"}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in table.items()}

    def _system_times(self, about: Mapping[str, Any], samples: pl.DataFrame) -> SystemTimes:
        renamed = samples.rename({"stage": "task"})
        stages = [{"name": name, **self._percentiles(times_of(renamed, [name]))} for name in about["stages"]]
        total = times_of(renamed, about["stages"])
        apart = jitter(total)
        said = {**self._percentiles(total), "jitter": apart}
        notes = tuple(_sessions(total, apart))
        return SystemTimes(stages, said, list(about["loads"]), notes, machine=about.get("machine"))

    def _percentiles(self, times: Times) -> dict[str, object]:
        rng = np.random.default_rng(self.measuring.seed)
        return latency(times, rng=rng, level=self.measuring.level, resamples=self.measuring.resamples).to_dict()

    def _samples(self, key: str) -> Path:
        return Path(self.store.folder or ".") / SAMPLES / f"{key}.parquet"

    def _about(self, key: str) -> Path:
        return Path(self.store.folder or ".") / SAMPLES / f"{key}.json"


def _sessions(times: Times, apart: float | None) -> Iterator[str]:
    """A remark where a measuring session deviates from another: something else was running."""
    session = sessions(times.started)
    medians = session_medians(times, session)
    off = discontinuities(medians, jitter=apart or 0.0)
    if off.any():
        told = ", ".join(
            f"{1e3 * median:.0f} ms" + " (off)" * bool(bad) for median, bad in zip(medians, off, strict=True)
        )
        yield f"Latency was measured at {len(medians)} times of day, and not all agree: medians {told}."


def _groups(systems: Sequence[TimingTask]) -> list[list[TimingTask]]:
    """Groups of systems timed together, as many as their indexes fit in memory."""
    groups: list[list[TimingTask]] = []
    size = TOGETHER
    for each in systems:
        if size + each.bytes > TOGETHER:
            groups.append([])
            size = 0
        groups[-1].append(each)
        size += each.bytes
    return groups


@contextmanager
def _note_timing_errors(each: TimingTask, found: dict[str, SystemTimes]) -> Iterator[None]:
    """Record why a system has no latencies, and continue with the others."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  a model or an index may raise anything: one system is not timed
        _log.error("%s cannot be timed", each.key, exc_info=True)
        found[each.key] = NOTHING._replace(notes=(f"Latency could not be measured: {one_line(error)}",))
