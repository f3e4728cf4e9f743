"""The view of a leaderboard: who is best, who is separated from whom, and what each value is worth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from trueval.comparison.comparison import Interval
from trueval.comparison.leaderboard.leaderboard_result import Board, BoardRow, LeaderboardResult
from trueval.report.number_texts import count_phrase
from trueval.report.page_content import Figure
from trueval.report.plots import TieInterval, lead_figure
from trueval.report.units import COUNT, FRACTION, INTERVAL, NAME, interval_of, number
from trueval.report.view import Answer, Column, Quantity, Section, Sentence, Sheet, View, choices_section

MOST_NAMED: Final = 4  # systems that a sentence names
MOST_ROWS: Final = 30  # of a board in texts; CSV and the page have all
MOST_OPEN: Final = 20  # rows that the page shows unfolded
DIGITS: Final = 5  # on the page, which shows four: a page of 1,000 systems and 12 measures is half as long
MEAN: Final = "mean over tasks"


class _ByTask(NamedTuple):
    """A system with its values by task."""

    system: str
    values: Mapping[str, float]


class _CsvRow(NamedTuple):
    """A row with its board."""

    board: Board
    row: BoardRow


def view(result: LeaderboardResult) -> View:
    """What `trueval leaderboard` shows.

    Args:
        result: of the command.
    """
    overall = [board for board in result.boards if not board.task]
    first = overall[0]
    return View(
        title="Leaderboard",
        answer=_answer(result, first),
        lead=_figure(result, first),
        sections=[
            *(_section(result, board, at) for at, board in enumerate(overall)),
            *_matrix(result, overall),
            choices_section("leaderboard", {"level": result.level, **result.choices}),
        ],
        csv=_csv(result),
        findings=list(_findings(result, overall)),
        legend=list(_legend(result)),
        notes=result.notes,
    )


def _answer(result: LeaderboardResult, board: Board) -> Answer:
    best = board.rows[0]
    over = _describe_extent(result)
    group = [row.system for row in board.rows[1:] if row.group == best.group]
    what: Sentence = (f"{best.system} has the best {board.measure}, ", Quantity(best, "value"), f", over {over}.")
    if not best.group:
        sure = "Ranks need two tasks at least, or the runs themselves."
    elif group:
        sure = f"It is not separated from {_list(group)}."
    else:
        sure = "It is separated from every other system."
    unit = "tasks" if result.published else "queries"
    sure += f" Intervals of ranks hold together, over {unit}, at {result.level:.0%}." if best.group else ""
    change = (
        "The runs would say what ties and queries leave open."
        if result.published
        else "More judged queries would narrow the intervals of ranks."
    )
    return Answer(
        what, "Which systems are best?", sure, change, "" if result.published else "trueval compare QRELS A B"
    )


def _describe_extent(result: LeaderboardResult) -> str:
    queries = sum(task.queries or 0 for task in result.tasks)
    tasks = count_phrase(len(result.tasks), "task", "tasks")
    if result.published:
        return tasks
    counted = count_phrase(queries, "query", "queries")
    return counted if len(result.tasks) == 1 else f"{tasks} and {counted}"


def _list(names: Sequence[str]) -> str:
    shown = (
        list(names) if len(names) <= MOST_NAMED else [*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} more"]
    )
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _findings(result: LeaderboardResult, overall: Sequence[Board]) -> Iterator[Sentence]:
    others = [board for board in overall[1:] if board.rows[0].system != overall[0].rows[0].system]
    for board in others[:MOST_NAMED]:
        best = board.rows[0]
        place = next(row.place for row in overall[0].rows if row.system == best.system)
        yield (
            f"{best.system} is first on {board.measure}, ",
            Quantity(best, "value"),
            f"; it has place {place} on {overall[0].measure}.",
        )
    if len(result.tasks) > 1:
        rows = [row for row in overall[0].rows if row.place is not None]
        leader = max(rows, key=lambda row: row.borda)
        if leader.system != rows[0].system:
            yield f"By Borda count over tasks {leader.system} comes first on {overall[0].measure}."


def _figure(result: LeaderboardResult, board: Board) -> Figure:
    dots = [
        TieInterval(row.system, row.value, *(row.value if math.isnan(end) else end for end in row.tie_range))
        for row in board.rows
        if row.place is not None
    ]
    figure = lead_figure("leaderboard-values", board.measure, dots, {})
    return replace(figure, key=(("dot", "published value"),)) if result.published else figure


def _section(result: LeaderboardResult, board: Board, at: int) -> Section:
    columns = _columns(result)
    sheets: list[Sheet[BoardRow] | Sheet[_ByTask]] = []
    cut = board.rows[:MOST_ROWS]
    title = f"{board.measure}, {MEAN}" if len(result.tasks) > 1 else board.measure
    rest = len(board.rows) - len(cut)
    shown = title if not rest else f"{title}: the first {len(cut)} of {len(board.rows):,}"
    sheets.append(Sheet(shown, cut, _columns(result), only="text"))
    sheets.append(
        Sheet(
            title,
            board.rows,
            [*columns, *([Column("lacks", lambda row: ", ".join(row.lacks))] if _some_lack(board) else [])],
            only="page",
            folded=len(board.rows) > MOST_OPEN,
            id=f"leaderboard-{at}",
        )
    )
    if len(result.tasks) > 1:
        sheets += list(_by_task(result, board, at))
    return Section(f"Systems by {board.measure}", sheets, open=at == 0, id=f"leaderboard-{at}-block")


def _some_lack(board: Board) -> bool:
    return any(row.lacks for row in board.rows)


def _columns(result: LeaderboardResult) -> list[Column[BoardRow]]:
    columns: list[Column[BoardRow]] = [
        Column("#", lambda row: row.place, COUNT),
        Column("system", lambda row: row.system, NAME),
        Column("value", lambda row: _short(row.value), FRACTION),
    ]
    if not result.published:
        columns.append(
            Column(
                "lowest, highest", lambda row: _shorten(row.tie_range), INTERVAL, leaves=2, ends=("lowest", "highest")
            )
        )
    over = "over tasks" if result.published else "over queries"
    if len(result.tasks) > 1 or not result.published:
        columns += [
            Column(f"interval {over}", lambda row: _shorten(row.interval), INTERVAL, leaves=3, ends=("low", "high")),
            Column("ranks", lambda row: row.ranks, interval_of(COUNT), ends=("best rank", "worst rank")),
            Column("group", lambda row: row.group or None, COUNT),
        ]
    if len(result.tasks) > 1:
        columns += [
            Column("mean rank", lambda row: _none(row.mean_rank), number(".2f"), leaves=1),
            Column("Borda", lambda row: _none(row.borda), number("g"), leaves=1),
        ]
    return columns


def _none(value: float) -> float | None:
    return None if math.isnan(value) else value


def _short(value: float) -> float | None:
    return None if math.isnan(value) else round(value, DIGITS)


def _shorten(ends: Interval) -> Interval:
    return Interval(*(end if math.isnan(end) else round(end, DIGITS) for end in ends))


def _by_task(result: LeaderboardResult, board: Board, at: int) -> Iterator[Sheet[_ByTask]]:
    """The values of a measure, system by task."""
    of_task = {
        each.task: {row.system: row.value for row in each.rows}
        for each in result.boards
        if each.task and each.measure == board.measure
    }
    rows = [
        _ByTask(row.system, {task: values.get(row.system, math.nan) for task, values in of_task.items()})
        for row in board.rows
    ]
    columns: list[Column[_ByTask]] = [
        Column("system", lambda row: row.system, NAME),
        *(Column(task, _value_of(task), FRACTION) for task in of_task),
    ]
    cut = rows[:MOST_ROWS]
    yield Sheet(f"{board.measure} by task", cut, columns, only="text")
    yield Sheet(
        f"{board.measure} by task",
        rows,
        columns,
        only="page",
        folded=len(rows) > MOST_OPEN,
        id=f"leaderboard-{at}-tasks",
    )


def _value_of(name: str) -> Callable[[_ByTask], float | None]:
    return lambda row: _short(row.values[name])


def _matrix(result: LeaderboardResult, overall: Sequence[Board]) -> Iterator[Section]:
    """Systems by measures, where there are several."""
    if len(overall) < 2:
        return
    values = {board.measure: {row.system: row.value for row in board.rows} for board in overall}
    rows = [
        _ByTask(row.system, {measure: each[row.system] for measure, each in values.items()}) for row in overall[0].rows
    ]
    columns: list[Column[_ByTask]] = [
        Column("system", lambda row: row.system, NAME),
        *(Column(measure, _value_of(measure), FRACTION) for measure in values),
    ]
    title = "Systems by measures"
    sheet = Sheet(title, rows, columns, only="page", folded=len(rows) > MOST_OPEN, id="leaderboard-matrix")
    yield Section(title, [sheet], id="leaderboard-matrix-block")


def _csv(result: LeaderboardResult) -> Sheet[_CsvRow]:
    rows = [_CsvRow(board, row) for board in result.boards for row in board.rows]
    columns: list[Column[_CsvRow]] = [
        Column("measure", lambda each: each.board.measure),
        Column("task", lambda each: each.board.task),
        Column("place", lambda each: each.row.place),
        Column("system", lambda each: each.row.system),
        Column("value", lambda each: each.row.value),
        Column("lowest", lambda each: each.row.tie_range.low),
        Column("highest", lambda each: each.row.tie_range.high),
        Column("interval_low", lambda each: each.row.interval.low),
        Column("interval_high", lambda each: each.row.interval.high),
        Column("best_rank", lambda each: None if each.row.ranks is None else each.row.ranks.low),
        Column("worst_rank", lambda each: None if each.row.ranks is None else each.row.ranks.high),
        Column("group", lambda each: each.row.group or None),
        Column("mean_rank", lambda each: each.row.mean_rank),
        Column("borda", lambda each: each.row.borda),
        Column("lacks", lambda each: " ".join(each.row.lacks)),
    ]
    return Sheet("", rows, columns)


def _legend(result: LeaderboardResult) -> Iterator[str]:
    unit = "tasks" if result.published else "queries"
    yield "value: expected value over the orders of ties" + (", mean over tasks." if len(result.tasks) > 1 else ".")
    if not result.published:
        yield "lowest, highest: what the orders of tied documents can make of the value."
    yield f"interval: of the value, over {unit}, of each system alone, at level {result.level:g}."
    yield (
        f"ranks: those that a system may have; all hold together at level {result.level:g}, over {unit}. A system is "
        "below those that are separated from it as better, and above those separated as worse."
    )
    yield "group: its leader is the best system of no earlier group, from which no system of the group is separated."
    if len(result.tasks) > 1:
        yield "mean rank: over tasks, equal values sharing the mean of their ranks."
        yield "Borda: sum over tasks of the number of systems less the rank, as MMTEB counts it."
