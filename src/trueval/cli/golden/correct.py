"""`trueval golden correct`: measures of runs as people's labels correct them, and what more labels would buy."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from trueval.cli.options import MEASURES, Form, Level, OutputOptions, PolicyOptions, measures_of, with_groups
from trueval.cli.output import check_folder, save, say, show, talk
from trueval.cli.paths import find_run, refuse_repeated, with_baseline
from trueval.cli.progress import progress
from trueval.cli.short_help import common_options


@common_options("measures", "audit", "target", "width", "baseline", "out", "form")
@with_groups
def correct(
    place: Annotated[
        str, typer.Argument(metavar="DIR", help="The golden set, or its judgments with --audit.", show_default=False)
    ],
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Run files, or name=path.")],
    *,
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measures",
            "-m",
            metavar="LIST",
            help="Default: those that the audit can correct: of whole queries those of evaluate, with RA-nWG@10 "
            "N-Recall4+@10 P4+@10 Harm@10 where people graded from 1 to 5; of single passages P@10 DCG@10, with "
            "P4+@10 Harm@10 where grades reach 4, and of a golden set these two alone.",
            rich_help_panel=MEASURES,
        ),
    ] = None,
    policy: PolicyOptions,
    target: Annotated[
        Literal["these", "new"],
        typer.Option(
            help="What intervals are of: these queries, as if people had graded all of them, or new ones, of which "
            "these are a sample."
        ),
    ] = "new",
    level: Level = 0.95,
    width: Annotated[
        float | None,
        typer.Option(
            metavar="W",
            help="Say how many more labels make the intervals so narrow, from end to end. Default: halfway to the "
            "least width that labels can give.",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Correct the difference of every run to this one. Default: of all pairs."),
    ] = None,
    audit: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the audit. Default: audit in the golden set.")
    ] = None,
    output: OutputOptions,
    form: Form = "table",
) -> None:
    """Corrects measures by people's labels, with intervals.

    Example: trueval golden correct golden bm25.trec rerank.trec -m "nDCG@10 P@10" --width 0.05
    """
    from trueval.comparison.views.kind import CORRECTION
    from trueval.golden.validation.correct_runs import correct_runs

    chosen = measures_of(measures)
    if width is not None and not width > 0:
        raise typer.BadParameter(f"must be above 0, such as 0.05. Got {width:g}.", param_hint="--width")
    against = None if baseline is None else find_run(baseline, runs)
    paths = with_baseline(runs, against)
    refuse_repeated(place, paths)
    if output.out is not None:
        check_folder(output.out)
    with progress(1 + len(paths)) as begin:
        found = correct_runs(
            place,
            paths,
            chosen,
            audit=audit,
            grades=policy.grade_map(),
            target=target,
            level=level,
            width=width,
            baseline=against,
            begin=begin,
            **policy.choices(),
        )
    result = found.to_dict()
    talk(found.notes)
    if output.out is not None:
        save(output.out, (CORRECTION, result))
        say(f"trueval report {output.out} makes the page of it")
    show(CORRECTION, result, form, percent=output.percent)
