"""Leaderboards: rank many systems over the queries of one task or over several tasks.

For each measure a system's value on a task is its expected mean over queries, as `evaluate` gives it; over tasks it is
the mean of these (as BEIR and MTEB do), whatever number of queries they have. A system that lacks a task has no value
over tasks, no mean rank and no Borda count: nothing is averaged over what is there. Borda, as MMTEB counts it
(Enevoldsen et al. 2025): in each task a system gets the number of systems less its rank, where equal values share the
mean of their ranks; the sum over tasks orders them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from trueval.comparison.comparison import Interval, RankInterval
from trueval.comparison.leaderboard.leaderboard_result import Board, BoardRow, BoardTask, LeaderboardResult
from trueval.comparison.resampling.alignment import AlignedScores, align
from trueval.comparison.resampling.rank_bounds import RankBounds, Stratum, rank_bounds
from trueval.comparison.resampling.resampled_sums import thread_count
from trueval.comparison.verdict import rank_intervals
from trueval.errors import InputError, PolicyError
from trueval.evaluation.defaults import fill_defaults
from trueval.evaluation.evaluate import evaluate_runs
from trueval.judgments import Judgments
from trueval.run import Run

if TYPE_CHECKING:
    from typing import Unpack

    from trueval.evaluation.evaluate import Measures
    from trueval.evaluation.scores import Scores
    from trueval.judgments import JudgmentsLike
    from trueval.policy.policy import Policy
    from trueval.policy.policy_choices import PolicyChoices
    from trueval.run import RunsLike
    from trueval.standings.standings import Bools, Floats
    from trueval.threads import Executor

# Values closer together than this are equal.
EQUAL: Final = 12  # decimals
MOST_NAMED: Final = 3  # systems that a note names
MOST_NOTES: Final = 8  # of runs


class TaskValues(NamedTuple):
    """The values of a task on one measure.

    Attributes:
        systems: its systems.
        stratum: their values by query; a published value is one unit.
    """

    systems: Sequence[str]
    stratum: Stratum


def leaderboard(
    tasks: Mapping[str, tuple[JudgmentsLike, RunsLike]],
    measures: Measures | None = None,
    *,
    level: float = 0.95,
    threads: int | None = None,
    executor: Executor | None = None,
    policy: Policy | None = None,
    **choices: Unpack[PolicyChoices],
) -> LeaderboardResult:
    """Rank systems over queries and over tasks, with the ranks that each may have.

    Args:
        tasks: task → its judgments, and its runs: what `Run.of_several` takes, such as a dict by name or a table.
        measures: as in evaluate.
        level: level of intervals and ranks.
        threads: number of threads; None for one per processor. It does not affect the result.
        executor: evaluates runs in other processes or on other machines, with the same result.
        policy: as in evaluate.
        choices: attributes of Policy; `seed` is that of the resamples too.

    Raises:
        InputError: a task has fewer than two systems, two runs have one name, or no two systems have every task.
        PolicyError: a choice is unknown.

    >>> runs = {"good": {"q1": {"a": 2.0, "b": 1.0}}, "bad": {"q1": {"a": 1.0, "b": 2.0}}}
    >>> found = leaderboard({"first": ({"q1": {"a": 1}}, runs), "second": ({"q1": {"b": 1}}, runs)}, "RR")
    >>> [(row.system, row.value, row.borda) for row in found.board("RR").rows]
    [('good', 0.75, 1.0), ('bad', 0.75, 1.0)]
    """
    first = Judgments.of(next(iter(tasks.values()))[0]) if tasks else None
    parsed, chosen = fill_defaults(first, measures, policy, dict(choices))
    scores = {}
    for name, (judgments, runs) in tasks.items():
        scores[name] = evaluate_runs(Run.of_several(runs), Judgments.of(judgments), parsed, chosen, executor)
    return leaderboard_of_scores(scores, level=level, seed=choices.get("seed") or 0, threads=threads)


def leaderboard_of_scores(
    scores: Mapping[str, Sequence[Scores]], *, level: float = 0.95, seed: int = 0, threads: int | None = None
) -> LeaderboardResult:
    """Rank evaluated systems.

    Args:
        scores: task → scores of its systems, on the same measures.

    Raises:
        InputError: as `leaderboard`.
    """
    _check(level)
    aligned = {task: _align(task, each) for task, each in scores.items()}
    if not aligned:
        raise InputError("A leaderboard needs a task. Give judgments and runs, or a folder for each task.")
    one = next(iter(aligned.values()))
    values = {
        (str(measure), measure.better): {task: _task_values(each, at) for task, each in aligned.items()}
        for at, measure in enumerate(one.measures)
    }
    tasks = [BoardTask(task, len(each.query_ids)) for task, each in aligned.items()]
    policy = next(iter(scores.values()))[0].policy
    notes = [
        f"{task}: {note}" if len(aligned) > 1 else note
        for task, each in aligned.items()
        for note in dict.fromkeys([*each.notes, *(note for one in scores[task] for note in one.notes)])
    ]
    if len(notes) > MOST_NOTES:
        notes = [*notes[:MOST_NOTES], f"and {len(notes) - MOST_NOTES:,} more notes, which trueval evaluate prints."]
    return rank_values(
        values,
        tasks,
        level=level,
        seed=seed,
        threads=threads,
        notes=notes,
        choices={"policy": policy.to_dict()},
    )


def rank_values(
    values: Mapping[tuple[str, str], Mapping[str, TaskValues]],
    tasks: Sequence[BoardTask],
    *,
    level: float,
    seed: int,
    threads: int | None,
    notes: Sequence[str],
    choices: Mapping[str, object],
    published: bool = False,
) -> LeaderboardResult:
    """Rank systems by their values.

    Args:
        values: measure and its direction → task → values of its systems.
        tasks: the tasks.
        notes: remarks to keep.
        choices: to keep beside the seed.
        published: whether tasks are the units, because nothing is known of their queries.

    Raises:
        InputError: no two systems have every task.
    """
    count = thread_count(threads)
    systems = list(dict.fromkeys(name for each in values.values() for part in each.values() for name in part.systems))
    lacks = _find_lacking(systems, values)
    whole = [name for name in systems if not lacks[name]]
    if len(whole) < 2:
        name = next((name for name in systems if lacks[name]), "")
        raise InputError(
            f"No two systems have every task: {name} lacks {', '.join(lacks[name][:MOST_NAMED])}, and nothing is "
            "averaged over what is there. Add the runs, or leave out tasks that few systems have."
        )
    boards = []
    for (measure, better), of_task in values.items():
        boards.append(
            Board(measure, "", better, tuple(_overall(whole, lacks, of_task, better, level, seed, count, published)))
        )
        if len(tasks) > 1:
            boards += [
                Board(measure, task, better, tuple(_alone(each, better, level, seed, count, published)))
                for task, each in of_task.items()
            ]
    partial = [name for name in systems if lacks[name]]
    if partial:
        named = "; ".join(f"{name} lacks {', '.join(lacks[name][:MOST_NAMED])}" for name in partial[:MOST_NAMED])
        more = f" (and {len(partial) - MOST_NAMED} more systems)" if len(partial) > MOST_NAMED else ""
        notes = [
            *notes,
            f"without a mean over tasks, since means over different tasks are not compared: {named}{more}.",
        ]
    return LeaderboardResult(
        published, level, len(systems), tuple(tasks), tuple(boards), {"seed": seed, **choices}, tuple(notes)
    )


def average_ranks(values: Floats) -> Floats:
    """[system] ranks from 1 for the highest; equal values share the mean of their ranks.

    >>> average_ranks(np.array([0.5, 0.7, 0.5])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, place, times = np.unique(-np.round(values, EQUAL), return_inverse=True, return_counts=True)
    ends = np.cumsum(times)
    ranks: Floats = (ends - (times - 1) / 2)[place.ravel()]
    return ranks


def groups_of(better: Bools, order: Sequence[int]) -> list[int]:
    """[system] numbers of groups from 1: a leader, the best system of no earlier group, and all not separated from it.

    >>> groups_of(np.array([[False, False, True], [False, False, False], [False, False, False]]), [0, 1, 2])
    [1, 1, 2]
    """
    found = [0] * len(order)
    number = 0
    for leader in order:
        if not found[leader]:
            number += 1
            for system in order:
                if not found[system] and not better[leader, system]:
                    found[system] = number
    return found


def _check(level: float) -> None:
    if not 0.5 < level < 1:
        raise PolicyError(f"level must be between 0.5 and 1, such as 0.95. Got {level!r}.")


def _align(task: str, scores: Sequence[Scores]) -> AlignedScores:
    if len(scores) < 2:
        raise InputError(f"{task}: a leaderboard needs two systems or more. Got {len(scores)}. Add runs.")
    name, times = Counter(each.name for each in scores).most_common(1)[0]
    if times > 1:
        raise InputError(f"{task}: {times} runs are called {name!r}, and a name is a system. Rename one of them.")
    return align(scores)


def _task_values(aligned: AlignedScores, measure: int) -> TaskValues:
    """The values of a task, turned so that higher is better."""
    kept = np.flatnonzero(aligned.kept[:, measure])
    if not len(kept):
        raise InputError(
            f"{aligned.measures[measure]}: no query has a value for every system. Leave out the systems or the measure."
        )
    sign = 1.0 if aligned.measures[measure].better == "higher" else -1.0
    ends = [sign * each[:, kept, measure].mean(axis=1) for each in (aligned.lowest, aligned.highest)]
    variance = (aligned.sd[:, kept, measure] ** 2).sum(axis=1) / len(kept) ** 2
    expected = sign * aligned.expected[:, kept, measure].T
    return TaskValues(aligned.names, Stratum(expected, np.minimum(*ends), np.maximum(*ends), variance))


def _find_lacking(
    systems: Sequence[str], values: Mapping[tuple[str, str], Mapping[str, TaskValues]]
) -> dict[str, tuple[str, ...]]:
    """System → the tasks that it was not measured on by some measure."""
    there = {
        task: set.intersection(*(set(each[task].systems) for each in values.values() if task in each))
        for task in dict.fromkeys(task for each in values.values() for task in each)
    }
    return {name: tuple(task for task, names in there.items() if name not in names) for name in systems}


def _select(values: TaskValues, systems: Sequence[str]) -> Stratum:
    place = {name: at for at, name in enumerate(values.systems)}
    picked, stratum = [place[name] for name in systems], values.stratum
    return Stratum(
        stratum.expected[:, picked], stratum.lowest[picked], stratum.highest[picked], stratum.tie_variance[picked]
    )


def _alone(
    values: TaskValues, better: str, level: float, seed: int, threads: int, published: bool
) -> Iterator[BoardRow]:
    """The rows of one task."""
    bounds = rank_bounds([values.stratum], level=level, seed=seed, threads=threads)
    ranks = average_ranks(bounds.means)
    yield from _rows(values.systems, bounds, better, ranks, len(ranks) - ranks, published)


def _overall(
    systems: Sequence[str],
    lacks: Mapping[str, tuple[str, ...]],
    of_task: Mapping[str, TaskValues],
    better: str,
    level: float,
    seed: int,
    threads: int,
    published: bool,
) -> Iterator[BoardRow]:
    """The rows over all tasks; those that lack a task come last, without a value."""
    strata = [_select(each, systems) for each in of_task.values()]
    by_task = np.stack([average_ranks(each.expected.mean(axis=0)) for each in strata])
    if published:  # each task is a unit
        strata = [replace(strata[0], expected=np.concatenate([each.expected for each in strata]))]
    bounds = rank_bounds(strata, level=level, seed=seed, threads=threads)
    yield from _rows(systems, bounds, better, by_task.mean(axis=0), (len(systems) - by_task).sum(axis=0), published)
    nothing = Interval(math.nan, math.nan)
    for name, absent in lacks.items():
        if absent:
            yield BoardRow(None, name, math.nan, nothing, nothing, None, 0, math.nan, math.nan, absent)


def _rows(
    systems: Sequence[str], bounds: RankBounds, better: str, ranks: Floats, borda: Floats, published: bool
) -> Iterator[BoardRow]:
    """Rows of systems with a value, best first; values turned back where lower is better."""
    order = np.lexsort((np.arange(len(systems)), -np.round(bounds.means, EQUAL))).tolist()
    places = 1 + (np.round(bounds.means, EQUAL)[:, None] < np.round(bounds.means, EQUAL)).sum(axis=1)
    groups, intervals = groups_of(bounds.better, order), rank_intervals(bounds.better)
    known = not np.isnan(bounds.intervals).any()
    for at in order:
        ties = (math.nan, math.nan) if published else (float(bounds.lowest[at]), float(bounds.highest[at]))
        ends = tuple(bounds.intervals[at].tolist())
        if better == "lower":
            ties, ends = (-ties[1], -ties[0]), (-ends[1], -ends[0])
        yield BoardRow(
            int(places[at]),
            systems[at],
            float(bounds.means[at]) * (-1.0 if better == "lower" else 1.0),
            Interval(*ties),
            Interval(*ends),
            RankInterval(*intervals[at]) if known else None,
            groups[at] if known else 0,
            float(ranks[at]),
            float(borda[at]),
            (),
        )
