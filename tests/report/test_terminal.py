"""Tables of a terminal: no number and no name is cut, whatever the width."""

import io
import re

import pytest
from rich.console import Console, Group
from rich.text import Text

from trueval.report.terminal import TerminalGrid, breadth, grid, shorten, shorten_apart

NAMES = [
    f"retriever-minilm-{dtype}-scored-{scores}-rerank" for dtype in ("bf16", "fp32") for scores in ("bf16", "fp32")
]
NUMBERS = ("0.7391", "[0.7313, 0.7469]", "0.0155", "+0.0076", "100/20/80")


def table(spare: tuple[str, ...] = ()) -> TerminalGrid:
    rows = grid(("run", "expected", "lowest, highest", "the range", "tie-broken bias", "w/t/l"), "LrrrrR", spare)
    for name in NAMES:
        rows.add_row(Text(name, style="bold"), *NUMBERS)
    return rows


def drawn(renderable: object, width: int) -> list[str]:
    console = Console(width=width, file=io.StringIO(), color_system=None, highlight=False)
    console.print(renderable, crop=False)
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [20, 30, 41, 45, 60, 61, 72, 80, 100, 140])
def test_no_number_and_no_name_is_cut_or_split(width: int) -> None:
    """Numbers with slashes go on after one, and names where the terminal is narrower than they are."""
    lines = drawn(table(), width)
    text = "\n".join(lines)
    for number in NUMBERS[:-1]:
        assert text.count(number) == len(NAMES)
    assert re.sub(r"\s", "", "".join(line[line.rfind(" ") :] for line in lines)).count("100/") == len(NAMES)
    for name in NAMES:
        assert name in (text if width >= len(name) else text.replace("\n", ""))
    assert "…" not in text


@pytest.mark.parametrize("width", [20, 30, 41, 45, 60, 72, 80, 100])
def test_a_table_fits(width: int) -> None:
    assert max(map(len, drawn(table(), width))) <= width


def test_names_stand_above_their_numbers_where_both_do_not_fit() -> None:
    lines = drawn(table(), 60)
    at = lines.index(NAMES[0])
    assert lines[at + 1].split() == ["0.7391", "[0.7313,", "0.7469]", "0.0155", "+0.0076", "100/20/80"]
    assert lines[at + 2] == NAMES[1]


def test_headings_stand_before_cells_where_no_table_fits() -> None:
    lines = drawn(table(), 30)
    at = next(place for place, line in enumerate(lines) if line.startswith("  expected"))
    assert [line.rstrip() for line in lines[at : at + 5]] == [
        *("  expected: 0.7391", "  lowest, highest:", "    [0.7313, 0.7469]"),
        *("  the range: 0.0155", "  tie-broken bias: +0.0076"),
    ]


def test_several_names_of_a_row_stand_above_it() -> None:
    rows = grid(("first", "second", "overlap"), "LLr")
    rows.add_row("one-of-two-long-names", "the-other-of-two-long-names", "0.5000")
    rows.add_row("only one", "")
    assert drawn(rows, 52) == [
        *("first  second", "  overlap", "one-of-two-long-names  the-other-of-two-long-names", "   0.5000", "only one"),
    ]


def test_wide_tables_are_whole() -> None:
    lines = drawn(table(), table().breadth)
    assert lines[0].split() == ["run", "expected", "lowest,", "highest", "the", "range", "tie-broken", "bias", "w/t/l"]
    assert [line.split()[0] for line in lines[1:]] == NAMES
    assert breadth(Group(Text("x" * 500), table(), Group(table()))) == table().breadth
    assert breadth(Text("x" * 500)) == 0


def test_columns_that_follow_from_others_are_left_out_and_said() -> None:
    narrow, wide = (drawn(table(("the range", "tie-broken bias")), width) for width in (45, 120))
    assert "0.0155" not in "\n".join(narrow)
    assert any(line.startswith("No room for the range") for line in narrow)
    assert "0.0155" in "\n".join(wide)
    assert not any("No room" in line for line in wide)


def test_headings_of_two_lines_that_are_left_out_are_named_on_one() -> None:
    rows = TerminalGrid(["run", "between\nruns"], "lr", spare=["between\nruns"])
    rows.add_row("x" * 58, "0.1234")
    assert any(line.startswith("No room for between runs: widen") for line in drawn(rows, 60))


def test_texts_go_on_in_the_next_line_between_words() -> None:
    rows = grid(("tool", "why"), "Lt")
    rows.add_row("trec_eval", "document id descending by bytes, as trec_eval has it")
    lines = drawn(rows, 40)
    assert max(map(len, lines)) <= 40
    assert " ".join(" ".join(line.split()[line.startswith("trec_eval") :]) for line in lines[1:]) == (
        "document id descending by bytes, as trec_eval has it"
    )


def test_names_that_differ_still_differ_when_they_are_short() -> None:
    for width in (8, 12, 20):
        assert (
            len(set(shorten_apart(["one-very-long-name-a-with-an-end", "one-very-long-name-b-with-an-end"], 25))) == 2
        )
        for name in shorten_apart(NAMES, width):
            assert len(name) == width
    assert shorten("検索検索検索検索", 9) == "検索…検索"  # letters two characters wide
