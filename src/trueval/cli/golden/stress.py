"""`trueval golden stress`: what becomes of conclusions where a judge labels, and how easily it is fooled."""

from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from trueval.cli.estimates import DryRunFlag, MaxCost, show_dry_run
from trueval.cli.golden.agree import PEOPLE_HELP, GradeOptions
from trueval.cli.long_work import bars, interruptible, remarks
from trueval.cli.options import (
    Form,
    Level,
    MeasureList,
    Memory,
    OutputOptions,
    PolicyOptions,
    measures_of,
    with_groups,
)
from trueval.cli.output import check_folder, save, show, talk_notes
from trueval.cli.progress import progress
from trueval.cli.short_help import common_options


@dataclass(frozen=True, eq=False, repr=False)
class StressRunOptions:
    """What is compared."""

    panel: ClassVar = "Systems"

    people: Annotated[Path | None, typer.Option(metavar="QRELS", help=PEOPLE_HELP)] = None
    runs: Annotated[
        list[str] | None,
        typer.Option(metavar="RUN", help="A run file, name=path, or a folder of run files; repeated for more."),
    ] = None
    family: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="Which runs and judges are of one model family: \\[runs], \\[judges]."),
    ] = None
    top: Annotated[int, typer.Option(metavar="N", min=2, help="Best systems by people, looked at by themselves.")] = 10

    def files(self) -> list[str]:
        """The run files, those of folders in the order of their names."""
        found: list[str] = []
        for each in self.runs or ():
            inside = sorted(Path(each).iterdir()) if Path(each).is_dir() else []
            found += [str(path) for path in inside if path.is_file() and not path.name.startswith(".")] or [each]
        return found


@dataclass(frozen=True, eq=False, repr=False)
class DecisionOptions:
    """How differences are decided."""

    panel: ClassVar = "Comparison"

    test: Annotated[str, typer.Option(metavar="NAME", help="Test that decides: randomization, t or wilcoxon.")] = (
        "randomization"
    )
    correction: Annotated[
        str,
        typer.Option(metavar="NAME", help="For many pairs: maxt, holm, benjamini-hochberg. Default: as in compare."),
    ] = ""
    level: Level = 0.95
    resamples: Annotated[int, typer.Option(metavar="N", min=100, help="Resamples for intervals of κ, α, τ, lifts.")] = (
        2000
    )


@dataclass(frozen=True, eq=False, repr=False)
class TrapOptions:
    """Whether and how a judge is fooled."""

    panel: ClassVar = "Gullibility"

    gullibility: Annotated[
        Path | None,
        typer.Option(
            metavar="GOLDEN.toml",
            help="Ask the judge of this golden set about passages that are made to fool it; needs --out.",
        ),
    ] = None
    queries: Annotated[int, typer.Option(metavar="N", min=1, help="Queries that are drawn for it.")] = 20
    relevant: Annotated[int, typer.Option(metavar="N", min=2, max=5, help="Least grade that counts as relevant.")] = 4
    dry_run: DryRunFlag = False
    max_cost: MaxCost = None
    ledger: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep answers there. Default: ledger.sqlite in --out.")
    ] = None


@common_options("people", "runs", "measures", "family", "gullibility", "out", "form")
@with_groups
def stress(
    judges: Annotated[
        list[str] | None, typer.Argument(metavar="JUDGE...", help="Judgments of each judge, or name=path.")
    ] = None,
    *,
    systems: StressRunOptions,
    measures: MeasureList = None,
    policy: PolicyOptions,
    labels: GradeOptions,
    decisions: DecisionOptions,
    traps: TrapOptions,
    output: OutputOptions,
    form: Form = "table",
    memory: Memory = None,
) -> None:
    """Says what judges do to conclusions about systems.

    With --gullibility it asks a judge about passages that should not be relevant, and says how often it is fooled.

    Example: trueval golden stress --people people.qrels gpt.qrels --runs bm25.trec --runs dense.trec -m nDCG@10

    Example: trueval golden stress --gullibility golden.toml --out stress --dry-run
    """
    if output.out is not None:
        check_folder(output.out)
    if traps.gullibility is not None:
        if judges or systems.people or systems.runs:
            raise typer.BadParameter("asks a judge, and takes no labels or runs.", param_hint="--gullibility")
        _measure_robustness(traps, decisions.level, output, form)
        return
    if not judges or systems.people is None or len(systems.files()) < 2:
        raise typer.BadParameter("name people (--people), one judge or more, and two runs or more (--runs).")
    from trueval.golden.validation.stress import stress as library
    from trueval.golden.views.kind import STRESS

    with progress(1 + len(judges), verb="evaluating by") as begin:
        found = library(
            judges,
            systems.people,
            systems.files(),
            measures_of(measures),
            families=systems.family,
            top=systems.top,
            choices=labels.to_choices(),
            tell=begin,
            **{**policy.choices(), "seed": policy.seed or 0, **asdict(decisions)},
        )
    result = found.to_dict()
    talk_notes(result)
    if output.out is not None:
        save(output.out, (STRESS, result), page=True)
    show(STRESS, result, form, percent=output.percent)


def _measure_robustness(traps: TrapOptions, level: float, output: OutputOptions, form: str) -> None:
    from trueval.golden.build.golden_plan import GoldenPlan
    from trueval.golden.validation.robustness import dry_run, measure_robustness
    from trueval.golden.views.kind import GULLIBILITY

    if output.out is None or traps.gullibility is None:
        raise typer.BadParameter("is needed with --gullibility: answers are kept there.", param_hint="--out")
    plan = GoldenPlan.read(traps.gullibility)
    if traps.dry_run:
        show_dry_run(partial(dry_run, plan, output.out, traps.queries, traps.ledger, traps.max_cost), form)
        return
    kept = f"Every answer is kept in {traps.ledger or output.out}. The same command goes on from there."
    with interruptible(kept), remarks(), bars() as bar:
        found = measure_robustness(
            plan,
            output.out,
            queries=traps.queries,
            relevant=traps.relevant,
            level=level,
            ledger=traps.ledger,
            max_cost=traps.max_cost,
            begin=bar,
        )
    result = found.to_dict()
    save(output.out, (GULLIBILITY, result), page=True)
    show(GULLIBILITY, result, form, percent=output.percent)
