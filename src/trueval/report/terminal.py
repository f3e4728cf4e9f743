"""Tables of a terminal. They need rich, which is imported here and by the views that draw tables, and nowhere else."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.cells import cell_len
from rich.console import Console, Group
from rich.measure import Measurement
from rich.text import Text

from trueval.printable import printable

if TYPE_CHECKING:
    from rich.console import ConsoleOptions, RenderableType, RenderResult

INDENT: Final = "  "  # of what belongs to the line above
GAP: Final = "  "  # between names on one line
LEAST_TEXT: Final = 16
ELLIPSIS: Final = "…"
# Where a heading may go on in the next line, beside spaces: after a hyphen.
_HYPHEN: Final = re.compile(r"(?<=-)(?=\w)")
WIDTH: Final = 100  # characters of what Python prints, wherever that goes


def render_text(content: RenderableType) -> str:
    """What a terminal would show, as plain text of at most 100 columns: for print.

    Args:
        content: a table, or a group of them.

    >>> print(render_text(grid(["run", "RR"], "lr")))
    run RR
    """
    text = io.StringIO()
    Console(file=text, width=WIDTH, color_system=None, highlight=False).print(content)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()).strip("\n")


@dataclass
class TerminalGrid:
    """A table without lines that fits itself to the terminal when it is drawn, and never cuts a number or a name.

    Where room is short, headings and texts go on in the next line, and columns that follow from others are left out,
    which a line below says. Where that is not enough, names stand on a line of their own above their numbers; then,
    every cell on a line of its own behind its heading.

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
        """Characters that it needs where nothing is left out or on another line."""
        return sum(self._natural(place) for place in range(len(self.columns))) + len(self.columns) - 1

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Rich asks how wide it wants to be."""
        return Measurement(min(self.breadth, options.max_width), min(self.breadth, options.max_width))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich asks for what it is made of."""
        found = self._fit(options.max_width)
        if found is None:
            yield from self._stack(console, options.max_width)
            return
        indent = Text(INDENT if found.above else "")
        above = [self.head[place].replace("\n", " ") for place in found.above]
        yield from [Text(GAP.join(above), style="bold")] if any(above) else []
        heads = [_break_heading(self.head[place], found.widths[place]).split("\n") for place in found.kept]
        most = max(map(len, heads))  # headings end on the same line
        bold = [[Text(line, style="bold") for line in [""] * (most - len(lines)) + lines] for lines in heads]
        yield from (indent + line for line in self._lines(bold, found))
        for row in self.rows:
            if found.above:
                yield Text(GAP).join([row[place] for place in found.above if row[place].plain])
            if not found.above or any(row[place].plain for place in found.kept):
                cells = [self._cell(row[place], place, found.widths[place], console) for place in found.kept]
                yield from (indent + line for line in self._lines(cells, found))
        drawn_places = {*found.above, *found.kept}
        left_out = dict.fromkeys(
            self.head[place].replace("\n", " ") for place in range(len(self.columns)) if place not in drawn_places
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
        cells = [row[place].plain for row in self.rows]
        if kind == "t":
            return min(natural, max(heading, LEAST_TEXT))
        pieces = [
            piece for cell in cells for piece in (cell.replace("/", "/\n").split("\n") if kind == "R" else [cell])
        ]
        return max(heading, max(map(cell_len, pieces), default=0))

    def _fit(self, width: int) -> _Fit | None:
        """The columns to draw, and how wide each is; None where no table fits."""
        places = range(len(self.columns))
        names = self.columns.rfind("L", 0, len(self.columns) - 1)
        for above in [[], [*places[: names + 1]]][: 2 if names >= 0 else 1]:
            kept, room = [place for place in places if place not in above], width - len(INDENT) * bool(above)
            for heading in (None, *self.spare):
                kept = [place for place in kept if self.head[place] != heading]
                if kept and sum(map(self._least, kept)) + len(kept) - 1 <= room:
                    return _Fit(above, kept, self._widths(kept, room))
        return None

    def _widths(self, kept: Sequence[int], width: int) -> dict[int, int]:
        """How wide each column is: at least what it needs, at most what it would like."""
        widths = {place: self._least(place) for place in kept}
        room = max(width - (len(kept) - 1) - sum(widths.values()), 0)
        # Headings in one line first, each a letter in turn; texts last, which break at words.
        for kinds in ("LRlr", "t"):
            while wanting := [p for p in kept if self.columns[p] in kinds and widths[p] < self._natural(p)][:room]:
                for place in sorted(wanting, key=widths.__getitem__):
                    widths[place] += 1
                    room -= 1
        return widths

    def _cell(self, text: Text, place: int, width: int, console: Console) -> list[Text]:
        """The lines of a cell."""
        if cell_len(text.plain) <= width:
            return [text]
        if self.columns[place] == "R":
            return [Text(piece, style=text.style) for piece in text.plain.replace("/", "/\n").split("\n")]
        return list(text.wrap(console, width))

    def _lines(self, cells: Sequence[Sequence[Text]], found: _Fit) -> Iterator[Text]:
        """Cells of several lines side by side."""
        for number in range(max(map(len, cells))):
            line = Text(no_wrap=True, overflow="ignore")
            for place, lines in zip(found.kept, cells, strict=True):
                text = lines[number] if number < len(lines) else Text()
                blank = " " * (found.widths[place] - cell_len(text.plain))
                line.append(" " * (place != found.kept[0]))
                line.append_text(Text(blank) + text if self.columns[place] in "rR" else text + Text(blank))
            yield line

    def _stack(self, console: Console, width: int) -> Iterator[Text]:
        """Every cell behind its heading, or below it, under the first cell of its row."""
        for row in self.rows:
            first, *others = [place for place in range(len(self.columns)) if row[place].plain] or [0]
            yield row[first]
            for place in others:
                heading = self.head[place].replace("\n", " ")
                line = Text(f"{INDENT}{heading}: " if heading else INDENT)
                if cell_len(line.plain) + cell_len(row[place].plain) <= width:
                    yield line + row[place]
                    continue
                yield from [line] if heading else []
                yield from (
                    Text(2 * INDENT) + part for part in row[place].wrap(console, max(width - 2 * len(INDENT), 1))
                )


class _Fit(NamedTuple):
    """How a table fits a width.

    Attributes:
        above: columns whose cells stand on a line of their own, above the others of their row.
        kept: columns side by side.
        widths: of these.
    """

    above: Sequence[int]
    kept: Sequence[int]
    widths: Mapping[int, int]


def grid(head: Sequence[str], columns: str, spare: Sequence[str] = ()) -> TerminalGrid:
    """A table without lines, whose rows are still to be added.

    Args:
        head: headings.
        columns: a letter for each: l for words set to the left and r for numbers set to the right, which stay on one
            line; L for names, likewise, which may stand on a line above the rest of their row; t for texts, which go on
            in the next line; R for numbers with slashes between them, after which they go on in the next line.
        spare: headings of columns that follow from others: where room is short they are left out, the first first.
    """
    return TerminalGrid(head, columns, spare)


def breadth(renderable: object) -> int:
    """Characters that the widest table of a renderable needs; 0 where it holds none.

    Args:
        renderable: a table, or a group of tables and texts.
    """
    if isinstance(renderable, TerminalGrid):
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


def _break_heading(heading: str, width: int) -> str:
    r"""A heading in lines of at most so many characters, as far as its breaks allow.

    >>> _break_heading("least tie-broken", 9), _break_heading("pairs of 1 - 2", 14)
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
