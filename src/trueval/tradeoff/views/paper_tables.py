"""P-B's tables for the systems of a sweep: terminal, Markdown, LaTeX and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.text import Text

from trueval.files.atomic_files import write_whole
from trueval.printable import printable
from trueval.report import formats
from trueval.report.formats import latex, markdown, pipes, tabular
from trueval.report.number_texts import FRACTIONS, ValueUnit, unit
from trueval.report.terminal import grid
from trueval.tradeoff.views.cost_tables import of_efficiency, of_latency, of_prices, of_scenarios, of_tokens
from trueval.tradeoff.views.paper_cells import MissingTable, PaperTable, csv_columns, format_cell, format_latex_cell
from trueval.tradeoff.views.pipelines import cost_of, measure_names, pipelines_of
from trueval.tradeoff.views.probes import of_probes
from trueval.tradeoff.views.quality_tables import (
    of_ceilings,
    of_depths,
    of_embedders,
    of_indexes,
    of_methods,
    of_pool_ceilings,
    of_top,
)

Entry = Mapping[str, Any]

COSTS: Final = ("rerank", "embed", "generator", "total")
PERCENTILES: Final = ("p50", "p95", "p99")
ENDS: Final = ("expected", "low", "high", "lowest", "highest")


def paper_tables(sweep: Entry) -> list[PaperTable | MissingTable]:
    """Every table of the paper that a sweep has data for, in the paper's order, and what the others lack.

    Args:
        sweep: the JSON of `trueval sweep`.
    """
    pipelines = pipelines_of(sweep)
    if not pipelines:
        return [
            MissingTable("Every table", "of the paper", "no configuration could be measured; see failed and left_out.")
        ]
    return [
        *of_prices(sweep, pipelines),
        *of_embedders(pipelines),
        *of_methods(pipelines),
        *of_ceilings(pipelines),
        *of_top(pipelines),
        *of_indexes(pipelines),
        *of_scenarios(sweep, pipelines),
        *of_efficiency(pipelines),
        *of_tokens(pipelines),
        *of_latency(pipelines),
        *of_depths(pipelines),
        *of_pool_ceilings(pipelines),
        *of_probes(sweep),
    ]


def legend(sweep: Entry) -> str:
    """What the brackets contain.

    Args:
        sweep: the JSON.
    """
    level = f"{100 * sweep['level']:g}"
    return (
        f"In brackets: {level} % intervals over queries (bootstrap); after the word ties the values that the order of "
        "equal scores allows, where these are not one."
    )


def terminal(sweep: Entry, *, scale: ValueUnit = FRACTIONS) -> Group:
    """All tables for the terminal, without intervals.

    Args:
        sweep: the JSON.
        scale: of measures.
    """
    return Group(*_render_tables(sweep, scale), *map(Text, unit(scale)))


def _render_tables(sweep: Entry, scale: ValueUnit) -> Iterator[RenderableType]:
    for table in paper_tables(sweep):
        if isinstance(table, MissingTable):
            yield Text(printable(str(table)), style="dim")
            continue
        yield Text(printable(table.caption), style="bold")
        shown = grid(table.head, "L" * table.words + "r" * (len(table.head) - table.words))
        for row in table.rows:
            shown.add_row(*(format_cell(cell, scale, uncertain=False) for cell in row))
        yield shown
        yield from (Text(printable(note), style="dim") for note in table.notes)
        yield Text()


def to_markdown(sweep: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """All tables in Markdown, each under its name.

    Args:
        sweep: the JSON.
        scale: of measures.
    """
    parts = [markdown_table(each, scale) for each in paper_tables(sweep)]
    return "\n".join([*parts, *(f"{markdown(line)}\n" for line in (legend(sweep), *unit(scale)))])


def markdown_table(table: PaperTable | MissingTable, scale: ValueUnit) -> str:
    """One table with its caption, or a line with the reason why it is missing.

    Args:
        table: any.
        scale: of measures.
    """
    if isinstance(table, MissingTable):
        return f"{markdown(str(table))}\n"
    rows = [[format_cell(cell, scale) for cell in row] for row in table.rows]
    notes = "".join(f"\n{markdown(note)}\n" for note in table.notes)
    return f"**{markdown(table.caption)}**\n\n{pipes(table.head, rows, words=table.words)}{notes}"


def to_latex(sweep: Entry, *, scale: ValueUnit = FRACTIONS) -> str:
    """All tables as LaTeX tabulars; they need the package booktabs.

    Args:
        sweep: the JSON.
        scale: of measures.
    """
    lines = [legend(sweep), *unit(scale)]
    return "\n".join([latex_table(each, scale, lines) for each in paper_tables(sweep)])


def latex_table(table: PaperTable | MissingTable, scale: ValueUnit, lines: list[str]) -> str:
    """One table with its caption as a comment, or a comment with the reason why it is missing.

    Args:
        table: any.
        scale: of measures.
        lines: further comments.
    """
    if isinstance(table, MissingTable):
        return f"% {printable(str(table))}\n"
    columns = "l" * table.words + "r" * (len(table.head) - table.words)
    rows = [[format_latex_cell(cell, scale) for cell in row] for row in table.rows]
    # A line feed in a name would end the comment.
    notes = map(printable, (table.caption, *table.notes, *lines))
    return tabular([*map(latex, table.head)], rows, columns, notes=notes)


def write_tables(sweep: Entry, folder: Path, *, scale: ValueUnit = FRACTIONS) -> list[Path]:
    """Write each table as CSV, Markdown and LaTeX files.

    Args:
        sweep: the JSON.
        folder: that exists.
        scale: of measures, but for CSV, which is in full precision.

    Returns:
        The files, such as table-1.csv; where several tables have one name, table-7-2.csv.
    """
    names: dict[str, int] = {}
    written_files = []
    for table in paper_tables(sweep):
        if isinstance(table, MissingTable):
            continue
        stem = table.name.lower().replace(" ", "-")
        names[stem] = names.get(stem, 0) + 1
        stem = stem if names[stem] == 1 else f"{stem}-{names[stem]}"
        texts = {
            "csv": formats.to_csv(*csv_columns(table)),
            "md": markdown_table(table, scale),
            "tex": latex_table(table, scale, [legend(sweep)]),
        }
        for end, text in texts.items():
            path = folder / f"{stem}.{end}"
            write_whole(path, lambda place, text=text: place.write_text(text, encoding="utf-8"))  # type: ignore[misc]
            written_files.append(path)
    return written_files


def to_csv(sweep: Entry) -> str:
    """One line per configuration, in full precision: settings, quality, ceiling, cost, latency, memory.

    Args:
        sweep: the JSON.
    """
    axes = [axis["key"] for axis in sweep["axes"] if axis["key"] not in ("method", "K")]
    fixed = _find_fixed_cutoff_measures(sweep)
    names = measure_names(pipelines_of(sweep))
    measures = list(dict.fromkeys(name if name in fixed else _family(name) for name in names))
    columns = [
        *("configuration", "system", "method", "K", *axes),
        *(f"{name} {end}" for name in measures for end in ENDS),
        *("quality", "PROC", "%PROC", "mean %PROC", "judged", "unjudged highest", "recall"),
        *(f"cost {part}" for part in COSTS),
        *(f"latency {name}" for name in PERCENTILES),
        *("bytes", "prompt tokens"),
    ]
    return formats.to_csv(columns, _csv_rows(sweep, fixed))


def _find_fixed_cutoff_measures(sweep: Entry) -> set[str]:
    """Measures with a fixed cutoff or none, such as nDCG@10 of a configuration with K = 5."""
    return {
        name
        for configuration in sweep["configurations"]
        for name in configuration["measures"]
        if not _is_at(name, configuration["K"])
    }


def _is_at(name: str, k: int) -> bool:
    return name.rpartition("@")[2] == str(k)


def _titles(name: str, k: int, fixed: set[str]) -> Iterator[str]:
    """The columns of a measure: where K is 10, nDCG@10 is also nDCG@K."""
    if name in fixed:
        yield name
    if _is_at(name, k):
        yield _family(name)


def _csv_rows(sweep: Entry, fixed: set[str]) -> Iterator[dict[str, Any]]:
    for configuration in sweep["configurations"]:
        system, ceiling = sweep["systems"][configuration["system"]], configuration["ceiling"] or {}
        measured = {
            f"{title} {end}": value.get(end)
            for name, value in configuration["measures"].items()
            for title in _titles(name, configuration["K"], fixed)
            for end in ENDS
        }
        latency = {f"latency {name}": value["value"] for name, value in _percentiles(system).items()}
        yield {
            **system["values"],
            **measured,
            **latency,
            **{f"cost {part}": cost_of(configuration, part) for part in COSTS},
            "configuration": configuration["name"],
            "system": system["name"],
            "method": system["method"],
            "K": configuration["K"],
            "quality": configuration["quality"],
            "PROC": ceiling.get("PROC"),
            "%PROC": ceiling.get("share"),
            "mean %PROC": ceiling.get("mean_share"),
            "judged": configuration["judged"],
            "unjudged highest": configuration["unjudged_highest"],
            "recall": (system["recall"] or {}).get("value"),
            "bytes": (system["memory"] or {}).get("measured"),
            "prompt tokens": configuration.get("prompt_tokens"),
        }


def _percentiles(system: Entry) -> dict[str, Entry]:
    return {name: (system["latency"] or {})[name] for name in PERCENTILES if name in (system["latency"] or {})}


def _family(name: str) -> str:
    """A measure without its cutoff, which the column K contains.

    >>> _family("RA-nWG@10")
    'RA-nWG'
    """
    return name.rpartition("@")[0] or name
