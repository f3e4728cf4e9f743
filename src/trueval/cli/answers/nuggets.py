"""`trueval answers nuggets`: nuggets of a log's questions, made from judged passages, or read."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from trueval.cli.answers.answer_options import LOGS
from trueval.cli.estimates import DryRunFlag, show_dry_run
from trueval.cli.golden.judge_options import ModelOptions
from trueval.cli.long_work import bars, interruptible, remarks
from trueval.cli.options import OUTPUT, Memory, with_groups
from trueval.cli.output import check_folder, say, talk
from trueval.cli.short_help import common_options


@dataclass(frozen=True, eq=False, repr=False)
class NuggetOptions(ModelOptions):
    """Who makes nuggets, and how."""

    judge: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="A model as its server calls it, a TOML file with a table \\[judge], or labels:FILE for nuggets that "
            "are there, as TREC RAG and nuggetizer write them.",
        ),
    ]
    prompt: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Of the importance: importance-0-1, or a .toml file. Default: importance-0-1."
        ),
    ] = None
    batch: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Passages, or nuggets, in a call, at most. Default: 8.")
    ] = None
    rounds: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Times that a nugget is called vital or okay. Default: 2.")
    ] = None


@common_options("corpus", "qrels", "judge", "max_cost", "dry_run", "out")
@with_groups
def nuggets(
    log: Annotated[str, typer.Argument(metavar="LOG", help=LOGS, show_default=False)],
    *,
    corpus: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Texts and judgments of passages, as trueval retrieve takes them."),
    ] = None,
    qrels: Annotated[
        str | None, typer.Option(metavar="QRELS", help="Judgments, instead of those of the corpus.")
    ] = None,
    rel: Annotated[float, typer.Option(metavar="N", help="Least grade of a passage of which nuggets are made.")] = 1.0,
    chosen: NuggetOptions,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Write log.jsonl, which is the log with nuggets, nuggets.jsonl and the ledger there.",
            rich_help_panel=OUTPUT,
        ),
    ],
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Keep answers there. Default: ledger.sqlite in --out.", rich_help_panel=OUTPUT
        ),
    ] = None,
    dry_run: DryRunFlag = False,
    form: Annotated[
        str, typer.Option("--format", metavar="FORM", help="table or json.", rich_help_panel=OUTPUT)
    ] = "table",
    memory: Memory = None,
) -> None:
    """Makes nuggets, the statements of a good answer, from passages judged relevant.

    Example: trueval answers nuggets log.jsonl --corpus corpus --judge gpt-5-mini --out nuggets --dry-run

    Example: trueval answers nuggets log.jsonl --judge labels:trec_nuggets.jsonl --out nuggets
    """
    from trueval.answers.make_nuggets import estimate_nuggets, make_nuggets
    from trueval.golden.build.build import LEDGER
    from trueval.report.formats import to_json

    check_folder(out)
    plan = chosen.plan()
    if dry_run:
        show_dry_run(lambda: estimate_nuggets(log, corpus, out, plan, qrels=qrels, rel=rel, ledger=ledger), form)
        return
    kept = f"Every answer is kept in {ledger or out / LEDGER}. The same command goes on from there."
    with interruptible(kept), remarks(), bars() as bar:
        found = make_nuggets(log, corpus, out, plan, qrels=qrels, rel=rel, ledger=ledger, begin=bar)
    talk(found.notes)
    if form == "json":
        typer.echo(to_json({**asdict(found), "log": found.log.name, "file": found.file.name}), nl=False)
        return
    of_questions = f"for {found.known:,} of {found.questions:,} questions"
    told = f"{found.nuggets:,} nuggets, {found.vital:,} of them vital, {of_questions}"
    if found.usage is None:
        say(f"{found.judge} has {told}.", err=False)
    else:
        cost = "" if found.usage.cost is None else f", for {found.usage.cost:.4g} in the currency of its prices"
        say(
            f"{found.judge} made {told}, from {found.passages:,} passages in {found.usage.calls:,} calls{cost}.",
            err=False,
        )
    say(f"Next: trueval answers judge {found.log} --judge MODEL --out judged", err=False)
