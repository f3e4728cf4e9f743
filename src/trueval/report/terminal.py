"""Tables of a terminal. They need rich, which is imported here and by the views that draw tables, and nowhere else."""

import io
from collections.abc import Sequence
from typing import Literal

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

WIDTH = 100  # characters of what Python prints, wherever that goes


def drawn(content: RenderableType) -> str:
    """What a terminal would show, as plain text of at most 100 columns: for print.

    Args:
        content: a table, or a group of them.

    >>> print(drawn(grid(["run", "RR"], "lr")))
    run RR
    """
    text = io.StringIO()
    Console(file=text, width=WIDTH, color_system=None, highlight=False).print(content)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()).strip("\n")


def grid(head: Sequence[str], columns: str) -> Table:
    """A table without lines, whose rows are still to be added.

    Args:
        head: headings.
        columns: a letter for each: l for words set to the left, r for numbers set to the right, which are shortened
            with a visible sign where the terminal is too narrow; L and R where a long text goes on in the next line.
    """
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    for name, kind in zip(head, columns, strict=True):
        goes_on = kind.isupper()
        justify: Literal["left", "right"] = "right" if kind in "rR" else "left"
        table.add_column(Text(name), justify=justify, no_wrap=not goes_on, overflow="fold" if goes_on else "ellipsis")
    return table
