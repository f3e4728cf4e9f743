"""The page of a comparison: who is separated from whom, close calls, and every pair for those who ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, NamedTuple

from trueval.comparison.views import reshuffle
from trueval.comparison.views.corrected_page import corrected_blocks, overturned
from trueval.comparison.views.formats import BOUNDED, BOUNDED_LEGEND
from trueval.report.content import Block, Cell, Column, Figure, Number, Part, Row, Table, Words, row_of
from trueval.report.directory import Directory, ResultFile, pointer
from trueval.report.plots import Span, dot_of, lead_figure, letters_of, shortened, span_plot
from trueval.report.text import NOT_AVAILABLE, fixed, signed

MOST_PAIRS = 40  # differences drawn in one plot
MOST_OPEN = 100  # rows of the table of close calls that are open from the beginning
MOST = 4  # things of one kind that a sentence names
PAIRS = 2  # pairs that advice names
MOST_LETTERS = 6  # of a run in the matrix; forty runs can be in dozens of groups, which ranks say shorter
SIDE_BY_SIDE = 5  # measures of one matrix, which fit a screen
KEY = (
    ("ring", "expected difference"),
    ("dot", "the same, separated"),
    ("thin", "simultaneous interval over queries"),
    ("bar", "tie range"),
)


class Pair(NamedTuple):
    """A difference as the page shows it: the better run first, or against the baseline.

    Attributes:
        place: in the differences of the file.
        entry: what is there.
        turned: whether the page shows it the other way round.
        rank: places of the two runs in the leaderboard, by which pairs are sorted.
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
        """An interval of the difference as it is shown."""
        low, high = self.entry[name]
        return _turned(low, high) if self.turned else (low, high)


def build(file: ResultFile, directory: Directory) -> Part:
    """The part of the page for one comparison.

    Args:
        file: the comparison.
        directory: may hold the evaluation of the same runs, which then draws the plot of the first screen.

    Returns:
        Verdict, advice, the matrix of runs and measures, close calls, every pair and the choices behind them.
    """
    pairs = _pairs(file.data)
    blocks = (
        *_matrix_block(file),
        *corrected_blocks(file, values=not _evaluated(file.data, directory)),
        _close_block(file, pairs),
        *reshuffle.block(file),
    )
    verdict, *rest = [*_verdicts(file)] or [()]
    turned = tuple((line,) for line in islice(overturned(file), MOST))
    first = next((board["measure"] for board in file.data["leaderboards"] if board["ranking"]), "")
    otherwise = verdict and any(True for _ in overturned(file, first))
    # A second measure changes a decision where somebody else leads on it.
    leader = _leader(file.data, 0)
    changing = [words for index, words in enumerate(rest, start=1) if _leader(file.data, index) != leader]
    return Part(
        verdict=(*verdict, " People's labels say otherwise.") if otherwise else verdict,
        summary=(*turned, _counts(file), *changing[:MOST]),
        findings=(*(each for each in rest if each not in changing), *changing[MOST:]),
        advice=tuple(_advice(file.data)),
        blocks=blocks,
        closing=(_choice_block(file),),
        lead=() if _evaluated(file.data, directory) else _lead(file.data),
    )


# ---- sentences ----


def _counts(file: ResultFile) -> Words:
    differences = file.data["differences"]
    counts = {name: sum(each[name] for each in differences) for name in ("separated", "undecidable", "reversed")}
    shown = {name: Number(str(count), count, file.source("differences")) for name, count in counts.items()}
    every = Number(str(len(differences)), len(differences), file.source("differences"))
    words: Words = ("These queries separate ", shown["separated"], " of ", every, " differences between runs")
    words += ("; undecidable under ties: ", shown["undecidable"]) if counts["undecidable"] else ()
    words += ("; reversed by the expectation: ", shown["reversed"]) if counts["reversed"] else ()
    return (*words, ".")


def _verdicts(file: ResultFile) -> Iterator[Words]:
    """One sentence for each measure that has a value."""
    for index, board in enumerate(file.data["leaderboards"]):
        if board["ranking"]:
            yield _first_group(file, index, board) if file.data["baseline"] is None else _against(file.data, board)


def _leader(data: Mapping[str, Any], index: int) -> str | None:
    boards = [board for board in data["leaderboards"] if board["ranking"]]
    return boards[index]["ranking"][0]["run"] if index < len(boards) else None


def _first_group(file: ResultFile, index: int, board: Mapping[str, Any]) -> Words:
    best = board["ranking"][0]
    firsts = [row["run"] for row in board["ranking"] if row["place"] == 1]
    if len(firsts) > 1:
        return (f"{board['measure']}: {_list(firsts)} share the first place.",)
    source = file.source("leaderboards", index, "ranking", 0, "expected")
    value = best["expected"]
    expected = Number(fixed(value), float("nan") if value is None else value, source)
    lead: Words = (f"{board['measure']}: {best['run']} is first with ", expected)
    others = [
        row["run"] for row in board["ranking"][1:] if {*letters_of(row["groups"])} & {*letters_of(best["groups"])}
    ]
    if not others:
        rest = [row["run"] for row in board["ranking"][1:]]
        return (*lead, f", and these queries separate it from {_list(rest) if len(rest) < 3 else 'every other run'}.")
    return (*lead, f"; these queries do not separate it from {_list(others)}.")


