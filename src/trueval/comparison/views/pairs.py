"""The pairs of a comparison on its page: close pairs, and every pair in a folded block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from trueval.comparison.views.legend import BOUNDED, BOUNDED_LEGEND
from trueval.report.number_texts import format_difference, format_value
from trueval.report.page_content import Block, Figure, PageColumn, Table, row_of
from trueval.report.plots import DifferenceInterval, shorten_name, span_plot
from trueval.report.result_directory import ResultFile, pointer

MOST_PAIRS = 40  # differences drawn in one plot
MOST_OPEN = 100  # rows of the table of close calls that are open from the beginning
KEY = (
    ("ring", "expected difference"),
    ("dot", "the same, separated"),
    ("thin", "simultaneous interval over queries"),
    ("bar", "tie range"),
)


class ShownPair(NamedTuple):
    """A difference as the page shows it: the better run first, or against the baseline.

    Attributes:
        place: index in the differences of the file.
        entry: the difference's entry.
        turned: whether the page shows the pair in reverse order.
        rank: ranks of the two runs in the leaderboard, by which pairs are sorted.
    """

    place: int
    entry: Mapping[str, Any]
    turned: bool
    rank: tuple[int, int]

    @property
    def names(self) -> tuple[str, str]:
        """The two runs, in the order shown."""
        first, second = self.entry["first"], self.entry["second"]
        return (second, first) if self.turned else (first, second)

    def along(self, name: str) -> tuple[float, float]:
        """An interval of the difference in the direction shown."""
        low, high = self.entry[name]
        return _reverse_interval(low, high) if self.turned else (low, high)


# ---- pairs ----


def _pairs(data: Mapping[str, Any]) -> list[ShownPair]:
    """Every difference, by measure and the rank of its runs, the better one first; against a baseline as stored."""
    places = {
        (board["measure"], row["run"]): place
        for board in data["leaderboards"]
        for place, row in enumerate(board["ranking"])
    }
    found = []
    for index, each in enumerate(data["differences"]):
        rank = tuple(places.get((each["measure"], each[side]), len(places)) for side in ("first", "second"))
        turned = data["baseline"] is None and rank[0] > rank[1]
        found.append(
            ShownPair(index, each, turned, (min(rank), max(rank)) if data["baseline"] is None else (rank[0], 0))
        )
    measures = list(dict.fromkeys(each["measure"] for each in data["differences"]))
    return sorted(found, key=lambda pair: (measures.index(pair.entry["measure"]), pair.rank))


def _close(data: Mapping[str, Any], pairs: Sequence[ShownPair]) -> list[ShownPair]:
    """Neighbors in the ranking of each measure; against a baseline, every pair."""
    if data["baseline"] is not None:
        return list(pairs)
    neighbors = {
        (board["measure"], one["run"], other["run"])
        for board in data["leaderboards"]
        for one, other in pairwise(board["ranking"])
    }
    return [pair for pair in pairs if (pair.entry["measure"], *pair.names) in neighbors]


def close_block(file: ResultFile) -> Block:
    """Close pairs as a figure and a table, and every pair in a folded block.

    Args:
        file: the comparison.
    """
    pairs, level = _pairs(file.data), file.data["choices"]["level"]
    close = _close(file.data, pairs)
    against = file.data["baseline"] is not None
    words = (
        "A difference is the first run's value less the second's"
        + ("" if against else ", the better run first")
        + f". The interval is what the queries leave open of all differences together, at level {level:g}; p is "
        f"adjusted for the same family ({file.data['choices']['correction']}). The tie range holds every value that "
        "the orders of equal scores allow.",
    )
    caption = "Every run against the baseline." if against else "Neighbors in the ranking of each measure."
    tables = (
        _table(file, "close-table", caption, CLOSE, close, folded=len(close) > MOST_OPEN),
        _pair_table(file, pairs),
    )
    title = f"Against {file.data['baseline']}" if against else "Close calls"
    figures = tuple(_figures(close, against=against))
    notes = tuple((note,) for note in file.data["notes"])
    return Block("differences", title, (words, *notes), figures, tables, place="decisions")


def _figures(close: Sequence[ShownPair], *, against: bool) -> Iterator[Figure]:
    measures = list(dict.fromkeys(pair.entry["measure"] for pair in close))
    for index, measure in enumerate(measures):
        mine = [pair for pair in close if pair.entry["measure"] == measure and pair.entry["expected"] is not None]
        if not mine:
            continue
        shown = mine[:MOST_PAIRS]
        spans = [_span(pair, against=against) for pair in shown]
        title = measure if len(shown) == len(mine) else f"{measure}: the first {len(shown)} of {len(mine)}"
        description = f"Differences of expected {measure} with their tie ranges and simultaneous intervals."
        yield Figure(f"differences-{index}", title, description, span_plot(spans), key=KEY)


def _span(pair: ShownPair, *, against: bool) -> DifferenceInterval:
    names = pair.names[:1] if against else pair.names
    entry = pair.entry
    ties = (entry["lowest"], entry["highest"])
    return DifferenceInterval(
        " − ".join(shorten_name(name, 24) for name in names),
        -entry["expected"] if pair.turned else entry["expected"],
        _reverse_interval(*ties) if pair.turned else ties,
        pair.along("simultaneous_interval"),
        entry["separated"],
    )


def _reverse_interval(low: float | None, high: float | None) -> Any:
    return tuple(None if end is None else -end if end else end for end in (high, low))


def _ends(name: str, title: str = "from") -> tuple[PageColumn, PageColumn]:
    low, high = f"/{name}/0", f"/{name}/1"
    return (
        PageColumn(title, low, True, format_difference, turned=f"-{high}"),
        PageColumn("to", high, True, format_difference, turned=f"-{low}"),
    )


CLOSE = (
    PageColumn("measure", "/measure"),
    PageColumn("first", "/first", turned="/second"),
    PageColumn("second", "/second", turned="/first"),
    PageColumn("difference", "/expected", True, format_difference, lambda _: True, "-/expected"),
    *_ends("simultaneous_interval", "interval from"),
    PageColumn("p", "/tests/adjusted", True, format_value),
    PageColumn("verdict", "/verdict"),
    PageColumn("ties from", "/lowest", True, format_difference, turned="-/highest"),
    PageColumn("to", "/highest", True, format_difference, turned="-/lowest"),
)
EVERY = (
    *CLOSE,
    *_ends("expected_interval", "interval of this pair alone"),
    *_ends("realized_interval", "joint interval from"),
    PageColumn("tie-broken", "/tie_broken", True, format_difference, turned="-/tie_broken"),
    PageColumn("win", "/win/value", True, format_value, turned="1 - /win/value"),
    PageColumn("wins", "/wins", True, turned="/losses"),
    PageColumn("ties", "/ties", True),
    PageColumn("losses", "/losses", True, turned="/wins"),
)


def _table(
    file: ResultFile,
    name: str,
    caption: str,
    columns: tuple[PageColumn, ...],
    pairs: Sequence[ShownPair],
    *,
    folded: bool,
) -> Table:
    rows = tuple(row_of(pointer("differences", pair.place), columns, pair.entry, turned=pair.turned) for pair in pairs)
    return Table(name, (caption,), file.name, columns, rows, folded=folded)


def _pair_table(file: ResultFile, pairs: Sequence[ShownPair]) -> Table:
    # Most comparisons hold exact intervals only, and have no column for what is not.
    bounded = any(pair.entry["realized_bounded"] for pair in pairs)
    columns = (*EVERY, PageColumn("bounded")) if bounded else EVERY
    rows = tuple(
        row_of(
            pointer("differences", pair.place),
            columns,
            pair.entry,
            BOUNDED if pair.entry["realized_bounded"] else "",
            turned=pair.turned,
        )
        for pair in pairs
    )
    words = (
        "Every pair, with the interval that a pair has alone, the joint interval over queries and orders of equal "
        "scores, the probability over tie orders that the first run is the better one, and queries won, tied and lost.",
    )
    notes = (BOUNDED_LEGEND,) if bounded else ()
    return Table("difference-table", words, file.name, columns, rows, notes, folded=True)
