"""The page of power: what the queries can find, and how many a difference needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trueval.comparison.views.power import heading, legend, middle_pair, shown
from trueval.report.content import Block, Column, Number, Part, Table, Words, row_of
from trueval.report.directory import Directory, ResultFile, pointer
from trueval.report.text import fixed, signed

MOST = 8  # measures that the summary speaks of one by one


def build(file: ResultFile, directory: Directory) -> Part:
    """The part of the page for one result of `trueval power`.

    Args:
        file: the result.
        directory: not needed.
    """
    words = tuple((line,) for line in legend(file.data))
    block = Block("power", "What these queries can find", words=words, tables=(_table(file),))
    return Part(tuple(_summary(file)), (), (block,), (_choices(file),))


def _summary(file: ResultFile) -> Iterator[Words]:
    for at, found in list(enumerate(file.data["measures"]))[:MOST]:
        middle = middle_pair(shown(file.data, found))
        if middle is None:
            continue
        place = found["pairs"].index(middle)
        least = middle["expected"]["least_difference"]
        source = file.source("measures", at, "pairs", place, "expected", "least_difference")
        yield (
            f"{heading(found)}: a difference like that of {middle['first']} and {middle['second']} is found from ",
            Number(fixed(least), least, source),
            " on.",
        )


def _table(file: ResultFile) -> Table:
    columns = (
        Column("measure"),
        Column("first", "/first"),
        Column("second", "/second"),
        Column("difference", "/expected/difference", numeric=True, show=signed),
        Column("± queries", "/sampling/half_width", numeric=True, show=fixed),
        Column("± ties", "/ties/half_width", numeric=True, show=fixed),
        Column("share of ties", "/ties/share", numeric=True, show=fixed),
        Column("least, expected", "/expected/least_difference", numeric=True, show=fixed, strong=lambda _: True),
        Column("least, tie-broken", "/tie_broken/least_difference", numeric=True, show=fixed),
        Column("needed, expected", "/expected/queries_needed", numeric=True, show=_count),
        Column("needed, tie-broken", "/tie_broken/queries_needed", numeric=True, show=_count),
    )
    rows = tuple(
        row_of(pointer("measures", at, "pairs", place), columns, pair, found["measure"])
        for at, found in enumerate(file.data["measures"])
        for place, pair in enumerate(found["pairs"])
    )
    notes = tuple(file.data["notes"])
    return Table("power-table", ("Least differences and queries needed.",), file.name, columns, rows, notes)


def _count(value: int | None) -> str:
    return fixed(None) if value is None else f"{value:,}"


def _choices(file: ResultFile) -> Block:
    # The policy is that of the evaluation, whose page shows it.
    choices: dict[str, Any] = {name: each for name, each in file.data["choices"].items() if name != "policy"}
    columns = (Column("choice"), Column("value"))
    rows = tuple(row_of(pointer("choices", name), columns, choices, name, str(each)) for name, each in choices.items())
    table = Table("power-choices", ("The choices behind the power.",), file.name, columns, rows)
    return Block("power-conventions", "Conventions of the power", tables=(table,))
