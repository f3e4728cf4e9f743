"""The result of `trueval leaderboard`: systems over tasks, with the ranks that each may have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from trueval.comparison.comparison import Interval, RankInterval
from trueval.report.result import Result


@dataclass(frozen=True)
class BoardTask:
    """A task.

    Attributes:
        name: its folder, or its name in published results.
        queries: judged queries; None where only values are published.
    """

    name: str
    queries: int | None


@dataclass(frozen=True)
class BoardRow:
    """A system on one measure.

    Attributes:
        place: 1 for the best value; equal values share a place; None without a value.
        system: its name.
        value: expected value, or the published one; NaN where the system lacks a task.
        tie_range: lowest and highest value over tie orders; NaN where only values are published.
        interval: interval of the value over queries (over tasks, of published values); NaN below two of them.
        ranks: the ranks that it may have, simultaneous over all systems; None without a value.
        group: number of its group: its leader is the best system of no earlier group, and no system of the group is
            separated from it; 0 without a value.
        mean_rank: mean over tasks of its rank, equal values sharing the mean of their ranks; NaN where it lacks a task.
        borda: sum over tasks of the number of systems less its rank, as MMTEB counts; NaN where it lacks a task.
        lacks: tasks that it was not measured on.
    """

    place: int | None
    system: str
    value: float
    tie_range: Interval
    interval: Interval
    ranks: RankInterval | None
    group: int
    mean_rank: float
    borda: float
    lacks: tuple[str, ...]


@dataclass(frozen=True)
class Board:
    """The systems on one measure, best first.

    Attributes:
        measure: the measure's text form, or the key of published results.
        task: name of the task; "" for the mean over all tasks.
        better: "higher" or "lower".
        rows: systems with a value, best first; then those without.
    """

    measure: str
    task: str
    better: str
    rows: tuple[BoardRow, ...]


@dataclass(frozen=True, repr=False)
class LeaderboardResult(Result):
    """Many systems, over queries and over tasks.

    Attributes:
        published: whether only values are known, and not the runs behind them.
        level: level of intervals and ranks.
        systems: number of systems.
        tasks: the tasks.
        boards: for each measure that over all tasks, then that of each task where there are several.
        choices: seed and policy.
        notes: one-line remarks for readers.
    """

    KIND: ClassVar = "leaderboard"
    FORMAT: ClassVar = 1

    published: bool
    level: float
    systems: int
    tasks: tuple[BoardTask, ...]
    boards: tuple[Board, ...]
    choices: Mapping[str, object]
    notes: tuple[str, ...] = ()

    def board(self, measure: str, task: str = "") -> Board:
        """The board of a measure, over all tasks or of one.

        Raises:
            KeyError: there is none.
        """
        found = next((each for each in self.boards if (each.measure, each.task) == (measure, task)), None)
        if found is None:
            raise KeyError((measure, task))
        return found
