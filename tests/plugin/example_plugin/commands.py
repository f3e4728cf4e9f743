"""Commands of another package: a function, and a typer application with commands of its own."""

from __future__ import annotations

from typing import Annotated

import typer

from trueval.judgments import Judgments


def relevant(
    qrels: Annotated[str, typer.Argument(metavar="QRELS", help="Judgments.")],
    rel: Annotated[float, typer.Option(metavar="N", help="Grade from which a document is relevant.")] = 1,
) -> None:
    """Counts the relevant documents of each query."""
    frame = Judgments.read(qrels).frame
    for (query,), documents in frame.group_by("query_id", maintain_order=True):
        typer.echo(f"{query} {(documents['grade'] >= rel).sum()}")


several = typer.Typer()


@several.command()
def first() -> None:
    """Says one."""
    typer.echo("one")


@several.command()
def second() -> None:
    """Says two."""
    typer.echo("two")


NOT_A_COMMAND = 3
