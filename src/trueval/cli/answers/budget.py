"""`trueval answers budget`: what means of answers vary by, and what shortens their intervals."""

from pathlib import Path
from typing import Annotated

import typer

from trueval.cli.answers.answer_options import AnswerMeasures
from trueval.cli.budget import PlanOptions
from trueval.cli.options import JUDGED, Form, Memory, Percent, ResultFolder, in_list, with_groups
from trueval.cli.output import check_folder, save, show, talk
from trueval.cli.short_help import common_options


@common_options("judged", "measures", "prices", "half_width", "baseline", "out", "form")
@with_groups
def budget(
    answers: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR|LOG...",
            help="A folder of trueval answers generate, whose contexts are compared; several; or logs of answers.",
            show_default=False,
        ),
    ],
    *,
    judged: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="TABLE",
            help="Judged table of each log, in their order: given once for each. Folders have theirs.",
            rich_help_panel=JUDGED,
        ),
    ] = None,
    measures: AnswerMeasures = None,
    plan: PlanOptions,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Compare the others with this one, and not every pair. Default: system, of one folder.",
        ),
    ] = None,
    out: ResultFolder = None,
    form: Form = "table",
    percent: Percent = False,
    memory: Memory = None,
) -> None:
    """Says what answers' means vary by: questions, samples, rounds of the judge, ties; and what to add.

    Example: trueval answers budget generated --prices question=2,label=0.001,answer=0.01

    Example: trueval answers budget old.jsonl new.jsonl --judged old_table.jsonl --judged new_table.jsonl
    """
    from trueval.answers.generation.answers_budget import budget_answers
    from trueval.comparison.views.kind import BUDGET

    if out is not None:
        check_folder(out)
    found = budget_answers(
        answers,
        None if measures is None else in_list(measures),
        judged=judged,
        baseline=baseline,
        level=plan.level,
        half_width=plan.half_width,
        prices=plan.unit_prices(),
    )
    result = found.to_dict()
    talk(found.notes)
    if out is not None:
        save(out, (BUDGET, result), page=True)
    show(BUDGET, result, form, percent=percent)
