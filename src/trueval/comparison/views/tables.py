"""Comparisons as a terminal table of 80 columns, Markdown, LaTeX and CSV."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from trueval.comparison.comparison import INTERVALS
from trueval.comparison.verdict import REVERSED, UNDECIDABLE
from trueval.comparison.views import reshuffle
from trueval.comparison.views.corrected import corrected_latex, corrected_markdown, corrected_renderables, csv_rows
from trueval.comparison.views.legend import BOUNDED, latex_legend, legend
from trueval.report import formats
from trueval.report.formats import latex, markdown, pipes, tabular
from trueval.report.number_texts import (
    FRACTIONS,
    NOT_AVAILABLE,
    ValueUnit,
    count_phrase,
    format_difference,
    format_value,
    interval,
    unit,
)
from trueval.report.terminal import grid

Row = Mapping[str, Any]

# Conventional levels of stars; the first is the level of the comparison itself.
STARS = ((0.001, "***"), (0.01, "**"))
SYMBOLS = {UNDECIDABLE: "?", REVERSED: "!"}
# Where a terminal has no room for all of a pair, these are left out, the first first.
PAIR_HEAD = ("pair", "diff", "interval", "over tie orders", "p", "win", "w/t/l", "")
SPARE = ("over tie orders", "w/t/l", "win")
# Runs of which all pairs are shown unless one asks: 15 lines a measure.
MOST_WITH_ALL_PAIRS = 6


def table(comparison: Mapping[str, Any], *, scale: ValueUnit = FRACTIONS, pairs: str = "") -> Group:
    """A comparison for a terminal: runs by measures, then the ranking and the pairs of each measure.

    Args:
        comparison: what `Comparison.to_dict` returns, the JSON of `trueval compare`.
        scale: scale of the printed values.
        pairs: "close" for neighbors in the ranking, "all"; "" for all where they are few.

    Returns:
        A renderable for a rich console of 80 columns or more.
    """
    boards = comparison["leaderboards"]
    parts: list[RenderableType] = []
    if len(boards) > 1:
        parts += [Text("runs by measures", style="bold"), Blocks(*_matrix(comparison, scale)), Text()]
    for board in boards:
        head = ("#", "run", "expected", "lowest, highest", *_letter_heads(comparison))
        ranking = grid(head, "rLrrll"[: len(head)])
        for number, (name, *cells) in enumerate(_ranking_rows(comparison, board, scale), start=1):
            note = " (baseline)" if name == comparison["baseline"] else ""
            ranking.add_row(str(number), Text(name + note), *cells)
        parts += [Text(_heading(board), style="bold"), ranking, Text(), _pair_grid(comparison, board, scale, pairs)]
        left = _describe_omitted_pairs(comparison, board, pairs)
        parts += [*([Text(left, style="dim")] if left else []), Text()]
    parts += reshuffle.table(comparison)
    parts += corrected_renderables(comparison, scale)
    return Group(*parts, *map(Text, [*legend(comparison), *unit(scale)]))


def _pair_grid(comparison: Mapping[str, Any], board: Row, scale: ValueUnit, pairs: str) -> RenderableType:
    # Two names and nine numbers do not fit in 80 columns: a pair is named by its places in the ranking above it.
    place = {row["run"]: index for index, row in enumerate(board["ranking"], start=1)}
    table = grid(PAIR_HEAD, "lrrrrrRl", SPARE)
    for row in select_pairs(comparison, board, pairs):
        symbol = Text(mark(row, comparison["choices"]["level"]), style="bold" if row["separated"] else "yellow")
        table.add_row(f"{place[row['first']]} - {place[row['second']]}", *_numbers(row, scale), symbol)
    return table


class Blocks:
    """A table whose columns continue below the width of the terminal, with the first column repeated.

    Args:
        head: headings.
        rows: cells.
    """

    def __init__(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.head, self.rows = head, rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = [self.head, *self.rows]
        widths = [max(cell_len(cell) for cell in column) for column in zip(*lines, strict=True)]
        # A name may take half of the line; it goes on in the next line beyond that.
        room = options.max_width - min(widths[0], options.max_width // 2) - 1
        start = 1
        while start < len(widths):
            end, used = start, 0
            while end < len(widths) and (end == start or used + widths[end] + 1 <= room):
                used += widths[end] + 1
                end += 1
            block = grid([self.head[0], *self.head[start:end]], "L" + "l" * (end - start))
            for row in self.rows:
                block.add_row(*map(Text, [row[0], *row[start:end]]))
            yield block
            if end < len(widths):
                yield Text()
            start = end


def _matrix(comparison: Mapping[str, Any], scale: ValueUnit) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of expected values with group letters, or with marks against a baseline."""
    boards = comparison["leaderboards"]
    rows = []
    for row in boards[0]["ranking"]:
        cells = []
        for board in boards:
            value, letters = _value_and_letters(comparison, board, row["run"])
            cells.append(f"{format_value(value, scale)} {letters}".rstrip())
        rows.append([row["run"], *cells])
    return ["run", *(board["measure"] for board in boards)], rows


