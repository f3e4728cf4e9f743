"""`trueval golden build`: a golden set from a corpus and queries."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trueval.cli.options import OUTPUT, CacheFolder, Form, Memory, Percent, cache_of, with_groups
from trueval.cli.output import check_folder, foretell, save, show, talk
from trueval.cli.precision import bars, interruptible, remarks

if TYPE_CHECKING:
    from trueval.golden.plan import Plan


@with_groups
def build(
    config: Annotated[
        Path,
        typer.Argument(metavar="CONFIG.toml", help="A pipeline file with \\[judge] and more; docs/golden.md."),
    ],
    *,
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="The folder of the golden set; the same command goes on from what is there.",
            rich_help_panel=OUTPUT,
        ),
    ],
    until: Annotated[
        str | None,
        typer.Option(metavar="STAGE", help="Stop after rewrite, pool, grade, prune or refine. Default: all of them."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many calls, tokens and how much money it takes; ask nothing.")
    ] = False,
    max_cost: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            min=0,
            help="Stop before the golden set costs more than this in all, in the currency of the prices in the file.",
        ),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep answers of the judge there, for several golden sets. Default: ledger.sqlite in --out.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    cache: CacheFolder = None,
    form: Form = "table",
    percent: Percent = False,
    memory: Memory = None,
) -> None:
    """Builds a golden set: pools of passages, graded and ordered by a judge, every label with the call that gave it.

    Example: trueval golden build golden.toml --out golden --dry-run

    Example: trueval golden build golden.toml --out golden --max-cost 5
    """
    from trueval.golden.build import LEDGER
    from trueval.golden.build import build as make
    from trueval.golden.plan import Plan
    from trueval.golden.views.kind import GOLDEN

    plan = Plan.read(config)
    check_folder(out)
    book = ledger or out / LEDGER
    if dry_run:
        _show_estimate(plan, out, book, max_cost, until, form)
        return
    place = cache_of(cache, out)
    kept = f"Every answer is kept in {book}. The same command goes on from there."
    with interruptible(kept), remarks(), bars() as bar:
        found = make(plan, out, until=until, ledger=ledger, cache=place, max_cost=max_cost, begin=bar)
    result = found.to_dict()
    talk(_notes(result))
    save(out, (GOLDEN, result), page=True)
    show(GOLDEN, result, form, percent=percent)


def _notes(result: dict[str, object]) -> list[str]:
    stages = result["stages"]
    return [note for stage in stages for note in stage.get("notes", ())] if isinstance(stages, list) else []


def _show_estimate(plan: "Plan", out: Path, ledger: Path, max_cost: float | None, until: str | None, form: str) -> None:
    """Says what there is to ask."""
    from trueval.golden.build import dry_run

    with remarks():
        foretell(lambda: dry_run(plan, out, ledger=ledger, max_cost=max_cost, until=until), form)
