"""`trueval explain`: why other tools report other numbers."""

import json
import sys
import warnings
from typing import Annotated, Literal

import typer

from trueval.cli.output import talk
from trueval.cli.progress import progress
from trueval.errors import TruevalWarning


def explain(
    qrels: Annotated[
        str, typer.Argument(metavar="QRELS", help="Judgments: TREC qrels, BEIR tsv, parquet, csv or jsonl; - is stdin.")
    ],
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run file, in any of these forms; - is stdin.")],
    measure: Annotated[str, typer.Option("--measure", "-m", metavar="MEASURE", help="One measure, such as AP@5.")],
    queries: Annotated[int, typer.Option(metavar="N", min=0, help="How many of the queries that move most.")] = 5,
    form: Annotated[Literal["table", "json", "markdown"], typer.Option("--format", help="What to print.")] = "table",
) -> None:
    """Shows a measure as each other tool computes it, and finds the convention behind every difference.

    Example: trueval explain qrels.trec bm25.trec -m AP@5
    """
    from trueval.explain import explain as explain_run
    from trueval.judgments import Judgments
    from trueval.measures import parse
    from trueval.run import Run

    chosen = parse(measure)
    if qrels == run:
        raise typer.BadParameter(f"{qrels} is given twice. Name each file once.", param_hint="QRELS RUN")
    with progress(3) as begin, warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)
        begin(qrels)
        judgments = Judgments.read(qrels)
        begin(run)
        listed = Run.read(run)
        begin("conventions")
        found = explain_run(listed, judgments, chosen, queries=queries)
    talk(found.notes)
    entry = found.to_dict()
    if form == "json":
        sys.stdout.write(json.dumps(entry, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        return
    from trueval.report.explanation import explanation_markdown, explanation_table

    if form == "markdown":
        sys.stdout.write(explanation_markdown(entry))
        return
    from rich.console import Console

    Console(highlight=False).print(explanation_table(entry))
