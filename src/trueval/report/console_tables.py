"""Tables of results in Python: plain text for print, HTML for notebooks, without any library."""

from collections.abc import Iterable, Sequence
from html import escape

from trueval.printable import printable

CELL = "padding: 2px 8px; white-space: nowrap"
BORDERS = "border-collapse: collapse; font-variant-numeric: tabular-nums"


def plain(head: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> str:
    """A table as text, with aligned columns separated by two spaces.

    Args:
        head: headings.
        rows: cells.
        words: number of leading columns with words; the others have numbers, aligned right.

    Example:
        >>> print(plain(["measure", "expected"], [["RR", "0.5000"]]))
        measure  expected
        RR         0.5000
    """
    table = [list(head), *([printable(cell) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < words else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    )


def notebook(head: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1, caption: str = "") -> str:
    """A table as HTML, with everything escaped.

    Args:
        head: headings.
        rows: cells.
        words: as in `plain`.
        caption: caption above the table.

    Example:
        >>> "&lt;b&gt;" in notebook(["run"], [["<b>"]])
        True
    """

    def row(cells: Sequence[str], tag: str) -> str:
        sides = ("left" if place < words else "right" for place in range(len(cells)))
        parts = (
            f'<{tag} style="text-align: {side}; {CELL}">{escape(printable(cell))}</{tag}>'
            for cell, side in zip(cells, sides, strict=True)
        )
        return f"<tr>{''.join(parts)}</tr>"

    title = f'<caption style="text-align: left; {CELL}">{escape(printable(caption))}</caption>' if caption else ""
    body = "".join(row(cells, "td") for cells in rows)
    return f'<table style="{BORDERS}">{title}<thead>{row(head, "th")}</thead><tbody>{body}</tbody></table>'
