"""`trueval check`: what makes numbers meaningless, found before any is used."""

from pathlib import Path
from typing import Annotated

import typer

from trueval.cli.options import JUDGED, JUDGMENTS, InputOptions, MeasureList, PolicyOptions, with_groups
from trueval.cli.output import say
from trueval.cli.paths import expand, refuse_repeated
from trueval.cli.progress import progress
from trueval.cli.short_help import common_options


@common_options("measures", "rel", "grades", "collection")
@with_groups
def check(
    qrels: Annotated[str, typer.Argument(metavar="QRELS", help=JUDGMENTS)],
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Run files in any of these forms, or name=path.")],
    *,
    measures: MeasureList = None,
    policy: PolicyOptions,
    inputs: InputOptions,
    collection: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder with corpus.jsonl, whose ids the documents of judgments and runs must have.",
            rich_help_panel=JUDGED,
        ),
    ] = None,
) -> None:
    """Checks judgments and runs before their numbers are used.

    Exits with 1 where a file cannot be read, lists a document twice, is of another collection, repeats another run, or
    no grade reaches what a measure counts.

    Example: trueval check qrels.trec bm25.trec rerank.trec --collection corpus
    """
    from trueval.rag.file_checks import check_files
    from trueval.report.number_texts import count_phrase

    chosen, rules = policy.request(qrels, measures)
    runs = expand(runs)
    refuse_repeated(qrels, runs)
    given = inputs.to_inputs(chosen, policy.grade_map())
    with progress(len(runs)) as begin:
        found = check_files(qrels, runs, chosen, inputs=given, collection=collection, begin=begin, policy=rules)
    for finding in found:
        say(f"{'problem' if finding.serious else 'note'}: {finding.line}", err=False)
    serious = sum(finding.serious for finding in found)
    say(f"{count_phrase(len(runs), 'run', 'runs')} checked, {count_phrase(serious, 'problem', 'problems')}")
    raise typer.Exit(1 if serious else 0)
