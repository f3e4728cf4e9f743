"""`trueval explain`: why other tools report other numbers."""

import warnings
from typing import Annotated, Literal

import typer

from trueval.cli.options import (
    JUDGMENTS,
    OUTPUT,
    ChoiceOptions,
    InputOptions,
    MeasureList,
    Percent,
    with_groups,
)
from trueval.cli.output import show, talk
from trueval.cli.paths import refuse_repeated
from trueval.cli.progress import progress
from trueval.cli.short_help import common_options
from trueval.errors import TruevalWarning


@common_options("measures", "tie_order", "rel", "form", "examples")
@with_groups
def explain(
    qrels: Annotated[str, typer.Argument(metavar="QRELS", help=JUDGMENTS)],
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="Run file in any of these forms, or name=path; - is stdin.")
    ],
    *,
    measures: MeasureList = None,
    choices: ChoiceOptions,
    inputs: InputOptions,
    examples: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, rich_help_panel=OUTPUT, help="How many of the queries that move most to list."
        ),
    ] = 5,
    percent: Percent = False,
    form: Annotated[
        Literal["table", "json", "markdown", "latex"],
        typer.Option(
            "--format",
            metavar="FORM",
            rich_help_panel=OUTPUT,
            help="What to print: table, json, markdown or latex; json is an object for each measure, one after "
            "another.",
        ),
    ] = "table",
) -> None:
    """Shows a measure as other tools compute it, and why they differ.

    What the options choose is chosen for every tool. There is no --convention here: each convention is a row.

    Example: trueval explain qrels.trec bm25.trec -m AP@5
    """
    from trueval.evaluation.explanation import explain as explain_run
    from trueval.evaluation.views.explanation import EXPLAIN

    chosen, _ = choices.request(qrels, measures)
    refuse_repeated(qrels, [run])
    reading = inputs.to_inputs(chosen, choices.grade_map())
    with progress(2 + len(chosen)) as begin, warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)  # the same lines are notes of the explanations
        begin(qrels)
        judgments = reading.read_judgments(qrels)
        # Through the same reader as `evaluate`, so that both speak of the same lists.
        (pair,) = reading.read_runs([run], judgments, begin)
        found = []
        for measure in chosen:
            begin(str(measure))
            found.append(explain_run(pair.run, pair.judgments, measure, examples=examples, **choices.choices()))
    talk(note for each in found for note in each.notes)
    for each in found:
        show(EXPLAIN, each.to_dict(), form, percent=percent)
