"""Probe results of the systems of a sweep, as extra columns and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from trueval.report.number_texts import NOT_AVAILABLE
from trueval.tradeoff.views.paper_cells import CellValue, MissingTable, PaperTable, row_of

Entry = Mapping[str, Any]


class ProbeColumn(NamedTuple):
    """A probe statistic of systems.

    Attributes:
        title: its heading.
        path: from the entry of a system to the number.
        unit: "ratio" or "percent", as cells take them.
    """

    title: str
    path: tuple[str, ...]
    unit: str

    def value(self, system: Entry) -> float | None:
        """The statistic of a system; None where missing."""
        found: Any = system
        for key in self.path:
            found = (found or {}).get(key)
        return found if isinstance(found, int | float) else None

    def text(self, system: Entry) -> str:
        """The statistic, formatted."""
        value = self.value(system)
        if value is None:
            return NOT_AVAILABLE
        return f"{value:+.0%}" if self.unit == "percent" else f"{value:.3f}"


def probe_columns(sweep: Entry) -> list[ProbeColumn]:
    """The columns with probe results; none without [probes].

    Args:
        sweep: the JSON of `trueval sweep`.
    """
    asked = sweep.get("probes")
    if not asked:
        return []
    names, noise = ("probes", "names"), ("probes", "noise")
    found = []
    if asked["names"]:
        found.append(ProbeColumn("name / topic", (*names, "name_over_topic"), "ratio"))
        found += [
            ProbeColumn(f"ΔΔ {each.replace('_', ' ')}", (*names, "changes", each, "of_means"), "percent")
            for each in asked["ablations"]
        ]
    if asked["noise"]:
        level = asked["level"]
        found.append(ProbeColumn(f"drop {level}", (*noise, "drop"), "ratio"))
        found.append(ProbeColumn(f"overlap {level}", (*noise, "overlap"), "ratio"))
    return [each for each in found if any(each.value(system) is not None for system in sweep["systems"])]


def of_probes(sweep: Entry) -> Iterator[PaperTable | MissingTable]:
    """The probe results of every system as a table; empty without [probes].

    Args:
        sweep: the JSON.
    """
    columns = probe_columns(sweep)
    if not columns:
        return
    rows = tuple(
        row_of(system["name"], *(CellValue(each.value(system), each.unit) for each in columns))
        for system in sweep["systems"]
    )
    yield PaperTable(
        "Probes",
        "names and chatter, by what finds the documents",
        ("system", *(each.title for each in columns)),
        rows,
        notes=tuple(probe_legend(sweep)),
    )


def probe_legend(sweep: Entry) -> Sequence[str]:
    """What the columns mean.

    Args:
        sweep: the JSON.
    """
    asked, told = sweep.get("probes"), []
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
