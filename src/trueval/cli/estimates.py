"""What a dry run prints."""

from typing import Any, Protocol

import typer

from trueval.cli.output import say


class DryRun(Protocol):
    """The work to do, before any of it is done."""

    def to_dict(self) -> dict[str, Any]:
        """The work as a dict for JSON."""
        ...

    def sentences(self) -> list[str]:
        """The work in sentences."""
        ...


def check_form(form: str) -> None:
    """Refuse a format that estimates do not have.

    Raises:
        typer.BadParameter: it is another one than table and json.
    """
    if form not in ("table", "json"):
        raise typer.BadParameter("--dry-run prints a table or json.", param_hint="--format")


def show_estimates(found: DryRun, form: str) -> None:
    """Print the work to do.

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
