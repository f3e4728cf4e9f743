"""Published results: the JSON that mteb writes, results/MODEL/REVISION/TASK.json, and what can be known from it.

A file has `task_name` and `scores`: split → a list of subsets, each with `main_score` and metrics such as `ndcg_at_10`.
A value is the mean over subsets and splits, as mteb's own tables have it. Neither the runs nor the number of queries
are there, so nothing is known of ties nor of what other queries would give; ranks are over tasks, each an observation.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from trueval.comparison.leaderboard.board import TaskValues, rank_values
from trueval.comparison.leaderboard.leaderboard_result import BoardTask, LeaderboardResult
from trueval.comparison.resampling.rank_bounds import Stratum
from trueval.errors import InputError, MeasureError, Place, nearest
from trueval.files.source.source_bytes import read_content
from trueval.measures import parse

MAIN: Final = "main_score"
META: Final = "model_meta.json"
NOTE: Final = (
    "only published values are known: ties may have decided any of them, by how much cannot be said without the runs, "
    "and neither can an interval over queries. Ranks are over tasks, each an observation; one task gives none."
)


def result_files(folder: Path) -> list[Path]:
    """The files of results of mteb in a folder, MODEL/REVISION/TASK.json at any depth; empty where there are none."""
    found = [each for each in sorted(folder.glob("**/*.json")) if each.name != META and len(each.parents) > 2]
    return [each for each in found if _looks_like_results(each)]


def read_published(
    folder: Path, measures: Sequence[str] = (), tasks: Sequence[str] = (), *, level: float = 0.95, seed: int = 0
) -> LeaderboardResult:
    """Rank the models of a folder of results.

    Args:
        folder: as mteb's ResultCache writes it.
        measures: measures of trueval, or keys of the results; `main_score` if empty.
        tasks: names of tasks; all if empty.

    Raises:
        InputError: a file is no result, a task or a value is not there, or no two models have every task.
        MeasureError: the results have no such measure.
    """
    values: dict[str, dict[str, dict[str, float]]] = {}  # task → model → key → value
    by_model = Counter((each.parents[1].name, _read(each)[0]) for each in result_files(folder))
    for path in result_files(folder):
        task, entries = _read(path)
        model = path.parents[1].name
        name = model.replace("__", "/")
        if by_model[model, task] > 1:
            name += f"@{path.parents[0].name}"
        values.setdefault(task, {})[name] = _means(entries)
    for wanted in tasks:
        if wanted not in values:
            raise InputError(f"{folder}: no results of the task {wanted!r}.{nearest(wanted, values)}")
    kept = {task: values[task] for task in sorted(values) if not tasks or task in tasks}
    keys = {measure: _key(measure, kept) for measure in measures or [MAIN]}
    return rank_values(
        {
            (measure, "higher"): {task: _values(each, key) for task, each in kept.items()}
            for measure, key in keys.items()
        },
        [BoardTask(task, None) for task in kept],
        level=level,
        seed=seed,
        threads=1,
        notes=[NOTE],
        choices={"results": str(folder)},
        published=True,
    )


def _looks_like_results(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(4096)
    return b'"scores"' in head or b'"task_name"' in head


def _read(path: Path) -> tuple[str, list[Mapping[str, object]]]:
    """The task of a file, and the entries of its subsets and splits."""
    place = Place(str(path))
    try:
        data = json.loads(read_content(path).data)
        scores = data["scores"]
        entries = [entry for split in scores.values() for entry in split]
        task = str(data.get("task_name", path.stem))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise place.error(
            f"no result of mteb ({type(error).__name__}: {error}). It must have scores by split. Remove or repair it."
        ) from None
    if not entries or not all(isinstance(each, dict) for each in entries):
        raise place.error("the result has no scores. It must have a list of subsets for each split. Remove it.")
    return task, entries


def _means(entries: Sequence[Mapping[str, object]]) -> dict[str, float]:
    """Key → mean over subsets and splits, for keys whose values are numbers in all of them."""
    found = {}
    for key in entries[0]:
        numbers = [each.get(key) for each in entries]
        if all(isinstance(each, int | float) and not isinstance(each, bool) for each in numbers):
            found[key] = math.fsum(float(str(each)) for each in numbers) / len(numbers)
    return found


def _key(measure: str, values: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """The key of a measure in the results."""
    keys = dict.fromkeys(key for task in values.values() for model in task.values() for key in model)
    if measure in keys:
        return measure
    for key in keys:
        try:
            if str(parse(key)) == str(parse(measure)):
                return key
        except MeasureError:
            continue
    raise MeasureError(
        f"The results have no {measure!r}. They have {', '.join(list(keys)[:12])}.{nearest(measure, keys)}"
    )


def _values(task: Mapping[str, Mapping[str, float]], key: str) -> TaskValues:
    """The models that have a value of the task; a value is one unit, whose ties are not known."""
    there = {model: each[key] for model, each in task.items() if math.isfinite(each.get(key, math.nan))}
    numbers = np.array(list(there.values()))
    return TaskValues(tuple(there), Stratum(numbers[None, :], numbers, numbers, np.zeros_like(numbers)))
