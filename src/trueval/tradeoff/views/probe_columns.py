"""Probe results of the systems of a sweep, as columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from trueval.report.units import Unit, number
from trueval.tradeoff.runner.sweep_result import SweepResult, SweptSystem

T = TypeVar("T")
RATIO, CHANGE = number(".3f"), number("+.0%")


class ProbeColumn(NamedTuple):
    """A probe statistic of systems.

    Attributes:
        title: its heading.
        value: of a system; None without it.
        unit: how it is written.
    """

    title: str
    value: Callable[[SweptSystem], float | None]
    unit: Unit

    def value_of(self, system: Callable[[T], SweptSystem]) -> Callable[[T], float | None]:
        """The statistic of the system of a row."""
        return lambda row: self.value(system(row))


def probe_columns(sweep: SweepResult) -> list[ProbeColumn]:
    """The columns with probe results; none without [probes].

    Args:
        sweep: of the command.
    """
    asked = sweep.probes
    if not asked:
        return []
    found = []
    if asked["names"]:
        found.append(ProbeColumn("name / topic", _over_topic, RATIO))
        found += [ProbeColumn(f"ΔΔ {each.replace('_', ' ')}", _change(each), CHANGE) for each in asked["ablations"]]
    if asked["noise"]:
        found.append(ProbeColumn(f"drop {asked['level']}", _noise("drop"), RATIO))
        found.append(ProbeColumn(f"overlap {asked['level']}", _noise("overlap"), RATIO))
    return [each for each in found if any(each.value(system) is not None for system in sweep.systems)]


def _over_topic(system: SweptSystem) -> float | None:
    probes = system.probes
    names = None if probes is None else probes.names
    return None if names is None else names.name_over_topic


def _change(name: str) -> Callable[[SweptSystem], float | None]:
    def value(system: SweptSystem) -> float | None:
        probes = system.probes
        names = None if probes is None else probes.names
        return None if names is None else names.changes[name].of_means

    return value


def _noise(name: str) -> Callable[[SweptSystem], float | None]:
    def value(system: SweptSystem) -> float | None:
        probes = system.probes
        noise = None if probes is None else probes.noise
        found: float | None = None if noise is None else getattr(noise, name)
        return found

    return value


def probe_legend(sweep: SweepResult) -> Sequence[str]:
    """What the columns mean.

    Args:
        sweep: of the command.
    """
    asked, told = sweep.probes, []
    if not asked:
        return ()
    if asked["names"]:
        told.append(
            "name / topic: margin of the right author over that of the right work, our sample of authors "
            f"({asked['language']}, {asked['queries']} queries, {asked['runs']} runs); ΔΔ: what a change of the name "
            "does to its margin. Of the search before a reranker."
        )
    if asked["noise"]:
        told.append(
            f"drop {asked['level']}: 1 - cosine of a query and the query with chatter of level {asked['level']}; "
            "overlap: share of the first 10 documents that both find."
        )
    return tuple(told)
