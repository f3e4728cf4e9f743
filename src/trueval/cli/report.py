"""`trueval report`: the page and the figures of a result directory."""

from pathlib import Path
from typing import Annotated

import typer

from trueval.cli.output import write_atomically


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What --out of another command named.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where the page goes. Default: DIR/report.html.")
    ] = None,
    figures: Annotated[
        bool, typer.Option("--figures/--no-figures", help="Write SVG, PNG, LaTeX and Markdown to DIR/figures too.")
    ] = True,
) -> None:
    """Writes one HTML page that opens offline, and figures and tables for a paper.

    Example: trueval report results
    """
    from trueval.evaluation.views.paper import write_paper
    from trueval.report.kinds import read_directory
    from trueval.report.page import page

    directory = read_directory(folder)
    file = out or folder / "report.html"
    write_atomically(file, page(directory))
    written = write_paper(directory, folder / "figures") if figures else ()
    typer.echo(f"wrote {', '.join(str(path) for path in (file, *written))}", err=True)
