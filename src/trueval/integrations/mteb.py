"""mteb: values over all orders of ties beside its own, and rank intervals. Written for mteb 2.20 and newer; tried with
2.26.24.

A retrieval or reranking task gets keys beside its own in the results JSON, such as ndcg_at_10_expected, _lowest and
_highest, until the `with` is left::

    from trueval.integrations.mteb import tie_aware
    with tie_aware(task):
        mteb.evaluate(model, task)
    task.tie_scores["default", "test"]         # Scores, with a value for every query

`compare_results` ranks the models of a ResultCache over tasks, `compare_predictions` ranks models over queries and
tasks by the files that mteb writes to prediction_folder; `write_page` makes a page of either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from trueval.errors import InputError, MeasureError
from trueval.integrations.hosts import need_host

need_host("mteb", "2.20.0")

import mteb

if TYPE_CHECKING:
    from trueval.comparison.comparison import Comparison
    from trueval.evaluation.scores import Scores
    from trueval.measures import Measure

# Names of mteb's metrics by our measures.
METRICS: Final = {"nDCG": "ndcg", "AP": "map", "R": "recall", "P": "precision", "RR": "mrr", "Success": "hit_rate"}
STATISTICS: Final = ("expected", "lowest", "highest")


class TieAware:
    """A mixin before a retrieval task, whose results then have the values of trueval beside mteb's.

    Attributes:
        tie_scores: the Scores of the last evaluation by subset and split; their tie-broken value is mteb's own.
    """

    tie_scores: dict[tuple[str, str], Scores]

    def task_specific_scores(
        self: object, scores: object, qrels: object, results: object, hf_split: str, hf_subset: str
    ) -> dict[str, object]:
        """The scores that the task has for itself, and ours.

        Raises:
            InputError: nothing is judged, or no query with a result is.
        """
        own = super().task_specific_scores(scores, qrels, results, hf_split, hf_subset)  # type: ignore[misc]
        return {**own, **_scores(self, qrels, results, hf_subset, hf_split)}


def _scores(task: Any, qrels: Any, results: Any, subset: str, split: str) -> dict[str, float]:
    """The values of trueval for mteb's metrics."""
    from trueval.evaluation.evaluate import evaluate
    from trueval.policy.conventions import convention

    measures = {f"{metric}_at_{k}": f"{name}@{k}" for name, metric in METRICS.items() for k in task.k_values}
    policy = convention("mteb", skip_first=task.skip_first_result)
    found = evaluate(results, qrels, list(measures.values()), policy=policy)
    task.tie_scores = {**getattr(task, "tie_scores", {}), (subset, split): found}
    return {f"{metric}_{each}": getattr(found[name], each) for metric, name in measures.items() for each in STATISTICS}


def tie_aware(task: Any) -> ExitStack:
    """Give a task values over all orders of ties, until the returned context is left or closed.

    Args:
        task: a retrieval or reranking task, as from mteb.get_task.

    Raises:
        InputError: the task ranks nothing.
    """
    own = getattr(task, "task_specific_scores", None)
    if own is None:
        name = getattr(getattr(task, "metadata", None), "name", type(task).__name__)
        raise InputError(
            f"{name} is no retrieval or reranking task, and only these rank documents, which can tie. Evaluate it "
            "without tie_aware."
        )

    def scores(found: object, qrels: object, results: object, hf_split: str, hf_subset: str) -> dict[str, Any]:
        kept = own(found, qrels, results, hf_split=hf_split, hf_subset=hf_subset)
        return {**kept, **_scores(task, qrels, results, hf_subset, hf_split)}

    undone = ExitStack()
    undone.callback(delattr, task, "task_specific_scores")
    task.task_specific_scores = scores
    return undone


