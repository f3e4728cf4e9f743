"""What is printed cannot lie: ids and names of others move no cursor, end no line, start no formula."""

import csv
import io
import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import trueval
from trueval.comparison.views.kind import COMPARE
from trueval.errors import InputError, MeasureError, Place, PolicyError, TruevalError, TruevalWarning
from trueval.evaluation.scores import results
from trueval.evaluation.views.kind import EVALUATE
from trueval.printable import printable, printable_all, printable_message
from trueval.report.console_tables import notebook, plain
from trueval.report.formats import markdown, to_csv
from trueval.report.kinds import read_directory
from trueval.report.page import parts
from trueval.report.terminal import grid, render_text

HOSTILE = "".join(map(chr, [*range(32), *range(127, 160), 0x61C, 0x200E, 0x2028, 0x2029, 0x202E, 0x2066, 0x2069]))
# What may stand in a text of several lines, beside what may be shown: our own line feeds, and tabs of trec_eval lines.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
FORGED = "q1\nmap\tall\t1.0000\n" + HOSTILE


def judged(query: str = FORGED) -> trueval.Judgments:
    return trueval.Judgments.from_dict({query: {"d1": 1, "d2": 0}, "q2": {"d1": 1}})


def ranked(name: str, query: str = FORGED) -> trueval.Run:
    return trueval.Run.from_dict({query: {"d1": 1.0, "d2": 1.0}, "q2": {"d1": 2.0}}, name=name)


def evaluated(name: str = f"evil{HOSTILE}", query: str = FORGED) -> trueval.Scores:
    return trueval.evaluate(ranked(name, query), judged(query), ["AP", "RR"])


def texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for pair in value.items() for each in pair for text in texts_of(each))
    elif isinstance(value, (list, tuple)):
        yield from (text for each in value for text in texts_of(each))
    elif hasattr(value, "__dataclass_fields__"):
        yield from texts_of(tuple(getattr(value, name) for name in value.__dataclass_fields__))


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
@pytest.mark.parametrize("form", ["table", "csv", "markdown", "latex", "trec"])
def test_no_form_of_an_evaluation_holds_a_control_character_or_a_forged_line(form: str) -> None:
    plainly, hostile = (
        EVALUATE.write(results([scores], per_query=True), form) for scores in (evaluated("evil", "q1"), evaluated())
    )
    shown, wanted = ((render_text(text) if form == "table" else text) for text in (hostile, plainly))
    assert not CONTROL.search(shown)
    assert not any(re.match(r"map\s+all\s+1.0000", line) for line in shown.splitlines())
    if form != "table":  # long names go on in further lines of a terminal
        assert len(shown.split("\n")) == len(wanted.split("\n"))


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_json_keeps_ids_as_they_are() -> None:
    found = json.loads(EVALUATE.write(results([evaluated()], per_query=True), "json"))
    assert FORGED in {row["query"] for row in found["runs"][0]["per_query"]}


@pytest.mark.filterwarnings("ignore::trueval.errors.TruevalWarning")
def test_a_comparison_and_the_page_of_both_hold_no_control_character(tmp_path: Path) -> None:
    names = ["a\x1b[2J", "b\u202e\nc"]
    several = [evaluated(name) for name in names]
    comparison = trueval.compare([ranked(name) for name in names], judged(), ["AP", "RR"])
    for form in ("csv", "markdown", "latex"):
        assert not CONTROL.search(COMPARE.write(comparison.to_dict(), form))
    for shown in (
        render_text(COMPARE.write(comparison.to_dict(), "table")),
        repr(comparison),
        comparison._repr_html_(),
    ):
        assert not CONTROL.search(shown)
    for scores in several:
        assert not CONTROL.search(repr(scores) + str(scores) + scores._repr_html_())
    (tmp_path / "results.json").write_text(EVALUATE.write(results(several), "json"), encoding="utf-8")
    (tmp_path / "comparison.json").write_text(COMPARE.write(comparison.to_dict(), "json"), encoding="utf-8")
    shown = list(texts_of(parts(read_directory(tmp_path))))
    assert any(r"a\x1b[2J" in text for text in shown)
    assert not [text for text in shown if CONTROL.search(text)]


def test_plain_names_are_shown_byte_for_byte() -> None:
    for name in ("bm25", "é b", "文書\u30001", "a\\n", "ид\u200d", "=x", "a\u00a0b"):
        assert printable(name) is name
        assert printable_message(name) == name
    result = {"runs": [{"name": "a", "queries": [1, 2.0, None, "b"]}]}
    assert printable_all(result) is result


def test_every_control_character_is_written_out_once() -> None:
    shown = printable(HOSTILE + "\udc80")
    assert shown.isascii()
    assert shown.isprintable()
    assert printable(shown) == shown


def test_tables_of_a_terminal_and_of_python_write_control_characters_out() -> None:
    rows = grid(["run"], "l")
    rows.add_row("a\nb\x1b[31m")
    assert render_text(rows).split("\n") == ["run", r"a\nb\x1b[31m"]
    assert plain(["run"], [["a\nb"]]).split("\n") == ["run", r"a\nb"]
    assert r"a\nb" in notebook(["run"], [["a\nb"]], caption="c\x1b")
    assert markdown("a\n| b") == r"a\n\| b"


@pytest.mark.parametrize("text", ["=1+2", "+cmd|' /C calc'!A0", "-a", "@SUM(1)", "-1+2", "+1e", "\t=1", "\r=1", "-"])
def test_a_text_that_a_spreadsheet_would_compute_is_no_formula_in_csv(text: str) -> None:
    (cell,) = list(csv.reader(io.StringIO(to_csv(["run"], [{"run": text}]))))[1]
    assert cell[0] not in "=+-@\t\r"
    assert cell.removeprefix("'") == printable(text)


@pytest.mark.parametrize("value", ["-1", "+1e-3", "-.5", -2.5, -1e-9, "bm25", "a=b", None])
def test_numbers_and_other_texts_stay_in_csv(value: Any) -> None:
    assert to_csv(["x", "y"], [{"x": 1, "y": value}]) == f"x,y\n1,{'' if value is None else value}\n"


@pytest.mark.parametrize("kind", [TruevalError, InputError, PolicyError, MeasureError, TruevalWarning])
def test_errors_and_warnings_are_short_and_printable(kind: type[Exception]) -> None:
    error = kind(f"run.trec:7: query {'x' * 5_000_000}\x1b[2J appears twice.")
    assert len(str(error)) < 200
    assert str(error).startswith("run.trec:7: query xxx")
    assert str(error).endswith(r"\x1b[2J appears twice.")
    assert len(str(kind("a b " * 100_000))) <= 4000


def test_an_error_of_a_place_keeps_its_data() -> None:
    error = Place("run\x1b.trec", 7).error("no\nscore.")
    assert str(error) == r"run\x1b.trec:7: no\nscore."
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.source, copy.line, str(copy)) == ("run\x1b.trec", 7, str(error))
    assert "\n" in str(MeasureError("2 measures cannot be read.\nThe first."))
