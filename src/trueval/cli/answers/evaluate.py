"""`trueval answers evaluate`: measures of a log of answers, with intervals."""

from typing import Annotated

import typer

from trueval.cli.answers.answer_options import LOGS, AnswerMeasures
from trueval.cli.gate import GateFindings, conclude_with_checks
from trueval.cli.options import (
    JUDGED,
    ClusterFile,
    Form,
    Level,
    Memory,
    Percent,
    ResultFolder,
    in_list,
    with_groups,
)
from trueval.cli.output import check_folder, save, show, talk
from trueval.cli.short_help import common_options


@common_options("judged", "measures", "people", "minimum", "out", "form")
@with_groups
def evaluate(
    log: Annotated[
        str,
        typer.Argument(
            metavar="LOG",
            help=LOGS,
            show_default=False,
        ),
    ],
    *,
    judged: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="What a judge said of each claim, as JSON lines. Without it: measures that need no judge.",
            rich_help_panel=JUDGED,
        ),
    ] = None,
    measures: AnswerMeasures = None,
    people: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE",
            help="What people said of questions that were drawn at random, every claim of each: it corrects the judge. "
            "Or the folder of their audit.",
            rich_help_panel=JUDGED,
        ),
    ] = None,
    clusters: ClusterFile = None,
    level: Level = 0.95,
    minimum: Annotated[
        list[str] | None,
        typer.Option(
            "--min", metavar="M=X", help="Exit with 1 when the mean of measure M is below X.", rich_help_panel="Gates"
        ),
    ] = None,
    out: ResultFolder = None,
    form: Form = "table",
    percent: Percent = False,
    memory: Memory = None,
) -> None:
    """Measures answers, with intervals, and says what limits them.

    Example: trueval answers evaluate log.jsonl

    Example: trueval answers evaluate log.jsonl --judged table.jsonl --people labels.jsonl --out answers
    """
    from trueval.answers.evaluate_answers import JudgedLog, answer_scores, evaluate_answers
    from trueval.answers.views.kind import ANSWERS

    if out is not None:
        check_folder(out)
    names = None if measures is None else in_list(measures)
    read = JudgedLog.of(log, judged)
    cells = None if judged is None else read.judged
    found = evaluate_answers(read.log, cells, names, people=people, clusters=clusters, level=level)
    checks = GateFindings()
    if minimum:
        from trueval.comparison.gate.gate import gate
        from trueval.comparison.limits import parse_limit

        scores = answer_scores(read.log, cells, names)
        checks = GateFindings(gate(scores, [parse_limit("min", text) for text in minimum]))
    result = found.to_dict()
    talk(found.notes)
    if out is not None:
        save(out, (ANSWERS, result), page=True)
    with conclude_with_checks(result, checks, ANSWERS):
        show(ANSWERS, result, form, percent=percent)
