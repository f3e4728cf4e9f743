"""A view is declared once: every format shows the same values, and the page knows where each of them is."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from trueval.report.number_texts import POINTS
from trueval.report.result import Result
from trueval.report.result_directory import ResultFile
from trueval.report.terminal import render_text
from trueval.report.view import (
    COUNT,
    DIFFERENCE,
    FRACTION,
    INTERVAL,
    NAME,
    Column,
    Quantity,
    Section,
    Sheet,
    View,
    columns_of,
    interval_of,
    number,
    unscaled,
)


@dataclass(frozen=True)
class Span:
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Entrant:
    name: str
    score: Span
    gains: dict[str, float]
    queries: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Race(Result):
    KIND: ClassVar = "race"
    FORMAT: ClassVar = 1
    entrants: tuple[Entrant, ...]


class Pair(NamedTuple):
    one: Entrant
    other: Entrant


RACE = Race(
    (
        Entrant("a|b", Span(0.51234, 0.4, 0.6), {"R(rel=2)@10": 0.25}, ("q1", "q2")),
        Entrant("c_d", Span(0.25, None, None), {"R(rel=2)@10": -0.5}, ()),
    )
)


def view(race: Race) -> View:
    best, other = race.entrants
    columns: list[Column[Entrant]] = [
        Column("entrant", lambda row: row.name, NAME),
        Column("gain", lambda row: row.gains["R(rel=2)@10"], DIFFERENCE, strong=lambda value: value > 0),
        Column("quad-\nratic\nscore", lambda row: row.score.value, FRACTION),
        Column("interval", lambda row: row.score, INTERVAL, leaves=1, ends=("least", "most")),
        Column("queries", lambda row: row.queries, COUNT, leaves=2),
        Column("double", lambda row: 2 * row.score.value, number(".1f"), only="page"),
        Column("note", lambda row: "" if row.score.low is None else "known", only="text"),
    ]
    pairs: list[Column[Pair]] = [
        Column("first", lambda row: row.one.score.value, FRACTION),
        Column("second", lambda row: row.other.score.value, FRACTION),
    ]
    return View(
        answer=(f"{best.name} wins: ", Quantity(best.score, "value"), "."),
        findings=["Nothing else is known."],
        sections=[
            Section("race", "The race", [Sheet("Entrants", race.entrants, columns, "race-table")], "Words."),
            Section("pairs", "Pairs", [Sheet("Pairs", [Pair(best, other)], pairs, "pair-table", only="page")]),
        ],
        legend=["gain: of something."],
        csv=Sheet("", race.entrants, columns_of("name", "score.value", "score.low")),
    )


def test_a_terminal_has_the_answer_then_the_tables_then_the_sentences() -> None:
    assert render_text(view(RACE).table()).splitlines() == [
        "a|b wins: 0.5123.",
        "",
        "Entrants",
        "                 quad-",
        "                 ratic",
        "entrant    gain  score         interval queries note",
        "a|b     +0.2500 0.5123 [0.4000, 0.6000]       2 known",
        "c_d     -0.5000 0.2500                –       0",
        "",
        "Nothing else is known.",
        "gain: of something.",
    ]


def test_percent_is_a_unit_of_values_and_not_of_counts() -> None:
    lines = render_text(view(RACE).table(POINTS)).splitlines()
    assert lines[6] == "a|b     +25.00 51.23 [40.00, 60.00]       2 known"
    assert lines[-1] == "Values in points: 100 times those of the JSON."


def test_markdown_and_latex_escape_names_and_join_headings() -> None:
    markdown = view(RACE).to_markdown().splitlines()
    assert markdown[0] == r"**a\|b wins: 0.5123.**"
    assert r"| a\|b | +0.2500 | 0.5123 | [0.4000, 0.6000] | 2 | known |" in markdown
    assert "| entrant | gain | quadratic score | interval | queries | note |" in markdown
    latex = view(RACE).to_latex().splitlines()
    assert "% a|b wins: 0.5123." in latex
    assert r"c\_d & -0.5000 & 0.2500 & -- & 0 &  \\" in latex


def test_csv_has_every_digit_under_names() -> None:
    assert view(RACE).to_csv() == "name,value,low\na|b,0.51234,0.4\nc_d,0.25,\n"


def test_the_page_knows_where_every_value_is() -> None:
    """By the attributes that columns read; where they compute, no place is claimed."""
    data = json.loads(json.dumps(RACE.to_dict()))
    race = Race.from_dict(data)
    part = view(race).to_part(ResultFile("race.json", "race", data), race)
    assert [getattr(each, "source", each) for each in part.verdict] == [
        "a|b wins: ",
        "race.json#/entrants/0/score/value",
        ".",
    ]
    (table,), (pairs,) = (block.tables for block in part.blocks)
    assert {column.title: column.field for column in table.columns} == {
        "entrant": "/name",
        "gain": "/gains/R(rel=2)@10",
        "quadratic score": "/score/value",
        "least": "/score/low",
        "most": "/score/high",
        "queries": "/queries",
        "double": "",
    }
    assert [row.source for row in table.rows] == ["/entrants/0", "/entrants/1"]
    assert [cell.text for cell in table.rows[0].cells] == ["a|b", "+0.2500", "0.5123", "0.4000", "0.6000", "2", "1.0"]
    assert [cell.text for cell in table.rows[1].cells][3:5] == ["–", "–"]
    assert [row.cells[1].strong for row in table.rows] == [True, False]
    assert [cell.source for cell in pairs.rows[0].cells] == ["/entrants/0/score/value", "/entrants/1/score/value"]


def test_a_sheet_without_rows_has_its_headings() -> None:
    race = Race(())
    columns: list[Column[Entrant]] = [
        Column("entrant", lambda row: row.name),
        Column("q", lambda row: row.queries, COUNT),
    ]
    shown = View(
        ("None.",), [], [Section("race", "The race", [Sheet("Entrants", (), columns, "t")])], [], Sheet("", (), [])
    )
    (block,) = shown.to_part(ResultFile("race.json", "race", race.to_dict()), race).blocks
    assert [column.title for column in block.tables[0].columns] == ["entrant", "q"]
    assert "| entrant | q |" in shown.to_markdown()


def test_units_of_their_own_keep_their_sign_at_both_ends() -> None:
    grades = interval_of(unscaled(lambda value: f"{value:+.1f}"))
    assert grades.write(Span(0.0, -0.5, 1.0), POINTS) == "[-0.5, +1.0]"
    assert grades.plain(Span(0.0, None, 1.0)) == grades.plain(None) == "–"
