"""`trueval golden grade`: a judge labels what runs retrieved and nobody judged."""

from pathlib import Path
from typing import Annotated

import typer

from trueval.cli.estimates import DryRunFlag, show_dry_run
from trueval.cli.golden.judge_options import JudgeOptions
from trueval.cli.long_work import bars, interruptible, remarks
from trueval.cli.options import JUDGMENTS, OUTPUT, with_groups
from trueval.cli.output import make_parent, say, talk
from trueval.cli.short_help import common_options


@common_options("collection", "judge", "base_url", "api_key_env", "depth", "max_cost", "dry_run", "out")
@with_groups
def grade(
    qrels: Annotated[Path, typer.Argument(metavar="QRELS", help=JUDGMENTS)],
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Runs whose first documents are judged.")],
    *,
    collection: Annotated[
        str, typer.Option(metavar="DIR", help="Folder with corpus and queries, as trueval retrieve takes it.")
    ],
    chosen: JudgeOptions,
    depth: Annotated[int, typer.Option(metavar="K", min=1, help="Places of each list that are judged.")],
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="MAP",
            help="Grades of QRELS for those of the judge, such as 1:0,2:0,3:1,4:2,5:3. Default: the same.",
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="Write old and new judgments there, and each new label with its reason beside it.",
            rich_help_panel=OUTPUT,
        ),
    ],
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep answers there. Default: beside --out, as NAME.ledger.sqlite.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    dry_run: DryRunFlag = False,
) -> None:
    """Has a judge label what runs found and nobody judged.

    Example: trueval golden grade qrels.trec run.trec --collection corpus --judge gpt-5-mini --depth 10 --out new.trec
    """
    from trueval.golden.build.on_demand_files import OnDemand, ledger_beside
    from trueval.judgments import grade_map

    if not dry_run:
        make_parent(out, "--out")
    book, mapped = ledger or ledger_beside(out), None if scale is None else grade_map(scale)
    with (
        interruptible(f"Every answer is kept in {book}. The same command goes on from there."),
        remarks(),
        bars() as bar,
    ):
        plan = chosen.plan()
        ready = OnDemand.read(qrels, runs, collection, plan, depth=depth, out=out, scale=mapped, ledger=book)
        talk(ready.wanted.notes)
        say(ready.sentence())
        if dry_run:
            show_dry_run(ready.dry_run, "table")
            return
        written = ready.grade(bar("grading"))
    for line in written.sentences():
        say(line)
    talk(written.notes)