def _value_and_letters(comparison: Mapping[str, Any], board: Row, run: str) -> tuple[float | None, str]:
    """The expected value of a run with its letters, or with the mark of its pair against a baseline."""
    ranked = next(row for row in board["ranking"] if row["run"] == run)
    if comparison["baseline"] is None:
        return ranked["expected"], ranked["groups"]
    for row in comparison["differences"]:
        if (row["measure"], row["first"]) == (board["measure"], run):
            return ranked["expected"], mark(row, comparison["choices"]["level"])
    return ranked["expected"], ""


def _letter_heads(comparison: Mapping[str, Any]) -> tuple[str, ...]:
    """Headings of columns that only a comparison of all pairs has."""
    return ("ranks", "groups") if comparison["baseline"] is None else ()


def to_csv(comparison: Mapping[str, Any]) -> str:
    """One line per pair and measure, in full precision.

    Args:
        comparison: the JSON of `trueval compare`.

    Returns:
        Comma-separated values under a line of names; a number that is not available is empty.
    """
    return formats.to_csv(*csv_rows(comparison))


def to_markdown(comparison: Mapping[str, Any], *, scale: ValueUnit = FRACTIONS, pairs: str = "") -> str:
    """Runs by measures, then a ranking and a table of pairs for each measure, with significance marks.

    Args:
        comparison: the JSON of `trueval compare`.
        scale: scale of the printed values.
        pairs: as `table` takes it.

    Returns:
        Pipe tables, then what the marks mean.
    """
    level = f"{comparison['choices']['level']:.0%}"
    spans = (f"{level} expected", f"{level} interval", "over tie orders")
    head = ("A", "B", "A - B", *spans, "p", "win", "w/t/l", "verdict")
    parts = []
    if len(comparison["leaderboards"]) > 1:
        titles, cells = _matrix(comparison, scale)
        parts.append(f"### Runs by measures\n\n{pipes(titles, cells, words=len(titles))}\n")
    for board in comparison["leaderboards"]:
        titles = ["run", "expected", "lowest, highest", *_letter_heads(comparison)]
        ranking = pipes(titles, _ranking_rows(comparison, board, scale), words=len(titles))
        rows = []
        for row in select_pairs(comparison, board, pairs):
            difference, *rest = _numbers(row, scale)
            verdict = f"{row['verdict']} {mark(row, comparison['choices']['level'])}".rstrip()
            rows.append(
                (row["first"], row["second"], difference, _span(row["expected_interval"], scale), *rest, verdict)
            )
        left = _describe_omitted_pairs(comparison, board, pairs)
        below = f"\n{markdown(left)}\n" if left else ""
        parts.append(f"### {_heading(board)}\n\n{ranking}\n{pipes(head, rows, words=len(head))}{below}\n")
    parts.append(reshuffle.to_markdown(comparison))
    words = [f"- {markdown(line)}\n" for line in [*legend(comparison), *unit(scale)]]
    return "".join([*parts, *corrected_markdown(comparison, scale), *words])


def to_latex(comparison: Mapping[str, Any], *, scale: ValueUnit = FRACTIONS) -> str:
    """A tabular of means for a paper, runs by measures; it needs the package booktabs.

    Args:
        comparison: the JSON of `trueval compare`.
        scale: scale of the printed values.

    Returns:
        The environment. Superscripts are the letters of groups, or, against a baseline, the marks of the pair.
    """
    boards = comparison["leaderboards"]
    rows = (
        [latex(row["run"]), *(_latex_cell(comparison, board, row["run"], scale) for board in boards)]
        for row in boards[0]["ranking"]
    )
    head = ["run", *(latex(board["measure"]) for board in boards)]
    means = tabular(head, rows, "l" * len(head), notes=[*latex_legend(comparison), *unit(scale)])
    return "\n".join([means, *corrected_latex(comparison, scale)])


def mark(row: Row, level: float) -> str:
    """The mark of a pair: stars where it is separated, "?" or "!" where ties speak against it, else nothing.

    Args:
        row: an entry of "differences".
        level: level of the comparison.

    Example:
        >>> mark({"verdict": "separated", "separated": True, "tests": {"adjusted": 0.004}}, 0.95)
        '**'
    """
    symbol = SYMBOLS.get(row["verdict"], "")
    if not row["separated"]:
        return symbol
    p = row["tests"]["adjusted"]
    return symbol + next((stars for bar, stars in STARS if p < min(bar, 1 - level)), "*")


