"""The pairs of a comparison as a view shows them: the better run first, or against the baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, NamedTuple

from trueval.comparison.comparison import Comparison, Difference, Interval, Leaderboard
from trueval.comparison.resampling.win_probability import WinProbability
from trueval.comparison.verdict import NOT_SEPARATED, REVERSED
from trueval.report.figures import Chart
from trueval.report.number_texts import NOT_AVAILABLE, count_phrase
from trueval.report.page_content import Figure
from trueval.report.plots import DifferenceInterval, shorten_name, span_plot
from trueval.report.units import COUNT, DIFFERENCE, FRACTION, MARKS, NAME, interval_of, unscaled_unit
from trueval.report.view import AnySheet, Column, Sheet

MOST_WITH_ALL_PAIRS: Final = 6  # runs of which text shows all pairs unless asked: 15 lines a measure
MOST_PAIRS: Final = 40  # differences drawn in one plot
MOST_LEADING: Final = 12  # of these in the plot that leads a page
MOST_OPEN: Final = 100  # rows of the table of close calls that are open from the beginning
BOUNDED: Final = "°"  # beside intervals whose ends are bounds; the mark of `evaluate` for what is not exact
SHORT: Final = {NOT_SEPARATED: "not separated", REVERSED: "reversed"}  # verdicts in the tables of texts
KEY: Final = (
    ("ring", "expected difference"),
    ("dot", "the same, separated"),
    ("thin", "interval over queries that decides"),
    ("bar", "tie range"),
)
SPAN: Final = interval_of(DIFFERENCE)
CHANCE: Final = unscaled_unit(FRACTION.plain)  # which --percent leaves as it is


class ShownPair(NamedTuple):
    """A difference as it is shown.

    Attributes:
        found: the difference.
        shown: the same in the direction shown.
        ranks: places of its runs in the ranking, by which pairs are sorted.
    """

    found: Difference
    shown: Difference
    ranks: tuple[int, int]

    @property
    def turned(self) -> bool:
        """Whether it is shown as the second run less the first."""
        return self.shown is not self.found


def pairs_of(result: Comparison, board: Leaderboard) -> list[ShownPair]:
    """The pairs of a measure by the ranks of their runs, the better run first; against a baseline as they are.

    Args:
        result: that the measure is of.
        board: of the measure.
    """
    places = {row.run: place for place, row in enumerate(board.ranking)}
    found = []
    for each in result.differences:
        if each.measure == board.measure:
            ranks = places[each.first], places[each.second]
            if result.baseline is None and ranks[0] > ranks[1]:
                found.append(ShownPair(each, turn(each), ranks[::-1]))
            else:
                found.append(ShownPair(each, each, ranks))
    return sorted(found, key=lambda pair: pair.ranks)


def turn(found: Difference) -> Difference:
    """The same pair the other way round: second - first.

    Args:
        found: a difference.
    """
    win = found.win
    return replace(
        found,
        first=found.second,
        second=found.first,
        expected=0.0 - found.expected,
        lowest=0.0 - found.highest,
        highest=0.0 - found.lowest,
        tie_broken=0.0 - found.tie_broken,
        win=WinProbability(1 - win.value, 1 - win.high, 1 - win.low, win.method),
        cohen_d=0.0 - found.cohen_d,
        hedges_g=0.0 - found.hedges_g,
        wins=found.losses,
        losses=found.wins,
        expected_interval=_mirror(found.expected_interval),
        realized_interval=_mirror(found.realized_interval),
        simultaneous_interval=_mirror(found.simultaneous_interval),
        simultaneous_realized_interval=_mirror(found.simultaneous_realized_interval),
    )


def _mirror(interval: Interval) -> Interval:
    low, high = interval
    return Interval(0.0 - high, 0.0 - low)


def close_pairs(result: Comparison, board: Leaderboard, pairs: Sequence[ShownPair]) -> list[ShownPair]:
    """The pairs of neighbors in the ranking of a measure; against a baseline every pair.

    Args:
        result: that the measure is of.
        board: of the measure.
        pairs: all of it.
    """
    if result.baseline is not None:
        return list(pairs)
    neighbors = {(one.run, other.run) for one, other in pairwise(board.ranking)}
    return [pair for pair in pairs if (pair.shown.first, pair.shown.second) in neighbors]


def only_close(result: Comparison, pairs: str) -> bool:
    """Whether texts show only neighbors in the ranking: with 17 runs all pairs would be 136 lines per measure.

    Args:
        result: of a comparison.
        pairs: what was asked for: "close", "all", or "" for all where they are few.
    """
    few = len(result.runs) <= MOST_WITH_ALL_PAIRS
    return result.baseline is None and (pairs == "close" or (not pairs and not few))


def _write_win(win: WinProbability) -> str:
    chance = NOT_AVAILABLE if win.value != win.value else f"{win.value:.3f}"
    return f"~{chance}" if win.value == win.value and win.method in ("normal", "sampled") else chance


def describe_verdict(row: Difference) -> str:
    """The verdict in a few words; a reversed pair may be separated too."""
    return "reversed, separated" if row.reversed and row.separated else SHORT.get(row.verdict, row.verdict)


def text_sheet(result: Comparison, board: Leaderboard, every: Sequence[ShownPair], pairs: str) -> Sheet[Difference]:
    """The pairs of a measure for a terminal, Markdown and LaTeX.

    Args:
        result: that the measure is of.
        board: of the measure.
        every: all pairs of it.
        pairs: as in `only_close`.
    """
    close = close_pairs(result, board, every) if only_close(result, pairs) else every
    title = f"{board.measure}: differences"
    if len(close) < len(every):
        title += f", neighbors in the ranking (--pairs all shows all {len(every):,} pairs)"
    decides, of_all = deciding_interval(result), "simultaneous\n" if is_simultaneous(result, board.measure) else ""
    columns: list[Column[Difference]] = [
        Column("A", lambda row: row.first, NAME),
        Column("B", lambda row: row.second, NAME),
        Column("A - B", lambda row: row.expected, DIFFERENCE),
        Column(f"{result.level:.0%} {of_all}interval", lambda row: getattr(row, decides), SPAN),
        Column("over tie orders", lambda row: row.tie_range, SPAN, leaves=3),
        Column("p", lambda row: row.tests.adjusted, CHANCE),
        Column("win", lambda row: row.win, unscaled_unit(_write_win), leaves=2),
        Column("w/t/l", lambda row: f"{row.wins}/{row.ties}/{row.losses}", unscaled_unit(str), leaves=1),
        Column("verdict", describe_verdict),
    ]
    return Sheet(title, [pair.shown for pair in close], columns, only="text")


def deciding_interval(result: Comparison) -> str:
    """The interval of the expected difference that must exclude 0, which every format shows first.

    Benjamini & Hochberg bound the share of false claims, so that each pair has its own; else it is simultaneous.

    Args:
        result: of a comparison.
    """
    return "expected_interval" if result.choices["correction"] == "benjamini-hochberg" else "simultaneous_interval"


def is_simultaneous(result: Comparison, measure: str) -> bool:
    """Whether the deciding interval holds for several differences together: not for a pair that is tested alone.

    Args:
        result: of a comparison.
        measure: of the pair.
    """
    alone = result.choices["family"] == "measure" and sum(each.measure == measure for each in result.differences) == 1
    return not alone and deciding_interval(result) == "simultaneous_interval"


def close_columns(result: Comparison) -> tuple[Column[Difference], ...]:
    """The columns of close calls on the page.

    Args:
        result: of a comparison.
    """
    decides = deciding_interval(result)
    return (
        Column("measure", lambda row: row.measure),
        Column("first", lambda row: row.first, turned="/second"),
        Column("second", lambda row: row.second, turned="/first"),
        Column("difference", lambda row: row.expected, DIFFERENCE, strong=True, turned="-"),
        Column("interval", lambda row: getattr(row, decides), SPAN, ends=("interval from", "to"), turned="-"),
        Column("p", lambda row: row.tests.adjusted, CHANCE),
        Column("verdict", lambda row: row.verdict),
        Column("ties from", lambda row: row.lowest, DIFFERENCE, turned="-/highest"),
        Column("to", lambda row: row.highest, DIFFERENCE, turned="-/lowest"),
    )


OTHERS: Final[tuple[Column[Difference], ...]] = (
    Column("alone", lambda row: row.expected_interval, SPAN, ends=("interval of this pair alone", "to"), turned="-"),
    Column("joint", lambda row: row.realized_interval, SPAN, ends=("joint interval from", "to"), turned="-"),
    Column("tie-broken", lambda row: row.tie_broken, DIFFERENCE, turned="-"),
    Column("win", lambda row: row.win.value, CHANCE, turned="1 - /win/value"),
    Column("wins", lambda row: row.wins, COUNT, turned="/losses"),
    Column("ties", lambda row: row.ties, COUNT),
    Column("losses", lambda row: row.losses, COUNT, turned="/wins"),
)


def page_sheets(result: Comparison, close: Sequence[ShownPair], every: Sequence[ShownPair]) -> Iterator[AnySheet]:
    """The close calls, and every pair, for the page.

    Args:
        result: of a comparison.
        close: pairs of all measures.
        every: pairs of all measures.
    """
    about = "Every run against the baseline." if result.baseline is not None else "Neighbors in the ranking."
    columns = close_columns(result)
    yield _page_sheet("close-table", about, columns, close, folded=len(close) > MOST_OPEN)
    # Most comparisons hold exact intervals only, and have no column for what is not.
    bounded: Column[Difference] = Column("bounded", lambda row: BOUNDED * row.realized_bounded, MARKS)
    columns = (*columns, *OTHERS, *([bounded] if any(pair.found.realized_bounded for pair in every) else []))
    caption = (
        "Every pair, with the interval that a pair has alone, the joint interval over queries and orders of equal "
        "scores, the probability over tie orders that the first run is the better one, and queries won, tied and lost."
    )
    yield _page_sheet("difference-table", caption, columns, every, folded=True)


def _page_sheet(
    name: str, caption: str, columns: Sequence[Column[Difference]], pairs: Sequence[ShownPair], *, folded: bool
) -> Sheet[Difference]:
    of = {id(pair.shown): pair for pair in pairs}
    return Sheet(
        "",
        [pair.shown for pair in pairs],
        columns,
        caption=caption,
        folded=folded,
        only="page",
        id=name,
        part=lambda row: of[id(row)].found,
        turned=lambda row: of[id(row)].turned,
    )


def pair_figures(
    result: Comparison, board: Leaderboard, pairs: Sequence[ShownPair], place: int, most: int = MOST_PAIRS
) -> list[Figure]:
    """The plot of the close pairs of a measure; none where it has no value.

    Args:
        result: that the measure is of.
        board: of the measure.
        pairs: all of it.
        place: of the measure among all.
        most: pairs that are drawn.
    """
    close = close_pairs(result, board, pairs)
    known = [pair.shown for pair in close if pair.shown.expected == pair.shown.expected]
    if not known:
        return []
    title = board.measure if len(known) <= most else f"{board.measure}: the first {most} of {len(known)}"
    decides = deciding_interval(result)
    spans = [_span(pair, getattr(pair, decides), against=result.baseline is not None) for pair in known[:most]]
    against = "" if result.baseline is None else f", less {result.baseline}"
    description = f"Differences of expected {board.measure}{against}, with tie ranges and intervals over queries."

    def chart(width: int) -> Chart:
        return span_plot(spans, width=width)

    return [Figure(f"differences-{place}", f"{title}{against}", description, chart, key=KEY)]


def _span(shown: Difference, interval: Interval, *, against: bool) -> DifferenceInterval:
    names = [shown.first] if against else [shown.first, shown.second]
    low, high = interval
    return DifferenceInterval(
        " − ".join(shorten_name(name, 24) for name in names),
        shown.expected,
        (shown.lowest, shown.highest),
        (low, high) if low == low and high == high else (None, None),
        shown.separated,
    )


def heading(board: Leaderboard) -> str:
    """The heading of a measure: its direction and its queries.

    Args:
        board: of the measure.
    """
    left_out = f", {len(board.left_out)} left out" if board.left_out else ""
    return f"{board.measure}: {board.better} is better, {count_phrase(board.queries, 'query', 'queries')}{left_out}"
