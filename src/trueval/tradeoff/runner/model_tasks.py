"""Model tasks: items that go through one model in a sweep with their cost, and the total estimate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from trueval.models.hosted.account import in_words
from trueval.models.hosted.account import sum_costs as total
from trueval.tradeoff.config.grid import Reason

TIMED: Final = "timed queries"
JUDGED: Final = "passages to judge"
OF_PROBES: Final = "texts of probes"
PROBED: Final = 16  # number of texts or pairs for timing a model


@dataclass(frozen=True)
class ModelTask:
    """The items of one model.

    Attributes:
        what: kind of item: texts, pairs, queries asked one at a time for timing, passages to judge, or texts of probes.
        count: number of items.
        at_most: whether the count is an upper bound.
        calls: number of calls to a service; 0 for a local model.
        cost: expected cost of the calls; None if the price is unknown.
        seconds: estimated duration, from a trial; None for a service.
        cost_at_most: maximum cost, without repeated calls; None if unknown.
    """

    model: str
    what: str
    count: int
    at_most: bool
    calls: int
    cost: float | None
    seconds: float | None
    cost_at_most: float | None = 0.0


def by_model(tasks: Sequence[ModelTask]) -> list[ModelTask]:
    """The tasks, with timings of the same model merged."""
    timed: dict[str, list[ModelTask]] = {}
    for task in tasks:
        if task.what == TIMED:
            timed.setdefault(task.model, []).append(task)
    lines = [replace(sum_tasks(each), at_most=any(task.at_most for task in each)) for each in timed.values()]
    return [*(task for task in tasks if task.what != TIMED), *lines]


def sum_tasks(tasks: Sequence[ModelTask]) -> ModelTask:
    """The tasks of one model merged into one."""
    first = tasks[0]
    known: Mapping[str, Any] = {
        "count": sum(task.count for task in tasks),
        "calls": sum(task.calls for task in tasks),
        "cost": total(task.cost for task in tasks),
        "cost_at_most": total(task.cost_at_most for task in tasks),
        "seconds": None if first.seconds is None else sum(task.seconds or 0.0 for task in tasks),
    }
    return ModelTask(model=first.model, what=first.what, at_most=False, **known)


@dataclass(frozen=True)
class SweepEstimate:
    """The estimated work of a sweep.

    Attributes:
        done: number of systems finished earlier.
        ready: number of systems that are finished or can start.
        tasks: items for each model.
        failed: systems that cannot start, with reasons.
        max_cost: spending limit for services and judge together; None for no limit.
    """

    name: str
    systems: int
    configurations: int
    done: int
    ready: int
    tasks: tuple[ModelTask, ...]
    left_out: tuple[Reason, ...]
    failed: tuple[Reason, ...]
    notes: tuple[str, ...]
    max_cost: float | None = None

    @property
    def calls(self) -> int:
        """Number of calls to services."""
        return sum(task.calls for task in self.tasks)

    @property
    def cost(self) -> float | None:
        """Expected cost of all calls; None if a price is unknown."""
        return total(task.cost for task in self.tasks if task.calls)

    @property
    def at_most(self) -> float | None:
        """Maximum cost of all calls; None if unknown."""
        return total(task.cost_at_most for task in self.tasks if task.calls)

    @property
    def seconds(self) -> float:
        """Seconds of the local models."""
        return sum(task.seconds or 0.0 for task in self.tasks)

    def count(self, what: str) -> int:
        """Number of texts or pairs that go through models.

        Args:
            what: kind of item, as in ModelTask.
        """
        return sum(task.count for task in self.tasks if task.what == what)

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `trueval sweep --dry-run`."""
        return {
            "name": self.name,
            "systems": self.systems,
            "configurations": self.configurations,
            "done": self.done,
            "ready": self.ready,
            "texts": self.count("texts"),
            "pairs": self.count("pairs"),
            "calls": self.calls,
            "cost": self.cost,
            "at_most": self.at_most,
            "max_cost": self.max_cost,
            "seconds": self.seconds,
            "tasks": [vars(task) for task in self.tasks],
            "left_out": [each._asdict() for each in self.left_out],
            "failed": [each._asdict() for each in self.failed],
            "notes": list(self.notes),
        }

    def sentences(self) -> list[str]:
        """The estimate as sentences."""
        told = [
            f"{self.name}: {self.configurations:,} configurations of {self.systems:,} systems, {self.done:,} of them "
            "done."
        ]
        for task in self.tasks:
            most = "at most " if task.at_most else ""
            of = task.what if task.what != TIMED else "items"
            if task.seconds is None:
                server = "its service" if task.what != JUDGED else "the judge"
                how = f"in {task.calls:,} calls to {server}, {in_words(task.cost, task.cost_at_most)}"
            else:
                how = f"about {task.seconds / 60:.1f} minutes, by the speed of {PROBED} {of}"
            told.append(f"{task.model}: {most}{task.count:,} {task.what}, {how}.")
        if not self.tasks:
            told.append("No text goes through a model: all that models must give is in the cache.")
        if self.max_cost is not None:
            told.append(f"max_cost is {self.max_cost:g}: {self._allowed(self.max_cost)}")
        by_reason: dict[str, list[str]] = {}
        for each in self.failed:
            by_reason.setdefault(each.reason, []).append(each.name)
        for reason, (first, *others) in by_reason.items():
            told.append(f"cannot begin: {first}{f' and {len(others)} more' if others else ''}: {reason}")
        return [*told, *self.notes]

    def _allowed(self, limit: float) -> str:
        """The effect of a spending limit on this work."""
        if not self.calls:
            return "nothing of this is paid for."
        if self.cost is None:
            return "a price is not known, and what nobody knows the price of is not sent."
        told = f"all calls together cost {in_words(self.cost, self.at_most).removeprefix('for ')}"
        if self.at_most is not None and self.at_most <= limit:
            return f"{told}, which it allows."
        if self.cost > limit:
            return f"{told}. It stops before the limit is exceeded, and keeps what is done."
        return f"{told}. It is likely to be enough; else it stops before the limit is exceeded, and keeps what is done."
