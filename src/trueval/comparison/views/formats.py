"""Comparisons as people and papers read them: a terminal table of 80 columns, Markdown, LaTeX, CSV, JSON."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from trueval.comparison.comparison import flatten
from trueval.comparison.verdict import REVERSED, UNDECIDABLE
from trueval.evaluation.views.formats import LATEX_SPECIALS
from trueval.report.text import NOT_AVAILABLE, counted, fixed, interval, signed

Row = Mapping[str, Any]

# Conventional levels of stars; the first is the level of the comparison itself.
STARS = ((0.001, "***"), (0.01, "**"))
SYMBOLS = {UNDECIDABLE: "?", REVERSED: "!"}
# Beside an interval of a realized difference whose ends are bounds; the mark of `evaluate` for what is not exact.
BOUNDED = "°"
BOUNDED_LEGEND = (
    f"{BOUNDED} bounded: a standard deviation over tie orders is not known, so the interval is made from lowest and "
    "highest values. It holds at its level whatever the orders are, chosen ones too, and is wide."
)


def table(comparison: Mapping[str, Any]) -> Group:
    """What a person reads of a comparison: for each measure the leaderboard, then the pairs; then what marks mean.

    Args:
        comparison: what `Comparison.to_dict` returns, the JSON of `trueval compare`.

    Returns:
        A renderable for a rich console of 80 columns or more.
    """
    parts: list[RenderableType] = []
    for board in comparison["leaderboards"]:
        parts += [_title(board), _leaderboard(comparison, board), Text(), _pairs(comparison, board), Text()]
    return Group(*parts, *map(Text, legend(comparison)))


def legend(comparison: Mapping[str, Any]) -> Iterator[str]:
    """What the marks and columns of a table of pairs mean, and how it was made.

    Args:
        comparison: the JSON of `trueval compare`.

    Yields:
        Sentences.
    """
    yield from mark_legend(comparison)
    level = f"{comparison['choices']['level']:.0%}"
    if comparison["baseline"] is None:
        yield "Systems that share a letter cannot be told apart."
    yield (
        f"interval: {level} of a realized difference, over queries and tie orders; it is not cut where the measure "
        "ends, so that with few queries it may pass the largest possible difference. "
        "win: probability over tie orders that the first is better; ~ where normal, not exact. "
        "w/t/l: queries on which the first wins, ties, loses."
    )
    if any(row["realized_bounded"] for row in comparison["differences"]):
        yield BOUNDED_LEGEND
    yield settings(comparison)


def mark_legend(comparison: Mapping[str, Any]) -> Iterator[str]:
    """What the marks of a pair mean.

    Args:
        comparison: the JSON of `trueval compare`.
    """
    choices = comparison["choices"]
    yield (
        f"* separated: p < {1 - choices['level']:.2g} by the paired {choices['test']} test, adjusted by Holm over "
        f"{_family(choices)} (** p < .01, *** p < .001), and ties do not undo it."
    )
    yield f"? {UNDECIDABLE}: neither wins in {choices['level']:.0%} of the tie orders."
    yield f"! {REVERSED}."
    yield "No mark: not separated by these queries."


def settings(comparison: Mapping[str, Any]) -> str:
    """How a comparison was made.

    Args:
        comparison: the JSON of `trueval compare`.
    """
    choices = comparison["choices"]
    return (
        f"missing queries {choices['policy']['missing']}, {choices['resamples']:,} resamples, seed {choices['seed']}."
    )


def _family(choices: Mapping[str, Any]) -> str:
    return "the pairs of a measure" if choices["family"] == "measure" else "all pairs and measures"


def _latex_legend(comparison: Mapping[str, Any]) -> Iterator[str]:
    """What the superscripts mean: marks of a pair against a baseline, letters of groups without one."""
    choices = comparison["choices"]
    if comparison["baseline"] is None:
        yield (
            f"Superscripts: systems that share a letter cannot be told apart at level {choices['level']:g} by the "
            f"paired {choices['test']} test, adjusted by Holm over {_family(choices)}, and the orders of ties."
        )
    else:
        yield f"Superscripts: marks of the difference from {comparison['baseline']}."
        yield from mark_legend(comparison)
    yield settings(comparison)


def to_json(comparison: Mapping[str, Any]) -> str:
    """The comparison as it is, in full precision.

    Args:
        comparison: the JSON of `trueval compare`.

    Returns:
        JSON with a line feed at its end; a number that is not available is null.
    """
    return json.dumps(comparison, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def to_csv(comparison: Mapping[str, Any]) -> str:
    """One line for each pair and measure, in full precision.

    Args:
        comparison: the JSON of `trueval compare`.

    Returns:
        Comma-separated values under a line of names; a number that is not available is empty.
    """
    rows = [dict(flatten(row)) for row in comparison["differences"]]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def to_markdown(comparison: Mapping[str, Any]) -> str:
    """A leaderboard and a table of pairs for each measure, with significance marks.

    Args:
        comparison: the JSON of `trueval compare`.

    Returns:
        Pipe tables with four decimals, then what the marks mean.
    """
    level = f"{comparison['choices']['level']:.0%}"
    heads = (
        "A",
        "B",
        "A - B",
        f"{level} expected",
        f"{level} interval",
        "over tie orders",
        "p",
        "win",
        "w/t/l",
        "verdict",
    )
    lines = []
    for board in comparison["leaderboards"]:
        lines += [
            f"### {_heading(board)}",
            "",
            *_pipes(("run", "expected", "lowest, highest", "groups"), _ranked(board)),
        ]
        lines += ["", *_pipes(heads, (_full(row, comparison) for row in _shown(comparison, board))), ""]
    return "\n".join([*lines, *(f"- {_escape(line)}" for line in legend(comparison))]) + "\n"


def to_latex(comparison: Mapping[str, Any]) -> str:
    """A tabular of means for a paper, runs by measures; it needs the package booktabs.

    Args:
        comparison: the JSON of `trueval compare`.

    Returns:
        The environment. Superscripts are the letters of groups, or, against a baseline, the marks of the pair.
    """
    boards = comparison["leaderboards"]
    runs = [row["run"] for row in boards[0]["standings"]]
    head = " & ".join(["run", *(board["measure"].translate(LATEX_SPECIALS) for board in boards)])
    rows = "".join(
        " & ".join([run.translate(LATEX_SPECIALS), *(_latex_cell(comparison, board, run) for board in boards)])
        + " \\\\\n"
        for run in runs
    )
    notes = "".join(f"% {line}\n" for line in _latex_legend(comparison))
    columns = "l" * (1 + len(boards))
    body = f"\\toprule\n{head} \\\\\n\\midrule\n{rows}\\bottomrule\n"
    return f"{notes}\\begin{{tabular}}{{{columns}}}\n{body}\\end{{tabular}}\n"


WRITERS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "json": to_json,
    "csv": to_csv,
    "markdown": to_markdown,
    "latex": to_latex,
}


def mark(row: Row, level: float) -> str:
    """The mark of a pair: stars where it is separated, "?" or "!" where ties speak against it, else nothing.

    Args:
        row: an entry of "differences".
        level: of the comparison.

    Example:
        >>> mark({"verdict": "separated", "separated": True, "tests": {"holm": 0.004}}, 0.95)
        '**'
    """
    symbol = SYMBOLS.get(row["verdict"], "")
    if not row["separated"]:
        return symbol
    p = row["tests"]["holm"]
    return symbol + next((stars for bar, stars in STARS if p < min(bar, 1 - level)), "*")


def turned(row: Row) -> Row:
    """The same pair the other way round: second - first.

    Args:
        row: an entry of "differences".
    """
    minus = {name: None if row[name] is None else -row[name] for name in ("expected", "oblivious")}
    ends = {"lowest": -row["highest"], "highest": -row["lowest"]} if row["lowest"] is not None else {}
    spans = {name: _turned_span(row[name]) for name in ("expected_interval", "realized_interval")}
    win = row["win"]
    chance = {**win, "value": _complement(win["value"]), "low": 1 - win["high"], "high": 1 - win["low"]}
    swapped = {"first": row["second"], "second": row["first"], "wins": row["losses"], "losses": row["wins"]}
    return {**row, **minus, **ends, **spans, **swapped, "win": chance}


def _turned_span(span: list[float | None]) -> list[float | None]:
    return [None if end is None else -end for end in reversed(span)]


def _complement(share: float | None) -> float | None:
    return None if share is None else 1 - share


def _shown(comparison: Mapping[str, Any], board: Row) -> list[Row]:
    """The pairs of a measure: the better system first, best pairs first; against a baseline, the baseline second."""
    place = {row["run"]: index for index, row in enumerate(board["standings"])}
    rows = [row for row in comparison["differences"] if row["measure"] == board["measure"]]
    if comparison["baseline"] is None:
        rows = [row if place[row["first"]] < place[row["second"]] else turned(row) for row in rows]
    return sorted(rows, key=lambda row: (place[row["first"]], place[row["second"]]))


def _heading(board: Row) -> str:
    left_out = f", {len(board['left_out'])} left out" if board["left_out"] else ""
    return f"{board['measure']}: {board['better']} is better, {counted(board['queries'], 'query', 'queries')}{left_out}"


def _title(board: Row) -> Text:
    return Text(_heading(board), style="bold")


def _leaderboard(comparison: Mapping[str, Any], board: Row) -> Table:
    grid = _grid("#", "run", "expected", "lowest, highest", "groups" if comparison["baseline"] is None else "")
    for number, (name, *cells) in enumerate(_ranked(board), start=1):
        note = " (baseline)" if name == comparison["baseline"] else ""
        grid.add_row(str(number), Text(name + note), *cells)
    return grid


def _pairs(comparison: Mapping[str, Any], board: Row) -> Table:
    number = {row["run"]: index for index, row in enumerate(board["standings"], start=1)}
    grid = _grid("pair", "diff", "interval", "over tie orders", "p", "win", "w/t/l", "")
    for row in _shown(comparison, board):
        pair = f"{number[row['first']]} - {number[row['second']]}"
        symbol = mark(row, comparison["choices"]["level"])
        grid.add_row(Text(pair), *_numbers(row), Text(symbol, style="bold" if row["separated"] else "yellow"))
    return grid


def _grid(*columns: str) -> Table:
    grid = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    for column in columns:
        left = column in ("run", "pair", "groups", "")
        grid.add_column(
            Text(column), justify="left" if left else "right", overflow="fold", no_wrap=column not in ("run", "w/t/l")
        )
    return grid


def _ranked(board: Row) -> Iterator[tuple[str, ...]]:
    for row in board["standings"]:
        yield row["run"], fixed(row["expected"]), interval(row["lowest"], row["highest"]), row["groups"]


def _numbers(row: Row) -> Iterator[str]:
    """Difference, realized interval, tie interval, p, win probability, queries won, tied and lost."""
    yield signed(row["expected"])
    yield _span(*row["realized_interval"]) + (BOUNDED if row["realized_bounded"] else "")
    yield _span(row["lowest"], row["highest"])
    yield fixed(row["tests"]["holm"])
    yield _win(row["win"])
    yield f"{row['wins']}/{row['ties']}/{row['losses']}"


def _full(row: Row, comparison: Mapping[str, Any]) -> Iterator[str]:
    difference, realized, *rest = _numbers(row)
    yield from (row["first"], row["second"], difference, _span(*row["expected_interval"]), realized, *rest)
    yield f"{row['verdict']} {mark(row, comparison['choices']['level'])}".rstrip()


def _span(low: float | None, high: float | None) -> str:
    return NOT_AVAILABLE if low is None or high is None else f"[{signed(low)}, {signed(high)}]"


def _win(win: Row) -> str:
    if win["value"] is None:
        return NOT_AVAILABLE
    return ("~" if win["method"] in ("normal", "sampled") else "") + f"{win['value']:.3f}"


def _latex_cell(comparison: Mapping[str, Any], board: Row, run: str) -> str:
    standing = next(row for row in board["standings"] if row["run"] == run)
    superscript = standing["groups"]
    for row in comparison["differences"] if comparison["baseline"] is not None else ():
        if (row["measure"], row["first"]) == (board["measure"], run):
            superscript = mark(row, comparison["choices"]["level"])
    value = fixed(standing["expected"]).translate(LATEX_SPECIALS)
    return f"{value}$^{{\\mathrm{{{superscript}}}}}$" if superscript else value


def _pipes(heads: tuple[str, ...], rows: Iterator[tuple[str, ...]] | Iterator[Iterator[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield f"| {' | '.join(map(_escape, row))} |"


def _escape(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")
