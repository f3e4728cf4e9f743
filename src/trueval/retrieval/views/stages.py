"""The stages of a pipeline: how many candidates each gives, how many of them tie, how long it took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from trueval.report import formats
from trueval.report.formats import latex, markdown, pipes, tabular
from trueval.report.number_texts import FRACTIONS, NOT_AVAILABLE, ValueUnit, count_phrase, format_value, percent, unit
from trueval.report.page_content import Block, Number, PageColumn, Part, Table, Words, row_of
from trueval.report.result_directory import Directory, ResultFile
from trueval.report.terminal import grid
from trueval.retrieval.pipeline.config import formats_used
from trueval.retrieval.views.flow import MEASURE, figures

Entry = Mapping[str, Any]

HEAD: Final = ("stage", "queries", "candidates", "lost", "tied")
JUDGED: Final = ("relevant", MEASURE, "lowest", "highest")
END: Final = ("seconds", "cold", "")
COLUMNS: Final = ("name", "queries", "given", "documents", "tied_fraction", "seconds", "made_seconds", "cached")
JUDGED_COLUMNS: Final = ("relevant_given", "relevant", "R", MEASURE, "lowest", "highest")


def head(result: Entry) -> tuple[str, ...]:
    """The headings of a table of stages: with judgments there are more."""
    return (*HEAD, *(JUDGED if "judged" in result else ()), *END)


def stage_cells(stage: Entry, scale: ValueUnit) -> list[str]:
    """The cells of a stage, as people read them.

    Args:
        stage: of the JSON of `trueval retrieve`.
        scale: scale of the share that ties, and of measures.
    """
    return [
        stage["name"],
        f"{stage['queries']:,}",
        f"{stage['documents']:,}",
        "" if stage["given"] is None else f"{stage['given'] - stage['documents']:,}",
        format_value(stage["tied_fraction"], scale),
        *(_quality_cells(stage, scale) if "measures" in stage else ()),
        seconds(stage["seconds"]),
        seconds(stage["made_seconds"]),
        "kept" if stage["cached"] else "",
    ]


def _quality_cells(stage: Entry, scale: ValueUnit) -> list[str]:
    value = stage["measures"][MEASURE]
    return [f"{stage['relevant']:,}", *(format_value(value[part], scale) for part in ("expected", "lowest", "highest"))]


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
    yield from formats_used(result["settings"])
    last = result["stages"][-1]
    if last["tied_fraction"]:
        yield (
            f"{percent(last['tied_fraction'])} of the candidates tie in the end; trueval evaluate says what their "
            "order can change."
        )
    yield from describe_precision_effect(result)
    kept = sum(stage["cached"] for stage in result["stages"])
    if kept:
        yield (
            f"kept: {count_phrase(kept, 'stage was', 'stages were')} taken from the cache; seconds are those of "
            "reading."
        )
    for stage in result["stages"]:
        yield from (f"{stage['name']}: {note}" for note in stage["notes"])
    yield from result.get("judged", {}).get("notes", ())


def describe_precision_effect(result: Entry) -> Iterator[str]:
    """What low precision does to the pipeline, where it was run in both.

    Args:
        result: the JSON of `trueval retrieve`.
    """
    if "low" not in result:
        return
    high, low = result["stages"], result["low"]["stages"]
    ties = [[stage["tied_fraction"] for stage in side] for side in (low, high)]
    apart = [a - b for a, b in zip(*ties, strict=True)]
    most = max(range(len(apart)), key=lambda place: abs(apart[place]))
    if not apart[most]:
        yield f"Scored in the dtype of the models as many candidates tie as in float32, {percent(ties[0][-1])}."
    else:
        yield (
            f"Scored in the dtype of the models {percent(ties[0][-1])} of the candidates tie in the end, in float32 "
            f"{percent(ties[1][-1])}. The two differ most at {high[most]['name']}: {percent(ties[0][most])} and "
            f"{percent(ties[1][most])}, {100 * apart[most]:+.1f} points."
        )
    if "judged" in result:
        told = (
            "{expected:.4f} [{lowest:.4f}, {highest:.4f}]".format(**each[-1]["measures"][MEASURE])
            for each in (low, high)
        )
        yield f"{MEASURE} is {next(told)} in the dtype of the models and {next(told)} in float32."


def flat(result: Entry) -> Iterator[dict[str, Any]]:
    """The stages with their measures as columns.

    Args:
        result: the JSON of `trueval retrieve`.
    """
    for stage in result["stages"]:
        value = stage["measures"][MEASURE] if "measures" in stage else {}
        whole = {"R": stage["measures"]["R"]["expected"]} if value else {}
        yield {
            **stage,
            **whole,
            MEASURE: value.get("expected"),
            **{end: value.get(end) for end in ("lowest", "highest")},
        }


def table(result: Entry, *, scale: ValueUnit = FRACTIONS) -> Group:
    """The stages in a terminal.

    Args:
        result: the JSON of `trueval retrieve`.
        scale: scale of the shares that tie.
    """
    return Group(*_grids(result, scale), *map(Text, [*sentences(result), *unit(scale)]))


def _grids(result: Entry, scale: ValueUnit) -> Iterator[RenderableType]:
    for side in (result, *([result["low"]] if "low" in result else ())):
        shown = grid(head(side), "L" + "r" * (len(head(side)) - 2) + "l")
        for stage in side["stages"]:
            shown.add_row(*stage_cells(stage, scale))
        if side is not result:
            yield Text("The same, scored in the dtype of the models:")
        yield shown


def to_csv(result: Entry) -> str:
    """One line for each stage, in full precision.

    Args:
        result: the JSON of `trueval retrieve`.
    """
    columns = (*COLUMNS, *(JUDGED_COLUMNS if "judged" in result else ()))
    if "low" not in result:
        return formats.to_csv(columns, list(flat(result)))
    rows = [{"scoring": name, **row} for name, side in sides(result) for row in flat(side)]
    return formats.to_csv(("scoring", *columns), rows)


def sides(result: Entry) -> Iterator[tuple[str, Entry]]:
    """The run in float32 and that in the dtype of the models, by name; one without a name where there is one.

    Args:
        result: the JSON of `trueval retrieve`.
    """
    if "low" not in result:
        yield "", result
    else:
        yield from (("float32", result), ("the models' dtype", result["low"]))


def to_markdown(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """The stages as a table of pipes.

    Args:
        result: the JSON of `trueval retrieve`.
        scale: scale of the shares that tie.
    """
    notes = "".join(f"\n{markdown(line)}\n" for line in [*sentences(result), *unit(scale)])
    tables = [
        pipes(head(side), [stage_cells(stage, scale) for stage in side["stages"]], words=1) for _, side in sides(result)
    ]
    return "\n".join(tables) + notes


def to_latex(result: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """The stages as a tabular; it needs the package booktabs.

    Args:
        result: the JSON of `trueval retrieve`.
        scale: scale of the shares that tie.
    """
    rows = [[*map(latex, stage_cells(stage, scale))] for _, side in sides(result) for stage in side["stages"]]
    heading = [*map(latex, head(result))]
    form = "l" + "r" * (len(heading) - 2) + "l"
    return tabular(heading, rows, form, notes=[*sentences(result), *unit(scale)])


def build(file: ResultFile, directory: Directory) -> Part:
    """The part of the page for a pipeline.

    Args:
        file: the result.
        directory: unused.
    """
    data = file.data
    stages: Sequence[Entry] = data["stages"]
    last, at = stages[-1], len(stages) - 1
    verdict: Words = (
        f"{data['name']} found ",
        Number(f"{last['documents']:,}", last["documents"], file.source("stages", at, "documents")),
        f" candidates for {count_phrase(last['queries'], 'query', 'queries')} of {data['collection']['name']}; ",
        Number(percent(last["tied_fraction"]), last["tied_fraction"], file.source("stages", at, "tied_fraction")),
        " of them tie.",
    )
    tables = tuple(_stage_table(name, side, file.name) for name, side in sides(data))
    told = tuple(describe_precision_effect(data))
    words = tuple((line,) for line in sentences(data) if line not in told)
    block = Block(
        "pipeline", "The pipeline", words=words, figures=tuple(figures(data)), tables=tables, facts=tuple(_facts(data))
    )
    return Part(verdict=verdict, summary=tuple((line,) for line in told), blocks=(block,))


def _stage_table(name: str, side: Entry, file: str) -> Table:
    columns = _columns(judged="judged" in side)
    prefix = "/low" if name and name != "float32" else ""
    rows = tuple(row_of(f"{prefix}/stages/{place}", columns, stage) for place, stage in enumerate(side["stages"]))
    caption = "What each stage gives to the next one" + (f", scored in {name}." if name else ".")
    return Table(f"stages{prefix.replace('/', '-')}", (caption,), file, columns, rows)


def _columns(*, judged: bool) -> tuple[PageColumn, ...]:
    values = (
        PageColumn("relevant", "/relevant", numeric=True, show=_count),
        PageColumn("relevant lost", "/relevant_given - /relevant", numeric=True, show=_count),
        PageColumn("R", "/measures/R/expected", numeric=True, show=format_value),
        PageColumn(MEASURE, f"/measures/{MEASURE}/expected", numeric=True, show=format_value, strong=lambda _: True),
        *(
            PageColumn(end, f"/measures/{MEASURE}/{end}", numeric=True, show=format_value)
            for end in ("lowest", "highest")
        ),
    )
    return (
        PageColumn("stage", "/name"),
        PageColumn("queries", "/queries", numeric=True, show=_count),
        PageColumn("candidates", "/documents", numeric=True, show=_count),
        PageColumn("lost", "/given - /documents", numeric=True, show=_count),
        PageColumn("tied", "/tied_fraction", numeric=True, show=format_value),
        *(values if judged else ()),
        PageColumn("seconds", "/seconds", numeric=True, show=seconds),
        PageColumn("cold", "/made_seconds", numeric=True, show=seconds),
        PageColumn("from the cache", "/cached", show=lambda value: "yes" if value else "no"),
    )


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _facts(data: Entry) -> Iterator[tuple[str, Words]]:
    for name, values in data["settings"].items():
        told = ", ".join(f"{key} {_format_setting(value)}" for key, value in values.items() if value is not None)
        yield f"[{name}]", (told or NOT_AVAILABLE,)


def _format_setting(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return " + ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
