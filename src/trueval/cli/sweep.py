"""`trueval sweep`: cost, latency and quality of each configuration of a pipeline."""

from pathlib import Path
from typing import Annotated

import typer

from trueval.cli.caching import CacheFolder, Reuse, cache_of
from trueval.cli.estimates import DryRunFlag, MaxCost, show_dry_run
from trueval.cli.executors import executor_on
from trueval.cli.long_work import bars, interruptible, remarks
from trueval.cli.options import OUTPUT, Form, Memory, Percent, Where, with_groups
from trueval.cli.output import check_folder, save, say, show, talk_notes
from trueval.cli.short_help import common_options
from trueval.errors import InputError


@common_options("out", "dry_run", "max_cost", "cache", "form")
@with_groups
def sweep(
    config: Annotated[
        Path,
        typer.Argument(metavar="CONFIG.toml", help="A pipeline file whose values may be lists; docs/tradeoff.md."),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write each system there as soon as it is done, and the result with its page; the same command goes "
            "on from there.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    cache: CacheFolder = None,
    reuse: Reuse = None,
    on: Where = None,
    dry_run: DryRunFlag = False,
    max_cost: MaxCost = None,
    form: Form = "table",
    percent: Percent = False,
    memory: Memory = None,
) -> None:
    """Measures quality, cost and latency of configurations.

    Example: trueval sweep sweep.toml --out results

    Example: trueval sweep sweep.toml --dry-run
    """
    from trueval.tradeoff.config.plan import SweepPlan
    from trueval.tradeoff.runner.sweep import sweep as make
    from trueval.tradeoff.views.kind import SWEEP

    plan = SweepPlan.read(config).with_reuse(reuse)
    if out is not None:
        check_folder(out)
    place = cache_of(cache, out, make=not dry_run)
    if dry_run:
        from trueval.tradeoff.runner.sweep_estimate import estimate

        if not show_dry_run(lambda: estimate(plan, out=out, cache=place, max_cost=max_cost), form).about["ready"]:
            raise InputError("No system can begin. Correct what is wrong with them, and run the same command again.")
        return
    with interruptible(_describe_saved_work(place, out)), remarks(), executor_on(on) as executor, bars() as bar:
        found = make(plan, out=out, cache=place, begin=bar, max_cost=max_cost, executor=executor)
    result = found.to_dict()
    for each in found.failed:
        say(f"failed: {each.name}: {each.reason}")
    if not found.systems:
        raise InputError("No system could be made. Correct what is wrong with them, and run the same command again.")
    talk_notes(result)
    if out is not None:
        save(out, (SWEEP, result), page=True)
    show(SWEEP, result, form, percent=percent, given={} if out is None else {"SWEEP_DIR": [str(out)]})


def _describe_saved_work(cache: Path | None, out: Path | None) -> str:
    """What is kept of an interrupted sweep."""
    if cache is None:
        return "Nothing is kept. With --out DIR what is done is."
    systems = "" if out is None else f", and systems that are done in {out}"
    return f"What was computed and paid for is kept in {cache}{systems}. The same command goes on from there."
