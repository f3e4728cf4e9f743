"""Sheets: the same tables and sentences in each form that people read."""

from trueval.report.sheets import TextSheet, as_latex, as_markdown, in_terminal
from trueval.report.terminal import render_text

FIRST = TextSheet("a_1: runs", ("run", "kind", "wrong\nlists", "member-\nship"), "Llrr", (("x|y", "old", "1", "0.5"),))
SECOND = TextSheet("second", ("name", "text"), "Lt", (("a", "b"),))
SENTENCES = ["One <b>.", "5 % of them."]


def test_a_terminal_shows_tables_under_their_titles_and_then_the_sentences() -> None:
    lines = render_text(in_terminal([FIRST, SECOND], SENTENCES)).split("\n")
    assert lines[0] == "a_1: runs"
    assert lines[3].split() == ["x|y", "old", "1", "0.5"]
    assert lines[4:6] == ["", "second"]
    assert lines[-2:] == SENTENCES


def test_markdown_has_headings_of_one_line_and_numbers_to_the_right() -> None:
    expected = r"""### a_1: runs

| run | kind | wrong lists | membership |
|---|---|---:|---:|
| x\|y | old | 1 | 0.5 |

### second

| name | text |
|---|---|
| a | b |

- One \<b>.
- 5 % of them.
"""
    assert as_markdown([FIRST, SECOND], SENTENCES) == expected


def test_latex_has_a_tabular_for_each_table_and_the_sentences_above_the_first() -> None:
    first, second = as_latex([FIRST, SECOND], SENTENCES).split("\n\n")
    assert first.split("\n")[:8] == [
        "% One <b>.",
        "% 5 % of them.",
        r"% \usepackage{booktabs} in the preamble sets the rules of these tables.",
        r"\begin{table}",
        r"\centering",
        r"\caption{a\_1: runs}",
        r"\label{tab:a-1-runs}",
        r"\begin{tabular}{llrr}",
    ]
    assert "run & kind & wrong lists & membership" in first
    keyed = as_latex([FIRST._replace(key="5 % share a letter.")], [])
    assert r"\caption{a\_1: runs. 5 \% share a letter.}" in keyed.splitlines()
    assert second.split("\n")[2:5] == [r"\caption{second}", r"\label{tab:second}", r"\begin{tabular}{ll}"]