def _against(data: Mapping[str, Any], board: Mapping[str, Any]) -> Words:
    """Which runs are separated from the baseline, by the side on which they are."""
    mine = [each for each in data["differences"] if each["measure"] == board["measure"] and each["separated"]]
    sign = -1 if board["better"] == "lower" else 1
    better = [each["first"] for each in mine if sign * each["expected"] > 0]
    worse = [each["first"] for each in mine if sign * each["expected"] < 0]
    told = [f"{_list(names)} {what}" for names, what in ((better, "better"), (worse, "worse")) if names]
    rest = sum(each["measure"] == board["measure"] for each in data["differences"]) - len(mine)
    open_ones = [f"{rest} not separated from it"] if rest else []
    return (f"{board['measure']}, against {data['baseline']}: {'; '.join([*told, *open_ones])}.",)


def _list(names: Sequence[str]) -> str:
    shown = list(names) if len(names) <= MOST else [*names[: MOST - 1], f"{len(names) - MOST + 1} more runs"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _advice(data: Mapping[str, Any]) -> Iterator[Words]:
    undecidable = [each for each in data["differences"] if each["undecidable"]]
    if undecidable:
        pairs = "; ".join(f"{each['first']} and {each['second']} on {each['measure']}" for each in undecidable[:PAIRS])
        rest = f"; and {len(undecidable) - PAIRS} more" if len(undecidable) > PAIRS else ""
        yield (f"Remove ties before judging these, because ties decide who wins: {pairs}{rest}.",)
    open_pairs = [each for each in data["differences"] if not each["separated"] and not each["undecidable"]]
    if open_pairs:
        yield (
            f"Claim no difference that these queries do not separate, {len(open_pairs)} in the table; more judged "
            "queries would narrow the intervals.",
        )


# ---- the plot of the first screen, where no evaluation draws it ----


def _evaluated(data: Mapping[str, Any], directory: Directory) -> bool:
    found = (each.data for each in directory.of("evaluate"))
    return any(
        {*data["runs"]} <= {run["name"] for run in each["runs"]} and each["policy"] == data["choices"]["policy"]
        for each in found
    )


def _lead(data: Mapping[str, Any]) -> tuple[Figure, ...]:
    board = next((board for board in data["leaderboards"] if board["ranking"]), None)
    rows = [] if board is None else [row for row in board["ranking"] if row["expected"] is not None]
    if board is None or not rows:
        return ()
    groups = {row["run"]: row["groups"] for row in rows}
    return (lead_figure("lead-compared", board["measure"], [dot_of(row["run"], row) for row in rows], groups),)


# ---- runs by measures ----


def _matrix_block(file: ResultFile) -> tuple[Block, ...]:
    boards = [(index, board) for index, board in enumerate(file.data["leaderboards"]) if board["ranking"]]
    if not boards:
        return ()
    several = [boards[at : at + SIDE_BY_SIDE] for at in range(0, len(boards), SIDE_BY_SIDE)]
    tables = tuple(_matrix(file, place, part) for place, part in enumerate(several))
    words = ["Expected values, best first by the first measure."]
    if file.data["baseline"] is None:
        words.append(
            "Systems that share a letter are not separated by these queries and their ties; a is the best group. Ranks "
            "are those that a system can have by what is separated."
        )
    return (Block("matrix-block", "Runs by measures", words=((" ".join(words),),), tables=tables, place="decisions"),)


def _matrix(file: ResultFile, place: int, boards: Sequence[tuple[int, Mapping[str, Any]]]) -> Table:
    grouped = file.data["baseline"] is None
    columns = [Column("run")]
    for _, board in boards:
        columns.append(Column(board["measure"], numeric=True, show=fixed))
        columns += (Column("groups"), Column("ranks")) if grouped else ()
    names = [row["run"] for row in boards[0][1]["ranking"]]
    rows = []
    for name in names:
        cells = [Cell(name, name)]
        for index, board in boards:
            at, row = next((at, row) for at, row in enumerate(board["ranking"]) if row["run"] == name)
            where = ("leaderboards", index, "ranking", at)
            best = row["place"] == 1
            cells.append(Cell(fixed(row["expected"]), row["expected"], best, pointer(*where, "expected")))
            if grouped:
                cells.append(Cell(_letters(row["groups"]), row["groups"], source=pointer(*where, "groups")))
                cells.append(Cell(_ranks(row["rank_interval"]), None, source=pointer(*where, "rank_interval")))
        rows.append(Row("", tuple(cells)))
    caption = (", ".join(board["measure"] for _, board in boards) + ".",)
    return Table(f"matrix-{place}", caption, file.name, tuple(columns), tuple(rows))


def _letters(groups: str) -> str:
    """The letters of a run's groups, of many the first ones and how many there are.

    >>> _letters("abc"), _letters("abcdefghijkl")
    ('abc', 'abc… 12 groups')
    """
    letters = letters_of(groups)
    return groups if len(letters) <= MOST_LETTERS else f"{''.join(letters[:3])}… {len(letters)} groups"


def _ranks(ends: Sequence[int] | None) -> str:
    """The ranks that a system can have.

    >>> _ranks([1, 3]), _ranks([2, 2])
    ('1–3', '2')
    """
    if ends is None:
        return NOT_AVAILABLE
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]}–{ends[1]}"