def compare_results(
    results: Any, measure: str = "nDCG@10", *, tasks: Iterable[str] | None = None, **choices: Any
) -> Comparison:
    """Compare models by a measure of their tasks, each task an observation: verdicts, and intervals of ranks.

    Args:
        results: a ResultCache, or BenchmarkResults; a model is named by its name, and by its revision where it has
            several.
        measure: nDCG, AP, RR, R, P or Success with a cutoff that mteb reports.
        tasks: names of the tasks to compare by; None for all that any model has.
        choices: attributes of ComparisonChoices: level, seed, correction ...

    Raises:
        InputError: there are fewer than two models, or one lacks the measure of a task.
        MeasureError: mteb has no such measure.
    """
    from trueval.comparison.compare import compare_scores
    from trueval.measures import parse

    parsed = parse(measure)
    key = _metric(parsed)
    if isinstance(results, mteb.ResultCache):
        results = results.load_results(require_model_meta=False)
    found = {_name(model, results): {each.task_name: each for each in model.task_results} for model in results}
    if len(found) < 2:
        raise InputError(f"Two models or more belong here. Got {len(found)}. Evaluate another one with the same cache.")
    names = list(tasks) if tasks is not None else sorted({task for row in found.values() for task in row})
    absent = [(model, task) for model, row in found.items() for task in names if key not in _keys(row.get(task))]
    if absent:
        raise InputError(
            f"{absent[0][0]} has no {key} of {absent[0][1]}, and {len(absent) - 1} more are absent. Every model must "
            "have every task. Evaluate what is absent, or name the tasks that all have, tasks=[...]."
        )
    return compare_scores([_of_tasks(model, row, names, parsed, key) for model, row in found.items()], **choices)


def compare_predictions(
    folders: Mapping[str, str | PathLike[str]], tasks: Iterable[object], measure: str = "nDCG@10", **choices: Any
) -> Comparison:
    """Compare models over the queries of tasks, those of a task as one cluster: verdicts, and intervals of ranks.

    Values are means over all queries; with one task, every query is an observation.

    Args:
        folders: prediction_folder of each model, by its name.
        tasks: the tasks, as from mteb.get_tasks; their judgments are loaded.
        measure: any measure of trueval.
        choices: attributes of ComparisonChoices: level, seed, correction ...

    Raises:
        InputError: there are fewer than two models, a task has no judgments, or a prediction is absent.
    """
    from trueval.comparison.compare import compare_scores

    if len(folders) < 2:
        raise InputError(f"Two models or more belong here. Got {len(folders)}. Give their folders by name.")
    tasks = list(tasks)
    scores = [_of_queries(name, Path(folder), tasks, measure) for name, folder in folders.items()]
    clusters = {query: query.partition("/")[0] for query in scores[0].query_ids} if len(tasks) > 1 else None
    return compare_scores(scores, clusters=clusters, **choices)


def write_page(comparison: Comparison, file: str | PathLike[str]) -> None:
    """Write a comparison as one page that opens offline.

    Raises:
        MissingExtraError: the extra "report" is not installed.
    """
    from trueval.report.kinds import directory_of, find
    from trueval.report.page import page

    kind = find("compare")
    if kind is None:
        raise InputError("The kind of a comparison is not installed. Install trueval with pip, not from a folder.")
    result = kind.write(comparison.to_dict(), "json").encode()
    text = page(directory_of(Path(file).parent, {"comparison.json": result}))
    Path(file).write_text(text, encoding="utf-8")


def _metric(measure: Measure) -> str:
    """Mteb's name of a measure."""
    if measure.name not in METRICS or not measure.cutoff or measure.chosen:
        raise MeasureError(f"mteb reports {', '.join(f'{name}@k' for name in METRICS)}. Got {measure}.")
    return f"{METRICS[measure.name]}_at_{measure.cutoff}"


def _name(model: Any, models: Iterable[Any]) -> str:
    several = sum(each.model_name == model.model_name for each in models) > 1
    return f"{model.model_name}@{model.model_revision}" if several else str(model.model_name)


