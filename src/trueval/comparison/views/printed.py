"""What Python shows of a comparison: the tables of `trueval compare` in a console, and in a notebook as HTML."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from trueval.comparison.views.formats import legend, table
from trueval.report.printed import notebook
from trueval.report.terminal import drawn
from trueval.report.text import counted, fixed, interval, signed

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
        parts.append(notebook(PAIR, _pairs(comparison, board["measure"]), words=2))
    return "".join([*parts, *(f"<p>{escape(line)}</p>" for line in legend(comparison))])


def _pairs(comparison: Mapping[str, Any], measure: str) -> Iterator[tuple[str, ...]]:
    for row in comparison["differences"]:
        if row["measure"] == measure:
            p = row["tests"].get("adjusted", row["tests"]["holm"])
            low, high = row["realized_interval"]
            span = "–" if low is None else f"[{signed(low)}, {signed(high)}]"
            won = f"{row['wins']}/{row['ties']}/{row['losses']}"
            pair = f"{row['first']} - {row['second']}"
            yield pair, row["verdict"], signed(row["expected"]), span, fixed(p), won
