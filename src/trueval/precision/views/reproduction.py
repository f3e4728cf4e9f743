"""The view of a repeated table: our values beside the printed ones, with differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Final

from trueval.precision.reproduction_result import ReproducedCell, TableReproduction, TieStatistics, UnmadeRow
from trueval.report.number_texts import count_phrase
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, NAME, unscaled_unit
from trueval.report.view import (
    Answer,
    Column,
    Quantity,
    Section,
    Sentence,
    SentenceDifference,
    Sheet,
    View,
    choices_section,
)

QUESTION: Final = "Does the table come out again?"
STATISTICS: Final = {"tie_broken": "tie-broken", "expected": "expected", "range": "range", "bias": "bias"}
TEXT: Final = unscaled_unit(str, "t")
LEGEND: Final = (
    "Ours is what the same models give here, paper what Table 1 of arXiv 2508.03306 prints, Δ ours less the "
    "paper's. FP32 is the model in float32; BF16 the model and its scores in bfloat16; BF16 → FP32 the same outputs "
    "scored in float32. tie-broken: in the order of the candidates; range: between best and worst order of ties.",
    "Outputs in bfloat16 change with batch, machine and library, and most of all the values whose range is wide.",
)


def view(result: TableReproduction) -> View:
    """What `trueval precision audit --reproduce` shows.

    Args:
        result: of the command.
    """
    sections = [
        Section(
            "Ours beside the paper's",
            [
                Sheet(f"{data}, {measure}", list(_cells_of(result, data, measure)), list(_columns()), id=f"table-{at}")
                for at, (data, measure) in enumerate(dict.fromkeys((each.data, each.measure) for each in result.cells))
            ],
            open=True,
        )
    ]
    if result.unmade:
        columns: list[Column[UnmadeRow]] = [
            Column("data", lambda row: row.data, NAME),
            Column("model", lambda row: row.model or "all", NAME),
            Column("reason", lambda row: row.reason, TEXT),
        ]
        sections.append(Section("What could not be run", [Sheet("Rows left open", result.unmade, columns)], open=True))
    choices = {
        "batch size": result.batch_size,
        "maximum length": result.max_length,
        "device": ", ".join(result.devices) or None,
        **{each.name: f"{each.source}: {each.queries:,} queries, {each.documents:,} texts" for each in result.sets},
    }
    return View(
        title="Table 1, repeated",
        answer=_answer(result),
        sections=[*sections, choices_section("precision audit", choices)],
        csv=Sheet("", result.cells, list(_csv())),
        findings=list(_findings(result)),
        legend=LEGEND,
        notes=result.notes,
    )


def _cells_of(result: TableReproduction, data: str, measure: str) -> Iterator[ReproducedCell]:
    return (each for each in result.cells if (each.data, each.measure) == (data, measure))


def _value(side: str, statistic: str) -> Callable[[ReproducedCell], object]:
    read = attrgetter(statistic)

    def value(row: ReproducedCell) -> object:
        found = getattr(row, side)
        return None if found is None else read(found)

    return value


def _columns() -> Iterator[Column[ReproducedCell]]:
    yield Column("model", lambda row: row.model, NAME)
    yield Column("formats", lambda row: row.regime, NAME)
    for at, (statistic, title) in enumerate(STATISTICS.items()):
        leaves = {"tie_broken": 1, "bias": 2}.get(statistic, 0)
        yield Column(title, _value("ours", statistic), FRACTION, leaves, strong=statistic == "expected")
        yield Column("paper", _value("printed", statistic), FRACTION, leaves)
        yield Column("Δ", _value("difference", statistic), DIFFERENCE, leaves or 3 + at)
    yield Column("queries", lambda row: row.queries, COUNT, only="page")


def _csv() -> Iterator[Column[ReproducedCell]]:
    for name in ("data", "measure", "model", "scoring", "regime", "queries"):
        yield Column(name, attrgetter(name))
    for side in ("ours", "printed", "difference"):
        for statistic in STATISTICS:
            yield Column(f"{side} {statistic}", _value(side, statistic))


def _answer(result: TableReproduction) -> Answer:
    run = [each for each in result.cells if each.ours is not None]
    ours, farthest = max(((each.ours, each) for each in run if each.ours), key=lambda pair: _distance(*pair))
    sentence: Sentence = (
        f"Of {len(result.cells)} values of Table 1, {len(run)} were run: expected values differ from the paper's by ",
        Quantity(result, "mean_distance"),
        " on average, and most by ",
        SentenceDifference(Quantity(ours, "expected"), Quantity(farthest.printed, "expected")),
        f", {farthest.measure} of {farthest.model} on {farthest.data} in {farthest.regime}.",
    )
    again = "trueval precision audit --reproduce table1 --out DIR" if result.unmade else ""
    return Answer(sentence, QUESTION, next=again)


def _distance(ours: TieStatistics, cell: ReproducedCell) -> float:
    return abs(ours.expected - cell.printed.expected)


def _findings(result: TableReproduction) -> Iterator[Sentence]:
    for regime in dict.fromkeys(each.regime for each in result.cells):
        run = [each for each in result.cells if each.regime == regime and each.ours is not None]
        widest = max(run, key=lambda each: each.ours.range if each.ours else 0.0, default=None)
        if widest is not None and widest.ours is not None and widest.ours.range:
            yield (
                f"{regime}: the widest tie range is ",
                Quantity(widest.ours, "range"),
                f", {widest.measure} of {widest.model}; the paper has ",
                Quantity(widest.printed, "range"),
                " there.",
            )
    rows = len({(each.data, each.model) for each in result.unmade if each.model})
    if rows:
        yield f"{count_phrase(rows, 'model on a set', 'models on a set')} could not be run; their rows are left open."
