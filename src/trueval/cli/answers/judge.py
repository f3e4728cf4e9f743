"""`trueval answers judge`: the judged table of a log, filled by a judge."""

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
class ClaimJudgeOptions(ModelOptions):
    """Who judges, and how."""

    prompt: Annotated[
        str | None, typer.Option(metavar="NAME", help="support-0-3, or a .toml file. Default: support-0-3.")
    ] = None
    batch: Annotated[int | None, typer.Option(metavar="N", min=1, help="Texts in a call, at most. Default: 8.")] = None
    rounds: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Times that each claim meets each text. Default: 2."),
    ] = None


@common_options("judge", "relevance", "batch", "rounds", "max_cost", "dry_run", "out")
@with_groups
def judge(
    log: Annotated[str, typer.Argument(metavar="LOG", help=LOGS, show_default=False)],
    *,
    chosen: ClaimJudgeOptions,
    relevance: Annotated[
        bool,
        typer.Option(
            "--relevance",
            help="Also ask which claims address the question, for answer-relevance.",
            rich_help_panel="Judge",
        ),
    ] = False,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Write table.jsonl and the ledger there.", rich_help_panel=OUTPUT)
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
    """Has a judge say which texts support which claims.

    Example: trueval answers judge log.jsonl --judge gpt-5-mini --out judged --dry-run

    Example: trueval answers judge log.jsonl --judge gpt-5-mini --out judged --max-cost 2 --price-in 0.25 --price-out 2
    """
    from trueval.answers.claim_audit import CELLS, FOLDER
    from trueval.answers.judge_answers import estimate_judging, judge_answers
    from trueval.golden.build.build import LEDGER
    from trueval.report.formats import to_json

    check_folder(out)
    plan = chosen.plan()
    if dry_run:
        show_dry_run(lambda: estimate_judging(log, out, plan, relevance=relevance, ledger=ledger), form)
        return
    kept = f"Every answer is kept in {ledger or out / LEDGER}. The same command goes on from there."
    with interruptible(kept), remarks(), bars() as bar:
        found = judge_answers(log, out, plan, relevance=relevance, ledger=ledger, begin=bar)
    talk(found.notes)
    if form == "json":
        typer.echo(to_json({**asdict(found), "table": found.table.name}), nl=False)
        return
    cost = "" if found.usage.cost is None else f", for {found.usage.cost:.4g} in the currency of its prices"
    told = f"{found.cells - found.missing:,} of {found.cells:,} cells in {found.usage.calls:,} calls{cost}"
    say(f"{found.judge} judged {told}.", err=False)
    say(f"Next: trueval answers evaluate {log} --judged {found.table}", err=False)
    audit = found.table.parent / FOLDER
    if (audit / CELLS).is_file():
        chosen_by = "--design queries --scale 1-4"
        say(f"People: trueval golden audit {audit / CELLS} --collection {audit} {chosen_by} --out people", err=False)
