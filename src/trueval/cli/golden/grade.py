"""`trueval golden grade`: a judge labels what runs retrieved and nobody judged."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from trueval.cli.estimates import DryRunFlag, MaxCost, show_dry_run
from trueval.cli.long_work import bars, interruptible, remarks
from trueval.cli.options import JUDGMENTS, OUTPUT, with_groups
from trueval.cli.output import make_parent, say, talk
from trueval.cli.short_help import common_options

if TYPE_CHECKING:
    from trueval.golden.build.golden_plan import JudgePlan


@dataclass(frozen=True, eq=False, repr=False)
class JudgeOptions:
    """Who grades, and how."""

    panel: ClassVar = "Judge"

    judge: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="A model as its server calls it, labels:FILE, or a TOML file with a table \\[judge].",
        ),
    ]
    base_url: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the server is. Default: https://api.openai.com/v1.")
    ] = None
    api_key_env: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Environment variable that holds the key. Default: OPENAI_API_KEY at OpenAI, else no key.",
        ),
    ] = None
    prompt: Annotated[
        str | None, typer.Option(metavar="NAME", help="grade-1-5, grade-0-3, or a .toml file. Default: grade-1-5.")
    ] = None
    batch: Annotated[int | None, typer.Option(metavar="N", min=1, help="Passages in a call, at most. Default: 8.")] = (
        None
    )
    rounds: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Times that each passage is shown. Default: 2.")
    ] = None
    concurrency: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Calls under way at once, at most. Default: 8.")
    ] = None
    max_cost: MaxCost = None
    price_per_million_input: Annotated[
        float | None, typer.Option("--price-in", metavar="X", min=0, help="What a million tokens of prompts cost.")
    ] = None
    price_per_million_output: Annotated[
        float | None, typer.Option("--price-out", metavar="X", min=0, help="What a million tokens of answers cost.")
    ] = None

    def plan(self) -> "JudgePlan":
        """The table [judge] of a file, or of the options alone; options win."""
        from trueval.golden.build.golden_plan import read_judge

        names = ("base_url", "api_key_env", "prompt", "batch", "rounds", "concurrency", "max_cost")
        named = (*names, "price_per_million_input", "price_per_million_output")
        given: dict[str, Any] = {name: getattr(self, name) for name in named if getattr(self, name) is not None}
        return read_judge(self.judge, given)


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
