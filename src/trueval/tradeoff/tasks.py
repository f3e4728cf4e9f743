"""Tasks: what goes through one model in a sweep, and what that takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

TIMED: Final = "timed queries"
JUDGED: Final = "passages to judge"
OF_PROBES: Final = "texts of probes"


@dataclass(frozen=True)
class Task:
    """What goes through one model.

    Attributes:
        model: its name.
        what: texts or pairs; queries that are asked one at a time, to time their stages; passages to judge; or texts of
            probes.
        count: how many.
        at_most: whether there may be fewer.
        calls: to a service; 0 of a model that runs here.
        cost: of these calls; None where the price is not known.
        seconds: that it takes, by the probe; None of a service.
    """

    model: str
    what: str
    count: int
    at_most: bool
    calls: int
    cost: float | None
    seconds: float | None


def by_model(tasks: Sequence[Task]) -> list[Task]:
    """The tasks, those that time one model in one line.

    Args:
        tasks: of several models.
    """
    timed: dict[str, list[Task]] = {}
    for task in tasks:
        if task.what == TIMED:
            timed.setdefault(task.model, []).append(task)
    lines = [replace(summed(each), at_most=any(task.at_most for task in each)) for each in timed.values()]
    return [*(task for task in tasks if task.what != TIMED), *lines]


def summed(tasks: Sequence[Task]) -> Task:
    """What goes through one model, in one line.

    Args:
        tasks: of one model.
    """
    first = tasks[0]
    costs = [task.cost for task in tasks]
    known: Mapping[str, Any] = {
        "count": sum(task.count for task in tasks),
        "calls": sum(task.calls for task in tasks),
        "cost": None if None in costs else sum(cost or 0.0 for cost in costs),
        "seconds": None if first.seconds is None else sum(task.seconds or 0.0 for task in tasks),
    }
    return Task(model=first.model, what=first.what, at_most=False, **known)
