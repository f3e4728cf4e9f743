"""Dry runs: the options that commands share, and the output."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from trueval.cli.long_work import remarks
from trueval.cli.output import say

if TYPE_CHECKING:
    from trueval.models.missing_work import DryRun

DryRunFlag = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Say how many texts, calls, tokens and how much money the work that is missing takes; do nothing.",
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        "--max-cost",
        metavar="X",
        min=0,
        help="Stop before hosted models and judges cost more than this in all, in the currency of their prices.",
    ),
]


def show_dry_run(make: "Callable[[], DryRun]", form: str) -> "DryRun":
    """Print the work that is not cached.

    Args:
        make: computes it.
        form: table or json.

    Raises:
        typer.BadParameter: the format is another one.
    """
    from trueval.report.formats import to_json

    if form not in ("table", "json"):
        raise typer.BadParameter("--dry-run prints a table or json.", param_hint="--format")
    with remarks():
        found = make()
    if form == "json":
        typer.echo(to_json(found.to_dict()), nl=False)
    else:
        for line in found.sentences():
            say(line, err=False)
    return found
