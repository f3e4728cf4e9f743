"""The stages of a pipeline: how many candidates each gives, how many of them tie, how long it took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.console import Group
from rich.text import Text

from trueval.report import formats
from trueval.report.content import Block, Column, Number, Part, Table, Words, row_of
from trueval.report.directory import Directory, ResultFile
from trueval.report.formats import latex, markdown, pipes, tabular
from trueval.report.terminal import grid
from trueval.report.text import FRACTIONS, NOT_AVAILABLE, Scale, counted, fixed, percent, unit

Entry = Mapping[str, Any]

HEAD: Final = ("stage", "queries", "candidates", "tied", "seconds", "")
COLUMNS: Final = ("name", "queries", "documents", "tied_fraction", "seconds", "cached")


def cells(stage: Entry, scale: Scale) -> list[str]:
    """The cells of a stage, as people read them.

    Args:
        stage: of the JSON of `trueval retrieve`.
        scale: of the share that ties.
    """
    return [
        stage["name"],
        f"{stage['queries']:,}",
        f"{stage['documents']:,}",
        fixed(stage["tied_fraction"], scale),
        seconds(stage["seconds"]),
        "kept" if stage["cached"] else "",
    ]


def seconds(value: float) -> str:
    """Seconds in three digits.

    >>> seconds(0.0123), seconds(75.25)
    ('0.0123', '75.2')
    """
    return f"{value:.3g}"


def sentences(result: Entry) -> Iterator[str]:
    """What a reader should know of the run: the ties that the pipeline made, and the remarks of its stages.

    Args:
        result: the JSON of `trueval retrieve`.
    """
    last = result["stages"][-1]
    if last["tied_fraction"]:
        yield (
            f"{percent(last['tied_fraction'])} of the candidates tie in the end; trueval evaluate says what their "
            "order can change."
        )
    kept = sum(stage["cached"] for stage in result["stages"])
    if kept:
        yield f"kept: {counted(kept, 'stage was', 'stages were')} taken from the cache; seconds are those of reading."
    for stage in result["stages"]:
        yield from (f"{stage['name']}: {note}" for note in stage["notes"])


def table(result: Entry, *, scale: Scale = FRACTIONS) -> Group:
    """The stages in a terminal.

    Args:
        result: the JSON of `trueval retrieve`.
        scale: of the shares that tie.
    """
    shown = grid(HEAD, "Lrrrrl")
    for stage in result["stages"]:
        shown.add_row(*cells(stage, scale))
    return Group(shown, *map(Text, [*sentences(result), *unit(scale)]))


def to_csv(result: Entry) -> str:
    """One line for each stage, in full precision.

    Args:
        result: the JSON of `trueval retrieve`.
    """
    return formats.to_csv(COLUMNS, result["stages"])


def to_markdown(result: Entry, *, scale: Scale = FRACTIONS) -> str:
    """The stages as a table of pipes.

    Args:
        result: the JSON of `trueval retrieve`.
        scale: of the shares that tie.
    """
    notes = "".join(f"\n{markdown(line)}\n" for line in [*sentences(result), *unit(scale)])
    return pipes(HEAD, [cells(stage, scale) for stage in result["stages"]], words=1) + notes


def to_latex(result: Entry, *, scale: Scale = FRACTIONS) -> str:
    """The stages as a tabular; it needs the package booktabs.

    Args:
        result: the JSON of `trueval retrieve`.
        scale: of the shares that tie.
    """
    rows = [[*map(latex, cells(stage, scale))] for stage in result["stages"]]
    return tabular([*map(latex, HEAD)], rows, "lrrrrl", notes=[*sentences(result), *unit(scale)])


def build(file: ResultFile, directory: Directory) -> Part:
    """The part of the page for a pipeline.

    Args:
        file: the result.
        directory: not needed.
    """
    data = file.data
    stages: Sequence[Entry] = data["stages"]
    last, at = stages[-1], len(stages) - 1
    verdict: Words = (
        f"{data['name']} found ",
        Number(f"{last['documents']:,}", last["documents"], file.source("stages", at, "documents")),
        f" candidates for {counted(last['queries'], 'query', 'queries')} of {data['collection']['name']}; ",
        Number(percent(last["tied_fraction"]), last["tied_fraction"], file.source("stages", at, "tied_fraction")),
        " of them tie.",
    )
    columns = (
        Column("stage", "/name"),
        Column("queries", "/queries", numeric=True, show=lambda value: f"{value:,}"),
        Column("candidates", "/documents", numeric=True, show=lambda value: f"{value:,}"),
        Column("tied", "/tied_fraction", numeric=True, show=fixed),
        Column("seconds", "/seconds", numeric=True, show=seconds),
        Column("from the cache", "/cached", show=lambda value: "yes" if value else "no"),
    )
    rows = tuple(row_of(f"/stages/{place}", columns, stage) for place, stage in enumerate(stages))
    stage_table = Table("stages", ("What each stage gives to the next one.",), file.name, columns, rows)
    words = tuple((line,) for line in sentences(data))
    block = Block("pipeline", "The pipeline", words=words, tables=(stage_table,), facts=tuple(_facts(data)))
    return Part(verdict=verdict, blocks=(block,))


def _facts(data: Entry) -> Iterator[tuple[str, Words]]:
    for name, values in data["settings"].items():
        told = ", ".join(f"{key} {_written(value)}" for key, value in values.items() if value is not None)
        yield f"[{name}]", (told or NOT_AVAILABLE,)


def _written(value: Any) -> str:
    return " + ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
