"""`trueval report`: the page and the figures of a result directory."""

from pathlib import Path
from typing import Annotated

import typer

from trueval.cli.output import save_page


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What --out of another command named.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Where the page goes. Default: DIR/report.html.")
    ] = None,
    figures: Annotated[
        bool, typer.Option("--figures/--no-figures", help="Write SVG, PNG, LaTeX and Markdown to DIR/figures too.")
    ] = True,
) -> None:
    """Writes the page and the figures of a folder of results.

    Example: trueval report results
    """
    save_page(folder, out, figures=figures)
