"""Tables of a terminal. They need rich, which is imported here and by the views that draw tables, and nowhere else."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.console import Console, Group
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from trueval.printable import printable

if TYPE_CHECKING:
    from rich.console import ConsoleOptions, RenderableType, RenderResult

LEGIBLE_NAME: Final = 16  # characters of a name for which columns that follow from others are left out
LEAST_NAME: Final = 10  # characters that a name keeps however narrow the terminal is
LEAST_TEXT: Final = 16
ELLIPSIS: Final = "…"
# Where a heading may go on in the next line, beside spaces: after a hyphen.
_HYPHEN: Final = re.compile(r"(?<=-)(?=\w)")
WIDTH: Final = 100  # characters of what Python prints, wherever that goes


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


@dataclass
class Grid:
    """A table without lines that fits itself to the terminal when it is drawn, and never cuts a number.

    Where room is short, headings go on in a second line, then texts, names are shortened in the middle, and columns
    that follow from others are left out, which a line below says. Where that is not enough, lines are too long.

    Attributes:
        head: headings; a line feed breaks one in any case.
        columns: as `grid` takes them.
        spare: headings of the columns to leave out, the first first.
        rows: cells of each row.
    """

    head: Sequence[str]
    columns: str
    spare: Sequence[str] = ()
    rows: list[list[Text]] = field(default_factory=list)
    _widest: dict[int, int] = field(default_factory=dict)

    def add_row(self, *cells: str | Text) -> None:
        """Adds a row below the others; cells that are not given are empty."""
        texts = [Text(cell) if isinstance(cell, str) else cell for cell in cells]
        # A line feed in an id would begin a line that looks like a row of its own.
        shown = [(text, printable(text.plain)) for text in texts]
        texts = [text if plain == text.plain else Text(plain, style=text.style) for text, plain in shown]
        self._widest.clear()
        self.rows.append(texts + [Text()] * (len(self.columns) - len(texts)))

    @property
    def breadth(self) -> int:
        """Characters that it needs where nothing is shortened."""
        return sum(self._natural(place) for place in range(len(self.columns))) + len(self.columns) - 1

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Rich asks how wide it wants to be."""
        return Measurement(min(self.breadth, options.max_width), min(self.breadth, options.max_width))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich asks for what it is made of."""
        kept, widths = self._fitted(options.max_width)
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
        for place in kept:
            right = self.columns[place] in "rR"
            head = _broken(self.head[place], widths[place])
            table.add_column(Text(head), justify="right" if right else "left", width=widths[place])
        cells = {place: list(self._cells(place, widths[place])) for place in kept}
        for number in range(len(self.rows)):
            table.add_row(*(cells[place][number] for place in kept))
        # Wider than the terminal where it must be: the table would cut cells to fit, and with them digits.
        needed = sum(widths[place] for place in kept) + len(kept) - 1
        yield from console.render(table, options.update(max_width=max(needed, options.max_width)))
        left_out = dict.fromkeys(
            self.head[place].replace("\n", " ") for place in range(len(self.columns)) if place not in kept
        )
        if left_out:
            words = f"No room for {', '.join(left_out)}: widen the terminal, or choose another --format."
            yield Text(words, style="dim")

    def _natural(self, place: int) -> int:
        if place not in self._widest:
            lines = self.head[place].split("\n")
            self._widest[place] = max(map(cell_len, (*lines, *(row[place].plain for row in self.rows))))
        return self._widest[place]

    def _least(self, place: int) -> int:
        """Characters that a column needs at least."""
        natural, kind = self._natural(place), self.columns[place]
        heading = max(cell_len(word) for line in self.head[place].split("\n") for _, word in _words(line))
        if kind in "Lt":
            return min(natural, max(heading, LEAST_NAME if kind == "L" else LEAST_TEXT))
        cells = [row[place].plain for row in self.rows]
        pieces = [
            piece for cell in cells for piece in (cell.replace("/", "/\n").split("\n") if kind == "R" else [cell])
        ]
        return max(heading, max(map(cell_len, pieces), default=0))

    def _fitted(self, width: int) -> tuple[list[int], dict[int, int]]:
        """The columns to draw, and how wide each is."""
        kept = list(range(len(self.columns)))
        least = {place: self._least(place) for place in kept}
        names = [place for place in kept if self.columns[place] == "L"]
        wanted = {**least, **{place: max(least[place], min(self._natural(place), LEGIBLE_NAME)) for place in names}}
        for heading in self.spare:
            if sum(wanted[place] for place in kept) + len(kept) - 1 <= width:
                break
            kept = [place for place in kept if self.head[place] != heading]
        widths = {place: least[place] for place in kept}
        room = max(width - (len(kept) - 1) - sum(widths.values()), 0)
        # Names first, each a letter in turn; then headings in one line; texts last, which break at words.
        for kinds in ("L", "rlR", "t"):
            while wanting := [p for p in kept if self.columns[p] in kinds and widths[p] < self._natural(p)][:room]:
                for place in sorted(wanting, key=widths.__getitem__):
                    widths[place] += 1
                    room -= 1
        return kept, widths

    def _cells(self, place: int, width: int) -> Iterable[Text]:
        texts, kind = [row[place] for row in self.rows], self.columns[place]
        if kind == "R" and self._natural(place) > width:
            return [Text(text.plain.replace("/", "/\n"), style=text.style) for text in texts]
        if kind != "L" or self._natural(place) <= width:
            return texts
        names = shorten_apart([text.plain for text in texts], width)
        return [Text(name, style=text.style) for name, text in zip(names, texts, strict=True)]


def grid(head: Sequence[str], columns: str, spare: Sequence[str] = ()) -> Grid:
    """A table without lines, whose rows are still to be added.

    Args:
        head: headings.
        columns: a letter for each: l for short words set to the left and r for numbers set to the right, neither ever
            cut; L for names, which are shortened in the middle; t for texts, which go on in the next line; R for
            numbers with slashes between them, after which they go on in the next line.
        spare: headings of columns that follow from others: where room is short they are left out, the first first.
    """
    return Grid(head, columns, spare)


def breadth(renderable: object) -> int:
    """Characters that the widest table of a renderable needs; 0 where it holds none.

    Args:
        renderable: a table, or a group of tables and texts.
    """
    if isinstance(renderable, Grid):
        return renderable.breadth
    return max(map(breadth, renderable.renderables), default=0) if isinstance(renderable, Group) else 0


def shorten(name: str, width: int, tail: float = 0.5) -> str:
    """A name without its middle, both ends kept.

    Args:
        name: any text of one line.
        width: characters that there is room for, at least 3.
        tail: share of the room that its end gets.

    Example:
        >>> shorten("minilm-bf16-fp32-rerank", 13), shorten("bm25", 13)
        ('minilm…rerank', 'bm25')
    """
    if cell_len(name) <= width:
        return name
    end = round((width - 1) * tail)
    begin = width - 1 - end
    head, foot = name[:begin], name[len(name) - end :]
    while cell_len(head) > begin:  # letters that are two characters wide
        head = head[:-1]
    while cell_len(foot) > end:
        foot = foot[1:]
    return f"{head}{ELLIPSIS}{foot}"


def shorten_apart(names: Sequence[str], width: int) -> list[str]:
    """Names without their middles, cut so that names that differ still do, where any cut does that.

    Args:
        names: texts of one line; some may be equal.
        width: characters that there is room for, at least 3.

    Example:
        >>> shorten_apart(["minilm-bf16-fp32-rerank", "minilm-bf16-bf16-rerank"], 16)
        ['minilm-…2-rerank', 'minilm-…6-rerank']
    """
    distinct = len(set(names))
    for tail in (0.5, 0.6, 0.4, 0.75, 0.25, 0.9, 0.1, 0.0, 1.0):
        short = [shorten(name, width, tail) for name in names]
        if len(set(short)) == distinct:
            return short
    return [shorten(name, width) for name in names]


def _broken(heading: str, width: int) -> str:
    r"""A heading in lines of at most so many characters, as far as its breaks allow.

    >>> _broken("least tie-broken", 9), _broken("pairs of 1 - 2", 14)
    ('least\ntie-\nbroken', 'pairs of 1 - 2')
    """
    lines = []
    for whole in heading.split("\n"):
        line = ""
        for glue, word in _words(whole):
            if line and cell_len(line + glue + word) > width:
                lines.append(line)
                line = word
            else:
                line += (glue if line else "") + word
        lines.append(line)
    return "\n".join(lines)


def _words(line: str) -> Iterator[tuple[str, str]]:
    """The parts of a line between which it may go on in the next one, each with what stands before it."""
    for number, between_spaces in enumerate(line.split(" ")):
        for place, word in enumerate(_HYPHEN.split(between_spaces)):
            yield " " if number and not place else "", word
