"""`trueval golden next`: the passages whose grades decide between runs, batch by batch."""

import shlex
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import typer

from trueval.cli.estimates import MaxCost
from trueval.cli.long_work import bars, interruptible, remarks
from trueval.cli.options import Form, with_groups
from trueval.cli.output import say, show
from trueval.cli.paths import refuse_repeated
from trueval.cli.short_help import common_options

if TYPE_CHECKING:
    from trueval.golden.audit.sampling.decision_audit import DecisionKeywords
    from trueval.golden.audit.sampling.next_labels_result import NextLabels


@dataclass(frozen=True, eq=False, repr=False)
class LabelDecisionOptions:
    """What is decided, fixed by the first call; left out later, it stays."""

    panel: ClassVar = "Decision"

    decide: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            help='"a>b" with the names of two runs; ranking, each run and the next by the judge; or gate, each run and '
            "--baseline. Default: the first run > the second.",
        ),
    ] = None
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure",
            "-m",
            metavar="M",
            help="A sum over passages: P, Hits, DCG, RBP, P4+ or Harm. Default: DCG@10, of a golden set P4+@10.",
        ),
    ] = None
    budget: Annotated[
        int | None,
        typer.Option(metavar="N", min=50, help="About how many labels at most. The first call needs it."),
    ] = None
    batch: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Passages of a batch, on average. Default: a tenth of the budget."),
    ] = None
    baseline: Annotated[str | None, typer.Option(metavar="NAME", help="Name of the baseline of a gate.")] = None
    max_drop: Annotated[
        float | None,
        typer.Option(metavar="X", min=0, help="How much worse than the baseline a run may be. Default: 0."),
    ] = None
    target: Annotated[
        Literal["these", "new"] | None,
        typer.Option(
            help="Whether the decision is about new queries, of which these are a sample, or these alone. Default: new."
        ),
    ] = None
    level: Annotated[float | None, typer.Option(metavar="X", help="Of the decision. Default: 0.95.")] = None
    seed: Annotated[int | None, typer.Option(metavar="N", min=0, help="Of the draws. Default: 0.")] = None
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="LOW-HIGH",
            help="Grades that people may give. Default: 1-5 for a golden set, else those of the judgments.",
        ),
    ] = None

    def choices(self) -> "DecisionKeywords":
        """As keyword arguments of `trueval.next_labels`."""
        from trueval.golden.audit.sampling.audit_source import read_scale

        return {
            "decide": self.decide,
            "measure": self.measure,
            "budget": self.budget,
            "batch": self.batch,
            "baseline": self.baseline,
            "max_drop": self.max_drop,
            "target": self.target,
            "level": self.level,
            "seed": self.seed,
            "scale": None if self.scale is None else read_scale(self.scale),
        }


@common_options("decide", "measure", "budget", "people", "out", "form")
@with_groups
def next(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A golden set, or a file of judgments.")],
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Run files, or name=path.")],
    *,
    decision: LabelDecisionOptions,
    collection: Annotated[
        str | None,
        typer.Option(metavar="DIR", help="Folder with corpus and queries. Default: the one of the golden set."),
    ] = None,
    people: Annotated[
        Path | None,
        typer.Option(
            metavar="QRELS",
            help="Grades of people that are there already: take those of the drawn passages until the decision holds.",
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Have another judge grade the drawn passages until the decision holds: a model, labels:FILE, or a "
            "TOML file with a table \\[judge]. What is decided is what all its labels would say.",
        ),
    ] = None,
    judge_scale: Annotated[
        str | None,
        typer.Option(metavar="MAP", help="Grades of the audit for those of that judge, such as 1:0,2:0,3:1,4:2,5:3."),
    ] = None,
    max_cost: MaxCost = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the audit. Default: next in the golden set.")
    ] = None,
    form: Form = "table",
) -> None:
    """Draws the passages whose grades decide between runs.

    Grade them with trueval golden audit, then run this again: it says what is decided, or draws the next batch.

    Example: trueval golden next golden a.trec b.trec --decide "a>b" --budget 400
    """
    from trueval.golden.audit.sampling.next_labels import FOLDER, next_labels
    from trueval.golden.views.kind import NEXT

    refuse_repeated(str(folder), runs)
    place = out or folder / FOLDER
    with (
        interruptible(f"What was drawn is in {place}. The same command goes on from there."),
        remarks(),
        ExitStack() as until_read,
    ):
        bar = until_read.enter_context(bars())
        step = bar("reading")
        found = next_labels(
            folder,
            runs,
            out=out,
            collection=collection,
            people=people,
            judge=judge,
            judge_scale=judge_scale,
            max_cost=max_cost,
            step=None if judge is None else bar("grading"),
            tell=lambda done: step("documents", done, 0),
            **decision.choices(),
        )
    show(NEXT, found.to_dict(), form)
    say(f"Next: {_next_command(folder, runs, out, place, found)}")


def _next_command(folder: Path, runs: list[str], out: Path | None, place: Path, found: "NextLabels") -> str:
    """What to do now: have the passages graded, or see what their labels say of every run."""
    if found.open:
        return shlex.join(["trueval", "golden", "audit", str(folder), "--out", str(place)]) + ", then this again"
    words = ["trueval", "golden", "correct", str(folder), *runs, "--audit", str(place), "-m", found.measure]
    return shlex.join(words)
