"""A comparison printed in Python: the tables of `trueval compare` in a console, and as HTML in a notebook."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from trueval.comparison.views.legend import settings
from trueval.comparison.views.tables import MOST_WITH_ALL_PAIRS, ranks, select_pairs, table
from trueval.printable import printable_all
from trueval.report.console_tables import notebook
from trueval.report.number_texts import count_phrase, format_difference, format_value, interval
from trueval.report.terminal import render_text

PAIR = ("pair", "verdict", "difference", "interval", "p", "wins/ties/losses")


def console(comparison: Mapping[str, Any]) -> str:
    """The tables of `trueval compare` as plain text.

    Args:
        comparison: what `Comparison.to_dict` returns.
    """
    comparison = printable_all(comparison)
    return "\n".join([render_text(table(comparison)), *(f"note: {note}" for note in comparison["notes"])])


def html(comparison: Mapping[str, Any]) -> str:
    """Leaderboards and pairs as HTML tables, everything escaped.

    Args:
        comparison: what `Comparison.to_dict` returns.
    """
    comparison = printable_all(comparison)
    parts: list[str] = []
    for board in comparison["leaderboards"]:
        title = f"{board['measure']}: {board['better']} is better, {count_phrase(board['queries'], 'query', 'queries')}"
        ranking = (
            (row["run"], format_value(row["expected"]), interval(row["lowest"], row["highest"]), *_place(row))
            for row in board["ranking"]
        )
        parts.append(notebook(("run", "expected", "lowest, highest", "ranks", "groups"), ranking, caption=title))
        parts.append(notebook(PAIR, _pairs(comparison, board), words=2))
    return "".join([*parts, *(f"<p>{escape(line)}</p>" for line in _words(comparison))])


def _place(row: Mapping[str, Any]) -> tuple[str, str]:
    """Ranks and letters; empty against a baseline."""
    return ("", "") if row["rank_interval"] is None else (ranks(row), row["groups"])


def _words(comparison: Mapping[str, Any]) -> Iterator[str]:
    """Explanation of the columns; verdicts are written out, so there are no marks to explain."""
    if comparison["baseline"] is None:
        yield "Runs that share a letter are not separated. ranks: those that the separated pairs leave to a run."
        if len(comparison["runs"]) > MOST_WITH_ALL_PAIRS:
            yield "Pairs are neighbors in the ranking; to_polars() and to_pandas() have all of them."
    level = f"{comparison['choices']['level']:.0%}"
    yield f"interval: {level} of a realized difference, over queries and tie orders. p: adjusted for the family."
    yield settings(comparison)
    yield from (f"Note: {note}" for note in comparison["notes"])


def _pairs(comparison: Mapping[str, Any], board: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The pairs of a measure, as the terminal shows them."""
    for row in select_pairs(comparison, board):
        low, high = row["realized_interval"]
        won = f"{row['wins']}/{row['ties']}/{row['losses']}"
        pair, p = f"{row['first']} - {row['second']}", format_value(row["tests"]["adjusted"])
        yield (
            pair,
            row["verdict"],
            format_difference(row["expected"]),
            interval(low, high, show=format_difference),
            p,
            won,
        )