# ---- pairs ----


def _pairs(data: Mapping[str, Any]) -> list[Pair]:
    """Every difference, by measure and the rank of its runs, the better one first; against a baseline as it is."""
    places = {
        (board["measure"], row["run"]): place
        for board in data["leaderboards"]
        for place, row in enumerate(board["ranking"])
    }
    found = []
    for index, each in enumerate(data["differences"]):
        rank = tuple(places.get((each["measure"], each[side]), len(places)) for side in ("first", "second"))
        turned = data["baseline"] is None and rank[0] > rank[1]
        found.append(Pair(index, each, turned, (min(rank), max(rank)) if data["baseline"] is None else (rank[0], 0)))
    measures = list(dict.fromkeys(each["measure"] for each in data["differences"]))
    return sorted(found, key=lambda pair: (measures.index(pair.entry["measure"]), pair.rank))


def _close(data: Mapping[str, Any], pairs: Sequence[Pair]) -> list[Pair]:
    """Neighbors in the ranking of each measure; against a baseline every pair."""
    if data["baseline"] is not None:
        return list(pairs)
    neighbors = {
        (board["measure"], one["run"], other["run"])
        for board in data["leaderboards"]
        for one, other in pairwise(board["ranking"])
    }
    return [pair for pair in pairs if (pair.entry["measure"], *pair.names) in neighbors]


def _close_block(file: ResultFile, pairs: Sequence[Pair]) -> Block:
    close, level = _close(file.data, pairs), file.data["choices"]["level"]
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


def _figures(close: Sequence[Pair], *, against: bool) -> Iterator[Figure]:
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


def _span(pair: Pair, *, against: bool) -> Span:
    names = pair.names[:1] if against else pair.names
    entry = pair.entry
    ties = (entry["lowest"], entry["highest"])
    return Span(
        " − ".join(shortened(name, 24) for name in names),
        -entry["expected"] if pair.turned else entry["expected"],
        _turned(*ties) if pair.turned else ties,
        pair.along("simultaneous_interval"),
        entry["separated"],
    )


def _turned(low: float | None, high: float | None) -> Any:
    return tuple(None if end is None else -end if end else end for end in (high, low))


def _ends(name: str, title: str = "from") -> tuple[Column, Column]:
    low, high = f"/{name}/0", f"/{name}/1"
    return (
        Column(title, low, True, signed, turned=f"-{high}"),
        Column("to", high, True, signed, turned=f"-{low}"),
    )


CLOSE = (
    Column("measure", "/measure"),
    Column("first", "/first", turned="/second"),
    Column("second", "/second", turned="/first"),
    Column("difference", "/expected", True, signed, lambda _: True, "-/expected"),
    *_ends("simultaneous_interval", "interval from"),
    Column("p", "/tests/adjusted", True, fixed),
    Column("verdict", "/verdict"),
    Column("ties from", "/lowest", True, signed, turned="-/highest"),
    Column("to", "/highest", True, signed, turned="-/lowest"),
)
EVERY = (
    *CLOSE,
    *_ends("expected_interval", "interval of this pair alone"),
    *_ends("realized_interval", "joint interval from"),
    Column("tie-broken", "/tie_broken", True, signed, turned="-/tie_broken"),
    Column("win", "/win/value", True, fixed, turned="1 - /win/value"),
    Column("wins", "/wins", True, turned="/losses"),
    Column("ties", "/ties", True),
    Column("losses", "/losses", True, turned="/wins"),
)


def _table(
    file: ResultFile, name: str, caption: str, columns: tuple[Column, ...], pairs: Sequence[Pair], *, folded: bool
) -> Table:
    rows = tuple(row_of(pointer("differences", pair.place), columns, pair.entry, turned=pair.turned) for pair in pairs)
    return Table(name, (caption,), file.name, columns, rows, folded=folded)


def _pair_table(file: ResultFile, pairs: Sequence[Pair]) -> Table:
    # Most comparisons hold exact intervals only, and have no column for what is not.
    bounded = any(pair.entry["realized_bounded"] for pair in pairs)
    columns = (*EVERY, Column("bounded")) if bounded else EVERY
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


def _choice_block(file: ResultFile) -> Block:
    # The policy is that of the evaluation, whose page shows it.
    choices = {name: value for name, value in file.data["choices"].items() if name != "policy"}
    columns = (Column("choice"), Column("value"))
    rows = []
    for name, value in choices.items():
        text = f"{value:g}" if isinstance(value, float) else str(value)
        rows.append(row_of(pointer("choices", name), columns, choices, name.replace("_", " "), text))
    table = Table("comparison-choices", ("The choices behind the comparison.",), file.name, columns, tuple(rows))
    return Block("comparison-conventions", "Conventions of the comparison", tables=(table,))
