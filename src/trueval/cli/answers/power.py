"""`trueval answers power`: the differences between answers that these questions find, and how many one needs."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from trueval.cli.options import JUDGED, MEASURES, ClusterFile, Form, Memory, Percent, ResultFolder, in_list, with_groups
from trueval.cli.output import check_folder, save, show, talk
from trueval.cli.power import PowerOptions
from trueval.cli.short_help import common_options


@common_options("judged", "measures", "difference", "power", "baseline", "out", "form")
@with_groups
def power(
    logs: Annotated[
        list[str],
        typer.Argument(metavar="LOG LOG...", help="Logs of answers to the same questions.", show_default=False),
    ],
    *,
    judged: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TABLE",
            help="Judged table of each log, in their order: given once for each.",
            rich_help_panel=JUDGED,
        ),
    ] = None,
    measures: Annotated[
        str | None,
        typer.Option(
            "--measures",
            "-m",
            metavar="LIST",
            help="Names, separated by commas. Default: correctness, or token-F1 without tables.",
            rich_help_panel=MEASURES,
        ),
    ] = None,
    asked: PowerOptions,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="LOG",
            rich_help_panel="Power",
            help="Hold every log against this one, and not every pair. Default: all pairs.",
        ),
    ] = None,
    clusters: ClusterFile = None,
    out: ResultFolder = None,
    form: Form = "table",
    percent: Percent = False,
    memory: Memory = None,
) -> None:
    """Says which differences between answers these questions can find.

    Example: trueval answers power old.jsonl new.jsonl --judged old_table.jsonl --judged new_table.jsonl

    Example: trueval answers power old.jsonl new.jsonl -m token-F1 --difference 0.05
    """
    from trueval.answers.answer_logs import read_answers
    from trueval.answers.evaluate_answers import power_answers
    from trueval.comparison.views.kind import POWER

    if len(logs) < 2:
        raise typer.BadParameter(
            "needs at least two logs, as power is about their difference.", param_hint="LOG LOG..."
        )
    if judged and len(judged) != len(logs):
        raise typer.BadParameter(f"must be given once for each of {len(logs)} logs.", param_hint="--judged")
    if out is not None:
        check_folder(out)
    read = [read_answers(path) for path in logs]
    tables = [None for _ in read] if judged is None else [*judged]
    names = dict(zip(logs, (each.name for each in read), strict=True))
    found = power_answers(
        list(zip(read, tables, strict=True)),
        None if measures is None else in_list(measures),
        baseline=None if baseline is None else names.get(baseline, Path(baseline).stem),
        clusters=clusters,
        **asdict(asked),
    )
    result = found.to_dict()
    talk(found.notes)
    if out is not None:
        save(out, (POWER, result), page=True)
    show(POWER, result, form, percent=percent)
