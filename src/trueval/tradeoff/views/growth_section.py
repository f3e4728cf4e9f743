"""The section on growth: what each pipeline gives on a larger corpus, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from trueval.report.units import COUNT, FRACTION, TEXT, Unit
from trueval.report.view import Column, Quantity, Section, Sentence, Sheet
from trueval.tradeoff.diagnosis.diagnosis_results import GrowthForecast, GrowthMeasurement, SystemGrowth
from trueval.tradeoff.views.units import BYTES, MILLISECONDS, SHARE

UNITS: Final[dict[str, Unit]] = {
    "quality": FRACTION,
    "cut": SHARE,
    "recall": SHARE,
    "bytes": BYTES,
    "seconds": MILLISECONDS,
}
NOT_BEYOND: Final = "not beyond"


class _ForecastRow(NamedTuple):
    """A forecast, and the pipeline that it is of."""

    system: SystemGrowth
    forecast: GrowthForecast


def growth_section(grown: tuple[SystemGrowth, ...] | None) -> list[Section]:
    """Each quantity of each pipeline now and on the larger corpus, and what was measured on thinned ones.

    Args:
        grown: forecasts; None where none were asked for.
    """
    if not grown:
        return []
    factor = grown[0].factor
    words = (
        "Every judged document was kept, and the others were thinned to a 64th and up, several times each. A law with "
        "a drifting slope was fitted to that; its interval is of one corpus of that size. A reranker is left out, and "
        "latency is that of the search alone. Further documents are taken to be like those that are there."
    )
    return [
        Section(
            f"With {factor:g} times the documents",
            [
                *(_forecasts(grown, name) for name in UNITS if any(each.of(name) for each in grown)),
                _thinned_corpora(grown),
            ],
            words,
            id="growth",
        )
    ]


def growth_findings(grown: tuple[SystemGrowth, ...] | None) -> Iterator[Sentence]:
    """The quality of each pipeline on the larger corpus, the best first.

    Args:
        grown: forecasts; None where none were asked for.
    """
    known = [(each, found) for each in grown or () if (found := each.of("quality")) is not None]
    for system, found in sorted(known, key=lambda pair: -pair[1].value):
        if found.doubt is not None:
            yield f"{system.measure} of {system.name} is not forecast for so many documents: {found.doubt}."
            continue
        yield (
            f"With {system.factor:g} times the documents ({found.documents:,}) {system.name} is forecast to have "
            f"{system.measure} ",
            Quantity(found, "value"),
            f", {system.level:.0%} interval ",
            Quantity(found, "low"),
            " to ",
            Quantity(found, "high"),
            "; it is ",
            Quantity(found, "now"),
            " now.",
        )


def _forecasts(grown: tuple[SystemGrowth, ...], name: str) -> Sheet[_ForecastRow]:
    rows = [_ForecastRow(each, found) for each in grown if (found := each.of(name)) is not None]
    unit = UNITS[name]
    titles = {
        "quality": grown[0].measure,
        "cut": f"Share of queries whose first {grown[0].k} are a matter of ties",
        "recall": "Recall of the index against exact search",
        "bytes": "Memory of the indexes",
        "seconds": "Milliseconds of a search",
    }

    def end(name: str) -> Column[_ForecastRow]:
        return Column(name, lambda row: getattr(row.forecast, name) if row.forecast.doubt is None else None, unit)

    columns: list[Column[_ForecastRow]] = [
        Column("system", lambda row: row.system.name),
        Column("now", lambda row: row.forecast.now, unit),
        Column("forecast", lambda row: row.forecast.value if row.forecast.doubt is None else None, unit, strong=True),
        end("low"),
        end("high"),
        Column("law", lambda row: row.forecast.law if row.forecast.doubt is None else NOT_BEYOND, TEXT, leaves=1),
    ]
    return Sheet(titles[name], rows, columns)


class _MeasuredRow(NamedTuple):
    """A thinned corpus, and the pipeline that searched it."""

    system: SystemGrowth
    measured: GrowthMeasurement


def _thinned_corpora(grown: tuple[SystemGrowth, ...]) -> Sheet[_MeasuredRow]:
    rows = [_MeasuredRow(each, measured) for each in grown for measured in each.measured]
    columns: list[Column[_MeasuredRow]] = [
        Column("system", lambda row: row.system.name),
        Column("documents", lambda row: row.measured.documents, COUNT),
        Column("draw", lambda row: row.measured.replicate + 1, COUNT),
        Column(grown[0].measure, lambda row: row.measured.quality, FRACTION),
        Column("cut", lambda row: row.measured.cut, SHARE),
        Column("recall", lambda row: row.measured.recall, SHARE),
        Column("bytes", lambda row: row.measured.bytes, BYTES),
        Column("ms", lambda row: row.measured.seconds, MILLISECONDS),
    ]
    return Sheet("Measured on thinned corpora", rows, columns, only="page")
