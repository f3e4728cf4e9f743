"""Comparisons as people and papers read them: a terminal table of 80 columns, Markdown, LaTeX, CSV."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from trueval.comparison.comparison import flatten
from trueval.comparison.verdict import REVERSED, UNDECIDABLE
from trueval.report import formats
from trueval.report.formats import latex, markdown, pipes, tabular
from trueval.report.terminal import grid
from trueval.report.text import FRACTIONS, NOT_AVAILABLE, Scale, counted, fixed, interval, signed, unit

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


def table(comparison: Mapping[str, Any], *, scale: Scale = FRACTIONS) -> Group:
    """What a person reads of a comparison: for each measure the leaderboard, then the pairs; then what marks mean.

    Args:
        comparison: what `Comparison.to_dict` returns, the JSON of `trueval compare`.
        scale: of the values.

    Returns:
        A renderable for a rich console of 80 columns or more.
    """
    parts: list[RenderableType] = []
    groups = "groups" if comparison["baseline"] is None else ""
    for board in comparison["leaderboards"]:
        ranking = grid(("#", "run", "expected", "lowest, highest", groups), "rLrrl")
        for number, (name, *cells) in enumerate(_ranked(board, scale), start=1):
            note = " (baseline)" if name == comparison["baseline"] else ""
            ranking.add_row(str(number), Text(name + note), *cells)
        # Two names and nine numbers do not fit in 80 columns: a pair is named by its places in the table above it.
        place = {row["run"]: index for index, row in enumerate(board["ranking"], start=1)}
        pairs = grid(("pair", "diff", "interval", "over tie orders", "p", "win", "w/t/l", ""), "lrrrrrRl")
        for row in _shown(comparison, board):
            symbol = Text(mark(row, comparison["choices"]["level"]), style="bold" if row["separated"] else "yellow")
            pairs.add_row(f"{place[row['first']]} - {place[row['second']]}", *_numbers(row, scale), symbol)
        parts += [Text(_heading(board), style="bold"), ranking, Text(), pairs, Text()]
    return Group(*parts, *map(Text, [*legend(comparison), *unit(scale)]))


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
        yield "Systems that share a letter are not separated."
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
    missing = choices["policy"]["missing"]
    return f"missing queries {missing}, {choices['resamples']:,} resamples, seed {choices['seed']}."


def _family(choices: Mapping[str, Any]) -> str:
    return "the pairs of a measure" if choices["family"] == "measure" else "all pairs and measures"


def _latex_legend(comparison: Mapping[str, Any]) -> Iterator[str]:
    """What the superscripts mean: marks of a pair against a baseline, letters of groups without one."""
    choices = comparison["choices"]
    if comparison["baseline"] is None:
        yield (
            f"Superscripts: systems that share a letter are not separated at level {choices['level']:g} by the "
            f"paired {choices['test']} test, adjusted by Holm over {_family(choices)}, and the orders of ties."
        )
    else:
        yield f"Superscripts: marks of the difference from {comparison['baseline']}."
        yield from mark_legend(comparison)
    yield settings(comparison)


def to_csv(comparison: Mapping[str, Any]) -> str:
    """One line for each pair and measure, in full precision.

    Args:
        comparison: the JSON of `trueval compare`.

    Returns:
        Comma-separated values under a line of names; a number that is not available is empty.
    """
    rows = [dict(flatten(row)) for row in comparison["differences"]]
    return formats.to_csv(list(rows[0]), rows)


def to_markdown(comparison: Mapping[str, Any], *, scale: Scale = FRACTIONS) -> str:
    """A leaderboard and a table of pairs for each measure, with significance marks.

    Args:
        comparison: the JSON of `trueval compare`.
        scale: of the values.

    Returns:
        Pipe tables, then what the marks mean.
    """
    level = f"{comparison['choices']['level']:.0%}"
    spans = (f"{level} expected", f"{level} interval", "over tie orders")
    head = ("A", "B", "A - B", *spans, "p", "win", "w/t/l", "verdict")
    parts = []
    for board in comparison["leaderboards"]:
        ranking = pipes(("run", "expected", "lowest, highest", "groups"), _ranked(board, scale), words=4)
        rows = []
        for row in _shown(comparison, board):
            difference, *rest = _numbers(row, scale)
            verdict = f"{row['verdict']} {mark(row, comparison['choices']['level'])}".rstrip()
            rows.append(
                (row["first"], row["second"], difference, _span(row["expected_interval"], scale), *rest, verdict)
            )
        parts.append(f"### {_heading(board)}\n\n{ranking}\n{pipes(head, rows, words=len(head))}\n")
    return "".join([*parts, *(f"- {markdown(line)}\n" for line in [*legend(comparison), *unit(scale)])])


def to_latex(comparison: Mapping[str, Any], *, scale: Scale = FRACTIONS) -> str:
    """A tabular of means for a paper, runs by measures; it needs the package booktabs.

    Args:
        comparison: the JSON of `trueval compare`.
        scale: of the values.

    Returns:
        The environment. Superscripts are the letters of groups, or, against a baseline, the marks of the pair.
    """
    boards = comparison["leaderboards"]
    rows = (
        [latex(row["run"]), *(_latex_cell(comparison, board, row["run"], scale) for board in boards)]
        for row in boards[0]["ranking"]
    )
    head = ["run", *(latex(board["measure"]) for board in boards)]
    return tabular(head, rows, "l" * len(head), notes=[*_latex_legend(comparison), *unit(scale)])


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
    p = row["tests"]["adjusted"]
    return symbol + next((stars for bar, stars in STARS if p < min(bar, 1 - level)), "*")


def turned(row: Row) -> Row:
    """The same pair the other way round: second - first.

    Args:
        row: an entry of "differences".
    """
    minus = {name: None if row[name] is None else -row[name] for name in ("expected", "tie_broken")}
    ends = {"lowest": -row["highest"], "highest": -row["lowest"]} if row["lowest"] is not None else {}
    intervals = ("expected_interval", "realized_interval")
    spans = {name: [None if end is None else -end for end in reversed(row[name])] for name in intervals}
    win = row["win"]
    value = None if win["value"] is None else 1 - win["value"]
    chance = {**win, "value": value, "low": 1 - win["high"], "high": 1 - win["low"]}
    swapped = {"first": row["second"], "second": row["first"], "wins": row["losses"], "losses": row["wins"]}
    return {**row, **minus, **ends, **spans, **swapped, "win": chance}


def _shown(comparison: Mapping[str, Any], board: Row) -> list[Row]:
    """The pairs of a measure: the better system first, best pairs first; against a baseline, the baseline second."""
    place = {row["run"]: index for index, row in enumerate(board["ranking"])}
    rows = [row for row in comparison["differences"] if row["measure"] == board["measure"]]
    if comparison["baseline"] is None:
        rows = [row if place[row["first"]] < place[row["second"]] else turned(row) for row in rows]
    return sorted(rows, key=lambda row: (place[row["first"]], place[row["second"]]))


def _heading(board: Row) -> str:
    left_out = f", {len(board['left_out'])} left out" if board["left_out"] else ""
    return f"{board['measure']}: {board['better']} is better, {counted(board['queries'], 'query', 'queries')}{left_out}"


def _ranked(board: Row, scale: Scale) -> Iterator[tuple[str, ...]]:
    for row in board["ranking"]:
        values = fixed(row["expected"], scale), interval(row["lowest"], row["highest"], scale)
        yield row["run"], *values, row["groups"]


def _numbers(row: Row, scale: Scale) -> Iterator[str]:
    """Difference, realized interval, tie interval, p, win probability, queries won, even and lost."""
    yield signed(row["expected"], scale)
    yield _span(row["realized_interval"], scale) + (BOUNDED if row["realized_bounded"] else "")
    yield _span((row["lowest"], row["highest"]), scale)
    yield fixed(row["tests"]["adjusted"])  # a probability, as the one after it: never in points
    win = row["win"]
    chance = NOT_AVAILABLE if win["value"] is None else f"{win['value']:.3f}"
    yield f"~{chance}" if win["value"] is not None and win["method"] in ("normal", "sampled") else chance
    yield f"{row['wins']}/{row['ties']}/{row['losses']}"


def _span(ends: Sequence[float | None], scale: Scale) -> str:
    low, high = ends
    return NOT_AVAILABLE if low is None or high is None else f"[{signed(low, scale)}, {signed(high, scale)}]"


def _latex_cell(comparison: Mapping[str, Any], board: Row, run: str, scale: Scale) -> str:
    ranked = next(row for row in board["ranking"] if row["run"] == run)
    superscript = ranked["groups"]
    for row in comparison["differences"] if comparison["baseline"] is not None else ():
        if (row["measure"], row["first"]) == (board["measure"], run):
            superscript = mark(row, comparison["choices"]["level"])
    value = latex(fixed(ranked["expected"], scale))
    return f"{value}$^{{\\mathrm{{{superscript}}}}}$" if superscript else value
