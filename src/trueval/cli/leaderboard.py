"""`trueval leaderboard`: many systems over queries and over tasks, with the ranks that each may have."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trueval.cli.executors import executor_on
from trueval.cli.options import (
    OUTPUT,
    Form,
    InputOptions,
    Level,
    MeasureList,
    PolicyOptions,
    RunsOutputOptions,
    with_groups,
)
from trueval.cli.output import check_folder, save, show, talk
from trueval.cli.paths import expand, refuse_repeated
from trueval.cli.progress import progress
from trueval.cli.short_help import common_options

if TYPE_CHECKING:
    from trueval.comparison.leaderboard.leaderboard_result import LeaderboardResult
    from trueval.comparison.leaderboard.task_folders import TaskFiles
    from trueval.evaluation.scores import Scores
    from trueval.threads import Executor


@common_options("measures", "tasks", "rel", "level", "out", "form")
@with_groups
def leaderboard(
    places: Annotated[
        list[str],
        typer.Argument(
            metavar="DIR|QRELS RUN...",
            help="A folder with a folder for each task (its qrels and runs), or of one task; a folder of results of "
            "mteb; or judgments and runs, a folder of runs, a table of runs.",
        ),
    ],
    *,
    measures: MeasureList = None,
    policy: PolicyOptions,
    inputs: InputOptions,
    tasks: Annotated[
        list[str] | None,
        typer.Option("--task", metavar="NAME", rich_help_panel=OUTPUT, help="Take this task only; may repeat."),
    ] = None,
    level: Level = 0.95,
    output: RunsOutputOptions,
    form: Form = "table",
) -> None:
    """Ranks many systems, and says which ranks they may have.

    Example: trueval leaderboard tasks -m "nDCG@10 R@100" --out board
    """
    from trueval.comparison.leaderboard.board import leaderboard_of_scores
    from trueval.comparison.leaderboard.published_results import read_published, result_files
    from trueval.comparison.leaderboard.task_folders import TaskFiles, find_tasks
    from trueval.comparison.views.kind import LEADERBOARD

    if output.out is not None:
        check_folder(output.out)
    folder = Path(places[0])
    seed = policy.seed or 0
    if len(places) == 1 and not folder.is_dir():
        raise typer.BadParameter(f"needs a folder, or judgments and runs. Got {places[0]}.", param_hint="DIR")
    if len(places) == 1 and not (folder / "qrels").exists() and result_files(folder):
        found: LeaderboardResult = read_published(folder, _split(measures), tasks or (), level=level, seed=seed)
    else:
        if len(places) == 1:
            files = find_tasks(folder, tasks or ())
        else:
            files = {Path(places[0]).name: TaskFiles(places[0], tuple(expand(places[1:])))}
        with executor_on(output.on) as executor:
            scores = _evaluate(files, measures, policy, inputs, executor)
        found = leaderboard_of_scores(scores, level=level, seed=seed)
    talk(found.notes)
    result = found.to_dict()
    if output.out is not None:
        save(output.out, (LEADERBOARD, result), page=True)
    show(LEADERBOARD, result, form, percent=output.percent)


def _split(measures: list[str] | None) -> Sequence[str]:
    """The measures as they are written: results have keys of their own, such as main_score."""
    return [name for text in measures or () for name in text.replace(",", " ").split()]


def _evaluate(
    files: "Mapping[str, TaskFiles]",
    measures: list[str] | None,
    policy: PolicyOptions,
    inputs: InputOptions,
    executor: "Executor | None",
) -> "dict[str, list[Scores]]":
    """Task → scores of its runs, of which a worker has one in memory."""
    from trueval.rag.evaluate_files import evaluate_files

    chosen, rules = policy.request(next(iter(files.values())).judgments, measures)
    given = inputs.to_inputs(chosen, policy.grade_map())
    scores: dict[str, list[Scores]] = {}
    with progress(sum(1 + len(each.runs) for each in files.values())) as begin:
        for task, each in files.items():
            refuse_repeated(each.judgments, each.runs)
            found = evaluate_files(
                each.judgments, each.runs, chosen, inputs=given, begin=begin, executor=executor, policy=rules
            )
            scores[task] = list(found.scores)
    return scores
