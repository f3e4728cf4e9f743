"""`trueval route check`: whether served queries still look like those that certified the router."""

from pathlib import Path
from typing import Annotated

import typer

from trueval.cli.options import Form, OutputOptions, with_groups
from trueval.cli.output import check_folder, save, show
from trueval.cli.short_help import common_options


@common_options("router", "level", "out", "form")
@with_groups
def check(
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG",
            help='JSON lines in the order of serving, each with the need of a query: {"query": "q7", "need": -0.12}. '
            "`trueval retrieve --route` writes route.jsonl.",
        ),
    ],
    *,
    router: Annotated[Path, typer.Option(metavar="FILE", help="router.toml that served them.")] = Path("router.toml"),
    level: Annotated[
        float, typer.Option(metavar="X", help="Drift is found by chance with a probability of at most 1 - X, ever.")
    ] = 0.95,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Of the order among equal needs.")] = 0,
    output: OutputOptions,
    form: Form = "table",
) -> None:
    """Says whether served queries still look like those that certified the router; exits with 1 where they do not.

    The log may be checked as often as you like while it grows: the test holds at any time.

    Example: trueval route check results/route.jsonl --router router.toml
    """
    from trueval.tradeoff.route.drift import check_drift
    from trueval.tradeoff.views.kind import DRIFT

    if output.out is not None:
        check_folder(output.out)
    found = check_drift(log, router, level=level, seed=seed)
    result = found.to_dict()
    if output.out is not None:
        save(output.out, (DRIFT, result), page=True)
    show(DRIFT, result, form, percent=output.percent)
    raise typer.Exit(1 if found.drifted else 0)
