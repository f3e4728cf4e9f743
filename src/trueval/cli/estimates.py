"""What a dry run prints."""

from typing import Any, Protocol

import typer

from trueval.cli.output import say


class DryRun(Protocol):
    """What there is to do, before any of it is done."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        ...

    def sentences(self) -> list[str]:
        """As a person reads it."""
        ...


def check_form(form: str) -> None:
    """Refuses a format that estimates do not have.

    Raises:
        typer.BadParameter: it is another one than table and json.
    """
    if form not in ("table", "json"):
        raise typer.BadParameter("--dry-run prints a table or json.", param_hint="--format")


def show_estimates(found: DryRun, form: str) -> None:
    """Prints what there is to do.

    Args:
        found: of a dry run.
        form: table or json.
    """
    from trueval.report.formats import to_json

    if form == "json":
        typer.echo(to_json(found.to_dict()), nl=False)
        return
    for line in found.sentences():
        say(line, err=False)
