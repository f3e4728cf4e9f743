"""A view is declared once: every format shows the same values, and the page knows where each of them is."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from tests.report.results import places_of

from trueval.report.kinds import kind_of_view
from trueval.report.number_texts import POINTS
from trueval.report.result import Result
from trueval.report.result_directory import ResultFile
from trueval.report.terminal import render_text
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, INTERVAL, MARKS, NAME, interval_of, number, unscaled_unit
from trueval.report.view import (
    Answer,
    Case,
    Column,
    Mark,
    Quantity,
    Section,
    SentenceDifference,
    Sheet,
    View,
    columns_of,
    policy_section,
)
from trueval.report.view_page import block_of, part_of
from trueval.report.view_texts import as_answer, as_csv, as_html, as_latex, as_markdown, in_terminal


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
        Column("", lambda row: "" if row.score.low is None else "*", MARKS, only="text"),
    ]
    pairs: list[Column[Pair]] = [
        Column("first", lambda row: row.one.score.value, FRACTION),
        Column("second", lambda row: row.other.score.value, FRACTION),
    ]
    return View(
        "Race",
        Answer(
            (f"{best.name} wins: ", Quantity(best.score, "value"), "."),
            question="Who wins?",
            sure="It is sure.",
            next="trueval race --again",
        ),
        [
            Section("The race", [Sheet("Entrants", race.entrants, columns)], "Words."),
            Section("Pairs", [Sheet("Pairs", [Pair(best, other)], pairs, only="page")]),
        ],
        Sheet("", race.entrants, columns_of("name", "score.value", "score.low")),
        findings=["Nothing else is known."],
        marks=[Mark("*", "known"), Mark("+", "never seen")],
        legend=["gain: of something."],
    )


def test_a_terminal_has_the_answer_then_the_tables_then_what_occurs_in_them() -> None:
    lines = render_text(in_terminal(view(RACE))).splitlines()
    assert lines == [
        "a|b wins: 0.5123.",
        "It is sure.",
        "Next: trueval race --again",
        "",
        "Entrants",
        "                 quad-",
        "                 ratic",
        "entrant    gain  score         interval queries",
        "a|b     +0.2500 0.5123 [0.4000, 0.6000]       2 *",
        "c_d     -0.5000 0.2500                –       0",
        "",
        "Nothing else is known.",
        "* known",
    ]
    assert render_text(in_terminal(view(RACE), legend=True)).splitlines() == [*lines, "gain: of something."]


def test_an_answer_alone_is_what_a_terminal_begins_with() -> None:
    assert as_answer(view(RACE)).splitlines() == render_text(in_terminal(view(RACE))).splitlines()[:3]


def test_percent_is_a_unit_of_values_and_not_of_counts() -> None:
    lines = render_text(in_terminal(view(RACE), POINTS)).splitlines()
    assert lines[8] == "a|b     +25.00 51.23 [40.00, 60.00]       2 *"
    assert lines[-1] == "Values in points: 100 times those of the JSON."


def test_markdown_and_latex_escape_names_and_join_headings() -> None:
    markdown = as_markdown(view(RACE)).splitlines()
    assert markdown[:7:2] == ["### Who wins?", r"**a\|b wins: 0.5123.**", "It is sure.", "Next: `trueval race --again`"]
    assert r"| a\|b | +0.2500 | 0.5123 | [0.4000, 0.6000] | 2 | \* |" in markdown
    assert "| entrant | gain | quadratic score | interval | queries |  |" in markdown
    latex = as_latex(view(RACE)).splitlines()
    assert "% a|b wins: 0.5123." in latex
    assert r"\caption{Entrants}" in latex
    assert r"c\_d & -0.5000 & 0.2500 & -- & 0 &  \\" in latex


def test_a_notebook_has_answer_tables_and_sentences_escaped() -> None:
    first, second = RACE.entrants
    html = as_html(view(Race((replace(first, name="<b>"), second))))
    assert "<p><b>&lt;b&gt; wins: 0.5123.</b></p>" in html
    assert "<b>&lt;b&gt;</b>" not in html
    assert html.count("<table") == 1
    assert "[0.4000, 0.6000]" in html
    assert "<p>Nothing else is known.</p>" in html


def test_a_policy_is_shown_with_its_meaning_and_without_a_place() -> None:
    section = policy_section({"rel": 2.0, "of_the_future": None})
    shown = View("Race", Answer("None."), [section], Sheet("", (), []))
    (block,) = part_of(shown, ResultFile("race.json", "race", RACE.to_dict()), RACE).closing
    first, second = block.tables[0].rows
    assert [cell.text for cell in first.cells][:2] == ["rel", "2"]
    assert [cell.text for cell in second.cells] == ["of the future", "none", ""]


def test_csv_has_every_digit_under_names() -> None:
    assert as_csv(view(RACE)) == "name,value,low\na|b,0.51234,0.4\nc_d,0.25,\n"


def test_the_page_knows_where_every_value_is() -> None:
    """By the attributes that columns read; where they compute, no place is claimed."""
    data = json.loads(json.dumps(RACE.to_dict()))
    race = Race.from_dict(data)
    part = part_of(view(race), ResultFile("race.json", "race", data), race)
    assert (part.title, part.answer.question, part.answer.next) == ("Race", "Who wins?", "trueval race --again")
    assert [getattr(each, "source", each) for each in part.answer.sentence] == [
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
    assert places_of(pairs) == [["/entrants/0/score/value", "/entrants/1/score/value"]]


def test_rows_of_several_parts_say_once_where_most_of_them_is() -> None:
    """A page of hundreds of configurations carried the whole place of each of their cells."""
    data = json.loads(json.dumps(RACE.to_dict()))
    race = Race.from_dict(data)
    best, other = race.entrants
    rows = [Pair(best, other), Pair(other, best)]
    columns: list[Column[Pair]] = [
        Column("name", lambda row: row.one.name),
        Column("score", lambda row: row.one.score.value, FRACTION),
        Column("against", lambda row: row.other.name),
        Column("lead", lambda row: row.one.score.value - row.other.score.value, DIFFERENCE),
    ]
    declared = View("", Answer(""), [Section("", [Sheet("Pairs", rows, columns)])], Sheet("", [], []))
    (block,) = part_of(declared, ResultFile("race.json", "race", data), race).blocks
    (table,) = block.tables
    assert [row.source for row in table.rows] == ["/entrants/0", "/entrants/1"]
    assert [column.field for column in table.columns] == ["/name", "/score/value", "", ""]
    assert [[cell.source for cell in row.cells] for row in table.rows] == [
        ["", "", "/entrants/1/name", ""],
        ["", "", "/entrants/0/name", ""],
    ]


def test_what_is_for_documents_is_long_for_a_terminal() -> None:
    long = Sheet("Every lap", RACE.entrants, columns_of("name", "score.value"), only="document")
    shown = replace(view(RACE), sections=[Section("Laps", [long])])
    assert "Every lap" in as_markdown(shown)
    assert "Every lap" in as_latex(shown)
    assert "Every lap" not in as_html(shown) + render_text(in_terminal(shown))
    page = part_of(shown, ResultFile("race.json", "race", RACE.to_dict()), RACE)
    assert [table.caption for block in page.blocks for table in block.tables] == [("Every lap.",)]


def test_a_sheet_without_rows_has_its_headings() -> None:
    race = Race(())
    columns: list[Column[Entrant]] = [
        Column("entrant", lambda row: row.name),
        Column("q", lambda row: row.queries, COUNT),
    ]
    section = Section("The race", [Sheet("Entrants", (), columns)], cases=[Case("A case", ["Words."])])
    shown = View("Race", Answer("None."), [section], Sheet("", (), []))
    (block,) = part_of(shown, ResultFile("race.json", "race", race.to_dict()), race).blocks
    assert [column.title for column in block.tables[0].columns] == ["entrant", "q"]
    assert (block.id, block.tables[0].id, block.cases[0].words) == ("the-race", "entrants-table", (("Words.",),))
    assert "| entrant | q |" in as_markdown(shown)


def test_units_of_their_own_keep_their_sign_at_both_ends() -> None:
    grades = interval_of(unscaled_unit(lambda value: f"{value:+.1f}"))
    assert grades.write(Span(0.0, -0.5, 1.0), POINTS) == "[-0.5, +1.0]"
    assert grades.plain(Span(0.0, None, 1.0)) == grades.plain(None) == "–"


def test_a_section_of_another_file_names_its_rows_there() -> None:
    columns: list[Column[Entrant]] = [
        Column("entrant", lambda row: row.name),
        Column("score", lambda row: row.score.value),
    ]
    section = Section("Every entrant", [Sheet("Entrants", RACE.entrants, columns)])
    (table,) = block_of(section, ResultFile("entrants.jsonl", "race", {}), RACE.entrants).tables
    assert table.file == "entrants.jsonl"
    assert [row.source for row in table.rows] == ["/0", "/1"]
    assert table.columns[1].field == "/score/value"


def test_a_difference_names_both_of_its_numbers() -> None:
    best, other = RACE.entrants
    ahead = SentenceDifference(Quantity(best.score, "value"), Quantity(other.score, "value"))
    unknown = ahead._replace(first=Quantity(other.score, "low"))
    shown = replace(view(RACE), answer=Answer(("ahead by ", ahead)), findings=[(unknown, " known")])
    assert "ahead by +0.2623" in as_markdown(shown)
    assert "ahead by +26.23" in as_markdown(shown, POINTS)
    assert "- – known" in as_markdown(shown)  # one of the two is not there
    part = part_of(shown, ResultFile("race.json", "race", RACE.to_dict()), RACE)
    number = part.answer.sentence[1]
    assert not isinstance(number, str)
    assert number.value == 0.51234 - 0.25
    assert number.source == "race.json#/entrants/0/score/value - race.json#/entrants/1/score/value"
    assert part.said[0][0] == "–"


def test_a_terminal_has_the_groups_of_a_sheet_as_lines_and_other_formats_as_a_column() -> None:
    columns: list[Column[Pair]] = [
        Column("one", lambda row: row.one.name, NAME),
        Column("other", lambda row: row.other.name, NAME),
        Column("score", lambda row: row.other.score.value, FRACTION),
    ]
    best, other = RACE.entrants
    rows = [Pair(best, best), Pair(best, other), Pair(other, best)]
    shown = replace(view(RACE), sections=[Section("Pairs", [Sheet("Pairs", rows, columns, grouped=True)])])
    lines = [line.split() for line in render_text(in_terminal(shown)).splitlines()]
    first = lines.index(["other", "score"])
    assert lines[first + 1 : first + 6] == [["a|b"], ["a|b", "0.5123"], ["c_d", "0.2500"], ["c_d"], ["a|b", "0.5123"]]
    assert "| a\\|b | c_d | 0.2500 |" in as_markdown(shown)


def test_the_footer_ends_every_text() -> None:
    shown = replace(view(RACE), footer=["policy: fair"])
    assert render_text(in_terminal(shown)).endswith("\npolicy: fair")
    assert as_markdown(shown, POINTS).endswith("\n- policy: fair\n")
    assert "% policy: fair\n" in as_latex(shown)


@dataclass(frozen=True)
class Pairing:
    gain: float
    span: Span
    wins: int
    losses: int


class Duel(NamedTuple):
    """A pair as it is shown."""

    gain: float
    span: Span
    wins: int
    losses: int
    of: Pairing


@dataclass(frozen=True, repr=False)
class Duels(Result):
    KIND: ClassVar = "duels"
    FORMAT: ClassVar = 1
    pairs: tuple[Pairing, ...]


def test_a_pair_that_is_turned_names_where_its_values_are_with_their_sign() -> None:
    """In a table by the field of turned rows, an interval by its other end; in a sentence by the place itself."""
    duels = Duels((Pairing(-0.5, Span(-0.5, -0.75, 0.25), 1, 3), Pairing(0.25, Span(0.25, 0.0, 0.5), 4, 2)))
    one, two = duels.pairs
    rows = [
        Duel(0.5, Span(0.5, -0.25, 0.75), 3, 1, one),
        Duel(two.gain, two.span, two.wins, two.losses, two),
    ]
    columns: list[Column[Duel]] = [
        Column("gain", lambda row: row.gain, DIFFERENCE, turned="-"),
        Column("interval", lambda row: row.span, interval_of(DIFFERENCE), turned="-"),
        Column("wins", lambda row: row.wins, COUNT, turned="/losses"),
    ]
    sheet = Sheet("Duels", rows, columns, part=lambda row: row.of, turned=lambda row: row.wins != row.of.wins)
    span = interval_of(DIFFERENCE)
    words = (Quantity(one, "gain", DIFFERENCE, turned=True), " ", Quantity(one, "span", span, turned=True))
    shown = View("Duels", Answer(words), [Section("Duels", [sheet])], Sheet("", (), []))
    data = json.loads(json.dumps(duels.to_dict()))
    part = part_of(shown, ResultFile("duels.json", "duels", data), duels)
    (table,) = part.blocks[0].tables
    assert [(each.title, each.field, each.turned) for each in table.columns] == [
        ("gain", "/gain", "-/gain"),
        ("low", "/span/low", "-/span/high"),
        ("high", "/span/high", "-/span/low"),
        ("wins", "/wins", "/losses"),
    ]
    assert [(row.source, row.turned) for row in table.rows] == [("/pairs/0", True), ("/pairs/1", False)]
    assert [cell.value for cell in table.rows[0].cells] == [0.5, -0.25, 0.75, 3]
    numbers = [each for each in part.answer.sentence if not isinstance(each, str)]
    assert [(each.text, each.value, each.source) for each in numbers] == [
        ("+0.5000", 0.5, "duels.json#-/pairs/0/gain"),
        ("-0.2500", -0.25, "duels.json#-/pairs/0/span/high"),
        ("+0.7500", 0.75, "duels.json#-/pairs/0/span/low"),
    ]
    assert render_text(in_terminal(shown)).splitlines()[0] == "+0.5000 [-0.2500, +0.7500]"


def test_an_interval_that_is_a_list_in_json_has_the_place_of_each_end() -> None:
    class Ends(NamedTuple):
        low: float
        high: float

    @dataclass(frozen=True, repr=False)
    class Bounded(Result):
        KIND: ClassVar = "bounded"
        FORMAT: ClassVar = 1
        ends: Ends

    result = Bounded(Ends(0.25, 0.5))
    columns: list[Column[Bounded]] = [Column("ends", lambda row: row.ends, INTERVAL)]
    section = Section("Bounded", [Sheet("Bounded", [result], columns)])
    shown = View("Bounded", Answer((Quantity(result, "ends", INTERVAL), ".")), [section], Sheet("", (), []))
    part = part_of(shown, ResultFile("bounded.json", "bounded", result.to_dict()), result)
    assert [column.field for column in part.blocks[0].tables[0].columns] == ["/ends/0", "/ends/1"]
    assert [getattr(each, "source", each) for each in part.answer.sentence] == [
        "[",
        "bounded.json#/ends/0",
        ", ",
        "bounded.json#/ends/1",
        "]",
        ".",
    ]


def read_race(race: Race, *, few: bool = False) -> View:
    return replace(view(race), findings=["Few."] if few else ["All."])


def test_a_view_may_take_an_option_of_its_command() -> None:
    kind = kind_of_view(
        "race", f"{__name__}:Race", f"{__name__}:read_race", format=1, order=1, stem="r", options=["few"]
    )
    assert "- Few." in kind.write(RACE.to_dict(), "markdown", few=True)
    assert "- All." in kind.write(RACE.to_dict(), "markdown")
    assert kind.write(RACE.to_dict(), "csv", few=True) == as_csv(view(RACE))