def reverse_pair(row: Row) -> Row:
    """The same pair the other way round: second - first.

    Args:
        row: an entry of "differences".
    """
    minus = {name: None if row[name] is None else -row[name] for name in ("expected", "tie_broken")}
    ends = {"lowest": -row["highest"], "highest": -row["lowest"]} if row["lowest"] is not None else {}
    spans = {name: [None if end is None else -end for end in reversed(row[name])] for name in INTERVALS}
    win = row["win"]
    value = None if win["value"] is None else 1 - win["value"]
    chance = {**win, "value": value, "low": 1 - win["high"], "high": 1 - win["low"]}
    swapped = {"first": row["second"], "second": row["first"], "wins": row["losses"], "losses": row["wins"]}
    return {**row, **minus, **ends, **spans, **swapped, "win": chance}


def select_pairs(comparison: Mapping[str, Any], board: Row, pairs: str = "") -> list[Row]:
    """The pairs of a measure, better system first and best pairs first; against a baseline, the baseline second.

    Args:
        comparison: the JSON of `trueval compare`.
        board: an entry of "leaderboards".
        pairs: as `table` takes it.
    """
    place = {row["run"]: index for index, row in enumerate(board["ranking"])}
    rows = [row for row in comparison["differences"] if row["measure"] == board["measure"]]
    if comparison["baseline"] is None:
        rows = [row if place[row["first"]] < place[row["second"]] else reverse_pair(row) for row in rows]
        if _only_close(comparison, pairs):
            rows = [row for row in rows if place[row["second"]] == place[row["first"]] + 1]
    return sorted(rows, key=lambda row: (place[row["first"]], place[row["second"]]))


def _only_close(comparison: Mapping[str, Any], pairs: str) -> bool:
    """Whether only neighbors in the ranking are shown: with 17 runs all pairs would be 136 lines per measure."""
    return pairs == "close" or (not pairs and len(comparison["runs"]) > MOST_WITH_ALL_PAIRS)


def _describe_omitted_pairs(comparison: Mapping[str, Any], board: Row, pairs: str) -> str:
    """The note where only close pairs are shown."""
    count = sum(row["measure"] == board["measure"] for row in comparison["differences"])
    if comparison["baseline"] is not None or not _only_close(comparison, pairs) or count < len(comparison["runs"]):
        return ""
    return f"The close calls: neighbors in the ranking. --pairs all shows all {count:,} pairs, as JSON and CSV do."


def _heading(board: Row) -> str:
    left_out = f", {len(board['left_out'])} left out" if board["left_out"] else ""
    return (
        f"{board['measure']}: {board['better']} is better, "
        f"{count_phrase(board['queries'], 'query', 'queries')}{left_out}"
    )


def _ranking_rows(comparison: Mapping[str, Any], board: Row, scale: ValueUnit) -> Iterator[tuple[str, ...]]:
    for row in board["ranking"]:
        values = format_value(row["expected"], scale), interval(row["lowest"], row["highest"], scale)
        yield row["run"], *values, *(() if comparison["baseline"] is not None else (ranks(row), row["groups"]))


def ranks(row: Row) -> str:
    """The rank interval of a run as text.

    Args:
        row: an entry of "ranking" of all pairs.

    >>> ranks({"rank_interval": [2, 5]}), ranks({"rank_interval": [1, 1]})
    ('2-5', '1')
    """
    best, worst = row["rank_interval"]
    return str(best) if best == worst else f"{best}-{worst}"


def _numbers(row: Row, scale: ValueUnit) -> Iterator[str]:
    """Difference, realized interval, tie interval, p, win probability, queries won, even and lost."""
    yield format_difference(row["expected"], scale)
    yield _span(row["realized_interval"], scale) + (BOUNDED if row["realized_bounded"] else "")
    yield interval(row["lowest"], row["highest"], scale, format_difference)
    yield format_value(row["tests"]["adjusted"])  # a probability, as the one after it: never in points
    win = row["win"]
    chance = NOT_AVAILABLE if win["value"] is None else f"{win['value']:.3f}"
    yield f"~{chance}" if win["value"] is not None and win["method"] in ("normal", "sampled") else chance
    yield f"{row['wins']}/{row['ties']}/{row['losses']}"


def _span(ends: Sequence[float | None], scale: ValueUnit) -> str:
    low, high = ends
    return interval(low, high, scale, format_difference)


def _latex_cell(comparison: Mapping[str, Any], board: Row, run: str, scale: ValueUnit) -> str:
    expected, superscript = _value_and_letters(comparison, board, run)
    value = latex(format_value(expected, scale))
    return f"{value}$^{{\\mathrm{{{superscript}}}}}$" if superscript else value