def _keys(result: Any) -> set[str]:
    """The metrics that every subset and split of a task has."""
    entries = [set(entry) for split in result.scores.values() for entry in split] if result is not None else []
    return set.intersection(*entries) if entries else set()


def _of_tasks(model: str, results: Mapping[str, Any], tasks: Sequence[str], measure: Measure, key: str) -> Scores:
    """The values of a model, each task a query: its mean over subsets and splits; without a range where it has none."""
    import numpy as np

    from trueval.evaluation.scores import STATISTICS as ALL
    from trueval.evaluation.scores import Scores
    from trueval.evaluation.ties import TieSummary
    from trueval.policy.conventions import convention

    columns: dict[str, Any] = {each: np.full((len(tasks), 1), np.nan) for each in ALL}
    published = []
    for row, task in enumerate(tasks):
        result = results[task]
        known = {f"{key}_{each}" for each in STATISTICS} <= _keys(result)
        published += [] if known else [task]
        names = {each: f"{key}_{each}" if known else key for each in STATISTICS} | {"tie_broken": key}
        for each, name in names.items():
            values = [entry[name] for split in result.scores.values() for entry in split]
            columns[each][row, 0] = float(np.mean(values))
    note = f"{model}: the ties of {len(published)} tasks are not known, the first {published[0]}" if published else ""
    notes = (f"{note}. Evaluate them with tie_aware.",) if published else ()
    return Scores(
        model,
        tuple(tasks),
        (measure,),
        **columns,
        exact=(True,),
        ties=TieSummary(None, None, (), 0),
        missing_queries=(),
        unjudged_queries=(),
        policy=convention("mteb"),
        notes=notes,
    )


def _of_queries(model: str, folder: Path, tasks: Sequence[Any], measure: str) -> Scores:
    """The values of a model for the queries of all tasks, named TASK/subset/split/query."""
    from trueval.evaluation.evaluate import evaluate
    from trueval.evaluation.scores import Scores
    from trueval.policy.conventions import convention

    parts = []
    for task in tasks:
        name = task.metadata.name
        predictions = _predictions(folder / f"{name}_predictions.json")
        for subset, split, judged in _task_judgments(task):
            run = predictions.get(subset, {}).get(split)
            if run is None:
                raise InputError(f"{folder}: {name} has no predictions of {subset}, {split}. Evaluate it again.")
            policy = convention("mteb", skip_first=getattr(task, "skip_first_result", False), missing="worst")
            found = evaluate(run, judged, measure, policy=policy)
            found = replace(found, name=model, content=None)
            parts.append(replace(found, query_ids=tuple(f"{name}/{subset}/{split}/{q}" for q in found.query_ids)))
    return Scores.join(parts)


def _predictions(path: Path) -> Mapping[str, Mapping[str, Any]]:
    """What mteb writes: {subset: {split: {query: {document: score}}}}."""
    import json

    try:
        found: Mapping[str, Mapping[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"{path}: there is no such file. Evaluate the task with prediction_folder={path.parent}."
        ) from None
    except ValueError as error:
        raise InputError(f"{path}: no JSON: {error}. It must be what mteb writes to its prediction_folder.") from error
    return found


def _task_judgments(task: Any) -> list[tuple[str, str, Any]]:
    """The judgments of a task by subset and split, without queries that have none."""
    if not hasattr(task, "task_specific_scores"):
        raise InputError(f"{task.metadata.name} is no retrieval or reranking task, so it has no ranking to evaluate.")
    task.load_data()
    task.convert_v1_dataset_format_to_v2(num_proc=None)
    found = []
    for subset, splits in task.dataset.items():
        for split in (each for each in task.eval_splits if each in splits):
            judged = {query: docs for query, docs in splits[split]["relevant_docs"].items() if docs}
            if not judged:
                raise InputError(
                    f"{task.metadata.name} has no judgments of {subset}, {split}. Name a task that has some."
                )
            found.append((subset, split, judged))
    return found
