"""`trueval golden build`: a golden set from a corpus and queries."""

from pathlib import Path
from typing import Annotated

import typer

from trueval.cli.caching import CacheFolder, Reuse, cache_of
from trueval.cli.estimates import DryRunFlag, MaxCost, show_dry_run
from trueval.cli.long_work import bars, interruptible, remarks
from trueval.cli.options import OUTPUT, Form, Memory, Percent, with_groups
from trueval.cli.output import check_folder, save, show, talk
from trueval.cli.short_help import common_options


@common_options("out", "until", "dry_run", "max_cost", "cache", "form")
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
    dry_run: DryRunFlag = False,
    max_cost: MaxCost = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep answers of the judge there, for several golden sets. Default: ledger.sqlite in --out.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    cache: CacheFolder = None,
    reuse: Reuse = None,
    form: Form = "table",
    percent: Percent = False,
    memory: Memory = None,
) -> None:
    """Builds judgments by a language model, within a budget.

    Example: trueval golden build golden.toml --out golden --dry-run

    Example: trueval golden build golden.toml --out golden --max-cost 5
    """
    from trueval.golden.build.build import LEDGER
    from trueval.golden.build.build import dry_run as estimates
    from trueval.golden.build.build_golden import build_golden
    from trueval.golden.build.golden_plan import GoldenPlan
    from trueval.golden.views.kind import GOLDEN

    plan = GoldenPlan.read(config).with_reuse(reuse)
    check_folder(out)
    book = ledger or out / LEDGER
    if dry_run:
        known = cache_of(cache, out, make=False)
        show_dry_run(lambda: estimates(plan, out, ledger=book, max_cost=max_cost, until=until, cache=known), form)
        return
    place = cache_of(cache, out)
    kept = f"Every answer is kept in {book}. The same command goes on from there."
    with interruptible(kept), remarks(), bars() as bar:
        found = build_golden(plan, out, until=until, ledger=ledger, cache=place, max_cost=max_cost, begin=bar)
    result = found.to_dict()
    talk(found.notes)
    save(out, (GOLDEN, result), page=True)
    show(GOLDEN, result, form, percent=percent)
