"""The page of a cut: which queries, how wide, what it costs, what to change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from trueval.report.figures import NARROW
from trueval.report.number_texts import format_value
from trueval.report.page_content import Block, Figure, Number, PageColumn, Part, Table, Words, counts, row_of, rows_of
from trueval.report.plots import TieInterval, dot_plot, row_height
from trueval.report.result_directory import Directory, ResultFile, pointer
from trueval.report.tie_sizes import tie_figure, tie_histogram
from trueval.retrieval.views.cuts import widest
from trueval.retrieval.views.cuts_sentences import (
    DIFFERS,
    QuotedNumber,
    Said,
    advice,
    quotable_sentence,
    sentences,
    value_at,
)

MOST: Final = 40  # queries that the open table lists
DRAWN: Final = 20  # queries that the plot shows
ENDS: Final = ("lowest", "highest")
FEW: Final = 5  # groups of which the sizes are no distribution


def build(file: ResultFile, directory: Directory) -> Part:
    """The part of the page for one result of `trueval cuts`.

    Args:
        file: the result.
        directory: unused.
    """
    data = file.data
    blocks = [_costs(file)] if data["measures"] else []
    if data["stages"]:
        blocks.append(_propagation_block(file))
    if data["cuts"]:
        blocks.append(_queries(file))
    return Part(
        verdict=_words(quotable_sentence(data), file),
        summary=tuple(_words(line, file) for line in sentences(data)),
        findings=tuple((line,) for line in data["notes"]),
        advice=tuple(_words(line, file) for line in advice(data)),
        blocks=tuple(blocks),
        closing=(_about(data),),
    )


def _words(said: Said, file: ResultFile) -> Words:
    """A sentence whose numbers name their source."""
    return tuple(
        Number(part.text, value_at(file.data, part.keys), file.source(*part.keys))
        if isinstance(part, QuotedNumber)
        else part
        for part in said
    )


def _costs(file: ResultFile) -> Block:
    values = file.data["measures"]
    columns = (
        PageColumn("measure"),
        *(
            PageColumn(name, f"/{name}", numeric=True, show=format_value, strong=_always if name == "range" else _never)
            for name in ("expected", "lowest", "highest", "range")
        ),
        PageColumn("range by the cut", "/cut/range", numeric=True, show=format_value),
        PageColumn("range by ties above it", "/inside/range", numeric=True, show=format_value),
        *(
            PageColumn(f"{end} call", f"/calls_{end}", numeric=True, show=format_value)
            for end in ENDS * bool(file.data["calls"])
        ),
    )
    rows = tuple(row_of(f"/measures{pointer(name)}", columns, value, name) for name, value in values.items())
    seen = ", and in the calls as they came" if file.data["calls"] else ""
    caption = (f"What each measure can be: over every choice among equal scores{seen}.",)
    notes = (
        "Measures of ranks, as nDCG, also depend on the order of equal scores above the cut; sets, as recall, on the "
        "cut alone.",
    )
    return Block(
        "cut-costs", "What it costs", tables=(Table("cut-measures", caption, file.name, columns, rows, notes),)
    )


def _propagation_block(file: ResultFile) -> Block:
    stages = file.data["stages"]
    columns = (
        PageColumn("ties of", "/name"),
        counts("depth", "/depth"),
        counts("cut there", "/cut"),
        counts("contexts changed", "/changed"),
        PageColumn("share replaced", "/replaced", numeric=True, show=format_value, strong=lambda _: True),
        *(
            PageColumn(f"{measure} {end}", f"/measures/{measure}/{end}", numeric=True, show=format_value)
            for measure in stages["measures"][:1]
            for end in ("lowest", "highest")
        ),
    )
    rows = rows_of(file, columns, "stages", "stages")
    caption = ("How far the ties of each stage travel: to which contexts at the end of the pipeline.",)
    notes = (
        f"Orders of equal scores: all of them where a query has up to {stages['draws']}, else {stages['draws']} drawn "
        f"at random (seed {stages['seed']}); lowest and highest are means over queries of the ends of these.",
    )
    return Block(
        "cut-travel", "How far it travels", tables=(Table("cut-stages", caption, file.name, columns, rows, notes),)
    )


def _queries(file: ResultFile) -> Block:
    data, order = file.data, widest(file.data)
    measure = next(iter(data["measures"]), None)
    why = (PageColumn("why they tie", "/cause"),) if data["causes"] else ()
    calls = (counts("contexts seen", "/calls/contexts"),) if data["calls"] else ()
    ends = [] if measure is None else ["lowest", "expected", "highest"]
    columns = (
        PageColumn("query", "/query"),
        PageColumn("above", "/above", numeric=True, show=lambda value: f"{value:,}"),
        PageColumn("group", "/group", numeric=True, show=lambda value: f"{value:,}"),
        PageColumn("of these enter", "/slots", numeric=True, show=lambda value: f"{value:,}"),
        PageColumn("chance", "/chance", numeric=True, show=format_value),
        PageColumn("possible contexts", "/contexts", numeric=True, show=_contexts),
        *calls,
        *why,
        *(
            PageColumn(f"{measure} {end}", f"/measures/{measure}/cut/{end}", numeric=True, show=format_value)
            for end in ends
        ),
    )

    def table(name: str, caption: str, places: list[int], *, folded: bool = False) -> Table:
        rows = tuple(row_of(f"/cuts/{at}", columns, data["cuts"][at]) for at in places)
        return Table(name, (caption,), file.name, columns, rows, folded=folded)

    tables = [
        table("cut-queries", "Queries whose cut falls inside a group, those that matter most first.", order[:MOST])
    ]
    if len(order) > MOST:
        tables.append(table("cut-others", f"{len(order) - MOST:,} more queries.", order[MOST:], folded=True))
    return Block("cut-by-query", "Which queries", figures=tuple(_figures(data, order, measure)), tables=tuple(tables))


def _figures(data: Mapping[str, Any], order: list[int], measure: str | None) -> Iterator[Figure]:
    if measure is not None:
        dots = [
            TieInterval(data["cuts"][at]["query"], value["expected"], value["lowest"], value["highest"], None)
            for at in order[:DRAWN]
            if (value := data["cuts"][at]["measures"].get(measure, {}).get("cut"))
            and value["expected"] is not None
            and value["highest"] - value["lowest"] > DIFFERS
        ]
        if dots:
            told = (
                f"{measure} of the queries that the choice at the cut moves most: expected value, and what it allows."
            )
            plot = dot_plot(dots, width=NARROW, row=row_height(len(dots)))
            yield Figure("cut-ranges", f"{measure} of the widest queries", told, plot, key=KEY)
    if len(data["cuts"]) < FEW:
        return
    sizes = tie_histogram(
        np.array([cut["group"] for cut in data["cuts"] if cut["slots"] < cut["group"]], dtype=np.int64)
    )
    told = "How many documents have the score at the cutoff."
    if len(sizes) < 3:  # all of them pairs, which the table shows
        return
    figure = tie_figure("cut-sizes", told, {data["name"]: sizes})
    if figure is not None:
        yield figure


KEY: Final = (("dot", "expected"), ("bar", "what the choice among equal scores at the cut allows"))


def _about(data: Mapping[str, Any]) -> Block:
    facts = [(name, (str(value),)) for name, value in data["about"].items() if isinstance(value, str | int | float)]
    policy = data["policy"] or {}
    precision = policy.get("tie_precision")
    equal = ("equal scores", (f"equal in {precision}" if precision else "equal as they came",))
    return Block(
        "cut-about",
        "What was searched",
        facts=(("context", (f"{data['k']} documents",)), equal, *facts),
        place="details",
    )


def _always(_: Any) -> bool:
    return True


def _never(_: Any) -> bool:
    return False


def _contexts(number: int | None) -> str:
    return "over 2^53" if number is None else f"{number:,}"
