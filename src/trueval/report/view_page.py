"""Views as part of a page: every number with its place in the result file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, TypeAlias

from trueval.report import view as views
from trueval.report.formats import slug
from trueval.report.json_fields import find_pointers, key_of
from trueval.report.page_content import Block, Case, Cell, Number, PageAnswer, PageColumn, Part, Row, Table, Words
from trueval.report.result_directory import ResultFile, pointer
from trueval.report.units import Unit
from trueval.report.view_texts import counted, explained_marks, value_of

Path: TypeAlias = "tuple[str, ...]"


def part_of(view: views.View, file: ResultFile, result: object) -> Part:
    """The part of the page that a view is.

    Args:
        view: of the result.
        file: that holds the result.
        result: that the view was declared for.
    """
    sources = _Sources(file, find_pointers(result))
    answer = view.answer
    blocks = [sources.block(each) for each in view.sections if _shown(each)]
    closing = [block for block, each in zip(blocks, filter(_shown, view.sections), strict=True) if each.closing]
    return Part(
        title=view.title,
        answer=PageAnswer(
            answer.question,
            sources.words(answer.sentence),
            sources.words(answer.sure),
            sources.words(answer.change),
            answer.next,
        ),
        lead=(view.lead,) if view.lead else (),
        said=tuple(sources.words(each) for each in view.findings),
        blocks=tuple(block for block in blocks if block not in closing),
        closing=tuple(closing),
        legend=(*explained_marks(view), *view.legend),
        notes=tuple(view.notes),
    )


def block_of(section: views.Section, file: ResultFile, rows: object) -> Block:
    """A section of the page about a file beside the result, such as each label of a golden set.

    Args:
        section: whose numbers are from the file.
        file: its name is that of the tables.
        rows: dataclasses in it, where the file has their values; others are given no place.
    """
    return _Sources(file, find_pointers(rows)).block(section)


def _shown(section: views.Section) -> bool:
    """Whether the page has anything of a section."""
    return bool(
        section.words or section.figures or section.cases or any(sheet.only != "text" for sheet in section.sheets)
    )


class _Sources(NamedTuple):
    """Gives every number of the page its place in the file.

    Attributes:
        file: that holds the result.
        pointers: of its parts, by their id.
    """

    file: ResultFile
    pointers: Mapping[int, str]

    def words(self, sentence: views.Sentence) -> Words:
        """A sentence, its numbers with their places."""
        parts = (sentence,) if isinstance(sentence, str) else sentence
        return tuple(each if isinstance(each, str) else self._number(each) for each in parts if each != "")

    def _number(self, quantity: views.Quantity | views.Difference) -> str | Number:
        if isinstance(quantity, views.Difference):
            value, ends = value_of(quantity), (self._number(quantity.first), self._number(quantity.second))
            sources = " - ".join(each.source for each in ends if isinstance(each, Number))
            return quantity.unit.plain(value) if value is None else Number(quantity.unit.plain(value), value, sources)
        value = value_of(quantity)
        text, place = quantity.unit.plain(value), self._place(quantity.part, (quantity.field,))
        return Number(text, value, f"{self.file.source()}{place}") if isinstance(value, int | float) else text

    def block(self, section: views.Section) -> Block:
        """What stands under a heading."""
        return Block(
            section.id or slug(section.title),
            section.title,
            words=(self.words(section.words),) if section.words else (),
            figures=tuple(section.figures),
            tables=tuple(self.table(sheet) for sheet in section.sheets if sheet.only != "text"),
            cases=tuple(map(self._case, section.cases)),
            place="details" if section.closing else "values",
            open=section.open,
        )

    def _case(self, case: views.Case) -> Case:
        return Case(self.words(case.title), tuple(map(self.words, case.words)), tuple(map(self.table, case.sheets)))

    def table(self, sheet: views.Sheet[Any]) -> Table:
        """A sheet of the page."""
        shown = [each for column in sheet.columns if column.only != "text" for each in _page_columns(column)]
        paths = [_path_of(column.value) for column in shown]
        # A row that joins several parts is none of them: each of its cells says where it is from.
        joined = any(id(row) not in self.pointers for row in sheet.rows)
        places = [pointer(*_keys(row, path)) if not joined else "" for path in paths for row in sheet.rows[:1]]
        columns = [
            PageColumn(_one_line(column.title), place, column.unit.numeric, column.unit.plain)
            for column, place in zip(shown, places or [""] * len(shown), strict=True)
        ]
        rows = [self._row(row, shown, paths, joined) for row in sheet.rows]
        caption, name = (sheet.caption or f"{sheet.title}.",), sheet.id or f"{slug(sheet.title)}-table"
        return Table(name, caption, self.file.name, tuple(columns), tuple(rows), tuple(sheet.notes), sheet.folded)

    def _row(self, row: object, columns: Sequence[_PageValue], paths: Sequence[Path], joined: bool) -> Row:
        cells = []
        for column, path in zip(columns, paths, strict=True):
            value: Any = counted(column.value(row))
            source = self._place(row, path) if joined else ""
            text = "" if value == "" else column.unit.plain(value)
            strong = column.strong if isinstance(column.strong, bool) else bool(column.strong(value))
            cells.append(Cell(text, None if value == "" else value, strong, source))
        return Row(self.pointers.get(id(row), ""), tuple(cells))

    def _place(self, row: object, path: Path) -> str:
        """Where an attribute is in the file; "" where it is not a part of the result."""
        parts = list(_parts(row, path))
        known = [place for place, part in enumerate(parts) if id(part) in self.pointers]
        if not known:
            return ""
        last = known[-1]
        return self.pointers[id(parts[last])] + pointer(*_keys(parts[last], path[last:]))


class _PageValue(NamedTuple):
    """A column of the page: an interval is two."""

    title: str
    value: Callable[[Any], object]
    unit: Unit
    strong: bool | Callable[[Any], bool]


def _page_columns(column: views.Column[Any]) -> Iterator[_PageValue]:
    if column.unit.end is None:
        yield _PageValue(column.title, column.value, column.unit, column.strong)
        return
    for title, end in zip(column.ends, ("low", "high"), strict=True):
        yield _PageValue(title, _end_of(column.value, end), column.unit.end, column.strong)


def _end_of(value: Callable[[Any], Any], end: str) -> Callable[[Any], object]:
    return lambda row: None if (found := value(row)) is None else getattr(found, end)


def _one_line(title: str) -> str:
    return title.replace("-\n", "").replace("\n", " ")


class _PathRecorder:
    """Notes which attributes a column reads, so that the page knows where its values are."""

    def __init__(self, path: Path = ()) -> None:
        self._path = path

    def __getattr__(self, name: str) -> _PathRecorder:
        return _PathRecorder((*self._path, name))

    def __getitem__(self, name: object) -> _PathRecorder:
        if not isinstance(name, str):
            raise TypeError("what a column shows is computed")
        return _PathRecorder((*self._path, name))

    def __bool__(self) -> bool:
        raise TypeError("what a column shows is computed")


def _path_of(value: Callable[[Any], object]) -> Path:
    """The path of the attribute that a column shows; empty where the value is computed.

    >>> _path_of(lambda row: row.tau["AP"].value), _path_of(lambda row: row.high - row.low)
    (('tau', 'AP', 'value'), ())
    >>> _path_of(lambda row: {"en": "English"}[row.language])
    ()
    """
    try:
        found = value(_PathRecorder())
    except (TypeError, ValueError, LookupError):
        return ()
    return found._path if isinstance(found, _PathRecorder) else ()


def _parts(row: object, path: Path) -> Iterator[object]:
    """A row, and what each further name of a path leads to."""
    yield row
    for name in path:
        row = row[name] if isinstance(row, Mapping) else getattr(row, name, None)
        yield row


def _keys(row: object, path: Path) -> tuple[str, ...]:
    """The names of a path as JSON has them."""
    known = (
        {each.name: key_of(each) for each in fields(part)} if is_dataclass(part) else {} for part in _parts(row, path)
    )
    return tuple(names.get(name, name) for names, name in zip(known, path, strict=False))
