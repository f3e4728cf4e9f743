"""A kind of another package, as docs/report.md shows it: what each run used, beside what it found."""

from __future__ import annotations

from trueval.report.formats import to_json
from trueval.report.kinds import Kind
from trueval.report.page_content import Block, Number, PageCell, PageColumn, PageTable, Part, Row
from trueval.report.result_directory import Directory, ResultFile, pointer


def build(file: ResultFile, directory: Directory) -> Part:
    runs = file.data["runs"]
    rows = tuple(
        Row(pointer("runs", index), (PageCell(run["name"], run["name"]), PageCell(f"{run['joules']:g}", run["joules"])))
        for index, run in enumerate(runs)
    )
    columns = (PageColumn("run", "/name"), PageColumn("joules", "/joules", numeric=True))
    table = PageTable("energy-table", ("What each run used.",), file.name, columns, rows)
    first = Number(f"{runs[0]['joules']:g}", runs[0]["joules"], file.source("runs", 0, "joules"))
    return Part(
        said=(("The first run used ", first, " joules."),), blocks=(Block("energy", "Energy", tables=(table,)),)
    )


ENERGY = Kind("energy", format=1, order=50, text={"json": to_json}, files={"energy.json": "json"}, page=build)
