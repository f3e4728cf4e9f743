"""Views of `trueval explain`: a measure under every convention, and why the values differ."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from trueval.evaluation.explanation import FORMAT_VERSION, KIND
from trueval.report.formats import markdown, pipes, to_json
from trueval.report.kinds import Kind
from trueval.report.number_texts import FRACTIONS, ValueUnit, format_difference, format_value, interval, unit
from trueval.report.page_content import Block, Cell, PageColumn, Part, Table, row_of
from trueval.report.result_directory import Directory, ResultFile, pointer
from trueval.report.terminal import grid

HEADINGS = ("convention", "value", "change", "lowest, highest", "because of")
QUERY_HEADINGS = ("query", "convention", "ours", "theirs", "because of")


def explanation_table(entry: Mapping[str, Any], *, scale: ValueUnit = FRACTIONS) -> Group:
    """An explanation for a terminal: conventions, queries, reasons.

    Args:
        entry: what `Explanation.to_dict` returns, the JSON of `trueval explain`.
        scale: scale of the printed values.

    Returns:
        A renderable for a rich console of 80 columns or more.
    """
    conventions, queries = grid(HEADINGS, "Lrrrt"), grid(QUERY_HEADINGS, "LLrrt")
    for cells in _convention_cells(entry, scale):
        conventions.add_row(*map(Text, cells))
    for cells in _query_cells(entry, scale):
        queries.add_row(*map(Text, cells))
    title = f"{entry['measure']} of {entry['run']} under each convention"
    parts: list[RenderableType] = [Text(title, style="bold"), conventions]
    if entry["queries"]:
        parts += [Text(), Text("The queries that move most", style="bold"), queries]
    return Group(*parts, Text(), *map(Text, [*remarks(entry), *unit(scale)]))


def explanation_markdown(entry: Mapping[str, Any], *, scale: ValueUnit = FRACTIONS) -> str:
    """An explanation as Markdown tables and a list.

    Args:
        entry: what `Explanation.to_dict` returns.
        scale: scale of the printed values.
    """
    blocks = [pipes(HEADINGS, _convention_cells(entry, scale), words=len(HEADINGS))]
    if entry["queries"]:
        blocks.append(pipes(QUERY_HEADINGS, _query_cells(entry, scale), words=len(QUERY_HEADINGS)))
    blocks.append("".join(f"- {markdown(line)}\n" for line in [*remarks(entry), *unit(scale)]))
    return "\n".join(blocks)


def build(file: ResultFile, directory: Directory) -> Part:
    """The part of the page for one explanation.

    Args:
        file: the explanation.
        directory: unused; an explanation needs no other file.

    Returns:
        A table of the conventions, and what they say.
    """
    columns = (
        PageColumn("convention", "/convention"),
        PageColumn("value", "/value", numeric=True, show=format_value),
        PageColumn("difference", "/difference", numeric=True, show=format_difference),
        *(PageColumn(name, numeric=True) for name in ("lowest", "highest")),
        PageColumn("because of"),
    )
    rows = []
    for place, entry in enumerate(file.data["conventions"]):
        row = row_of(pointer("conventions", place), columns, entry, "", "", _reason(entry, FRACTIONS))
        # A convention without an estimate has no "lowest" and "highest", so these columns have no pointer.
        ends = (Cell(format_value(value), value) for value in (entry.get("lowest"), entry.get("highest")))
        rows.append(row._replace(cells=(*row.cells[:3], *ends, row.cells[5])))
    caption = (
        f"{file.data['measure']} of {file.data['run']} under each convention. "
        f"Ours is {format_value(file.data['ours']['expected'])}, the mean over all orders of tied documents.",
    )
    table = Table("explanation", caption, file.name, columns, tuple(rows), tuple(remarks(file.data)))
    return Part(blocks=(Block("conventions-compared", "What other tools would say", tables=(table,)),))


EXPLAIN = Kind(
    KIND,
    format=FORMAT_VERSION,
    order=30,
    text={"table": explanation_table, "json": to_json, "markdown": explanation_markdown},
    files={"explanation.json": "json", "explanation.md": "markdown"},
    page=build,
)


def remarks(entry: Mapping[str, Any]) -> list[str]:
    """Sentences below the tables: what our value is, and why a convention has none.

    Args:
        entry: what `Explanation.to_dict` returns.
    """
    lines = ["Ours is the mean over all orders of tied documents; the change is from there."]
    lines += [f"{row['convention']}: {row['why'].rstrip('.')}." for row in entry["conventions"] if row["why"]]
    if any(row["value"] is None and row["difference"] is not None for row in entry["conventions"]):
        lines.append("Where a value is not known, the change is that of the mean over all orders.")
    if any(len(row["causes"]) > 1 for row in entry["conventions"]):
        lines.append("Beside each of several causes is what it changes alone.")
    return lines


def _convention_cells(entry: Mapping[str, Any], scale: ValueUnit) -> Iterator[tuple[str, ...]]:
    ours = entry["ours"]
    yield "ours", format_value(ours["expected"], scale), "", interval(ours["lowest"], ours["highest"], scale), ""
    for row in entry["conventions"]:
        spread = interval(row.get("lowest"), row.get("highest"), scale)
        change = format_difference(row["difference"], scale)
        yield row["convention"], format_value(row["value"], scale), change, spread, _reason(row, scale)


def _query_cells(entry: Mapping[str, Any], scale: ValueUnit) -> Iterator[tuple[str, ...]]:
    for move in entry["queries"]:
        values = ("left out" if move[side] is None else format_value(move[side], scale) for side in ("ours", "theirs"))
        yield move["query"], move["convention"], *values, _because(move["causes"], scale)


def _reason(row: Mapping[str, Any], scale: ValueUnit) -> str:
    if row["causes"] or not row["why"]:
        return _because(row["causes"], scale)
    return "no such measure" if row["difference"] is None else "order of ties not known"


def _because(causes: Sequence[Mapping[str, Any]], scale: ValueUnit) -> str:
    if len(causes) == 1:
        return str(causes[0]["words"])
    return "; ".join(f"{each['words']} ({format_difference(each['alone'], scale)})" for each in causes)
