"""What Python shows of a comparison: the tables of `trueval compare` in a console, and in a notebook as HTML."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from trueval.comparison.views.formats import settings, table, turned
from trueval.report.printed import notebook
from trueval.report.terminal import drawn
from trueval.report.text import NOT_AVAILABLE, counted, fixed, interval, signed

MOST_PAIRS = 15  # of six runs: more are a wall of numbers
PAIR = ("pair", "verdict", "difference", "interval", "p", "wins/ties/losses")


def console(comparison: Mapping[str, Any]) -> str:
    """The tables of `trueval compare` as plain text.

    Args:
        comparison: what `Comparison.to_dict` returns.
    """
    return drawn(table(comparison))


def html(comparison: Mapping[str, Any]) -> str:
    """Leaderboards and pairs as tables of HTML, everything in them escaped.

    Args:
        comparison: what `Comparison.to_dict` returns.
    """
    parts: list[str] = []
    for board in comparison["leaderboards"]:
        title = f"{board['measure']}: {board['better']} is better, {counted(board['queries'], 'query', 'queries')}"
        ranking = (
            (row["run"], fixed(row["expected"]), interval(row["lowest"], row["highest"]), row["groups"])
            for row in board["ranking"]
        )
        parts.append(notebook(("run", "expected", "lowest, highest", "groups"), ranking, caption=title))
        parts.append(notebook(PAIR, _pairs(comparison, board), words=2))
    return "".join([*parts, *(f"<p>{escape(line)}</p>" for line in _words(comparison))])


def _words(comparison: Mapping[str, Any]) -> Iterator[str]:
    """What the columns mean; verdicts are written out, so there are no marks to explain."""
    if comparison["baseline"] is None:
        yield "Systems that share a letter are not separated."
        if len(comparison["runs"]) * (len(comparison["runs"]) - 1) > 2 * MOST_PAIRS:
            yield "Pairs are neighbours in the ranking; to_polars() and to_pandas() have all of them."
    level = f"{comparison['choices']['level']:.0%}"
    yield f"interval: {level} of a realized difference, over queries and tie orders. p: adjusted for the family."
    yield settings(comparison)


def _pairs(comparison: Mapping[str, Any], board: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The pairs of a measure, the better system first; of many, neighbours in the ranking only."""
    place = {row["run"]: at for at, row in enumerate(board["ranking"])}
    rows = [row for row in comparison["differences"] if row["measure"] == board["measure"]]
    if comparison["baseline"] is None:
        rows = [row if place[row["first"]] < place[row["second"]] else turned(row) for row in rows]
        rows.sort(key=lambda row: (place[row["first"]], place[row["second"]]))
        if len(rows) > MOST_PAIRS:
            rows = [row for row in rows if place[row["second"]] - place[row["first"]] == 1]
    for row in rows:
        p = row["tests"].get("adjusted", row["tests"]["holm"])
        low, high = row["realized_interval"]
        span = NOT_AVAILABLE if low is None else f"[{signed(low)}, {signed(high)}]"
        won = f"{row['wins']}/{row['ties']}/{row['losses']}"
        yield f"{row['first']} - {row['second']}", row["verdict"], signed(row["expected"]), span, fixed(p), won
