"""Views as part of a page: every number with its place in the result file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, TypeAlias

from trueval.report import view as views
from trueval.report.formats import slug
from trueval.report.json_fields import find_pointers, key_of
from trueval.report.page_content import (
    Block,
    Number,
    PageAnswer,
    PageCase,
    PageCell,
    PageColumn,
    PageTable,
    Part,
    Row,
    Words,
)
from trueval.report.result_directory import ResultFile, pointer
from trueval.report.units import Unit
from trueval.report.view_texts import count_or_value, explained_marks, plain_value, value_of

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
    blocks = [sources.block(each) for each in view.sections if _is_shown(each)]
    closing = [block for block, each in zip(blocks, filter(_is_shown, view.sections), strict=True) if each.closing]
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
        legend=(*explained_marks(view, "page"), *view.legend),
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


def _is_shown(section: views.Section) -> bool:
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
        return tuple(
            word for each in parts if each != "" for word in ([each] if isinstance(each, str) else self._numbers(each))
        )

    def _numbers(self, quantity: views.Quantity | views.SentenceDifference) -> Iterator[str | Number]:
        """A number, a difference of two, or the two ends of an interval, each with its place."""
        value, unit = value_of(quantity), quantity.unit
        if isinstance(quantity, views.SentenceDifference):
            ends = (each for one in quantity[:2] for each in self._numbers(one))
            sources = " - ".join(each.source for each in ends if isinstance(each, Number))
            yield unit.plain(value) if value is None else Number(unit.plain(value), value, sources)
            return
        field = quantity.field
        if unit.end is None or value is None or None in (low_high := (plain_value(value.low), plain_value(value.high))):
            yield self._number(value, unit, quantity, (field,))
            return
        fields = ("high", "low") if quantity.turned else ("low", "high")
        low, high = (
            self._number(each, unit.end, quantity, (field, end)) for each, end in zip(low_high, fields, strict=True)
        )
        yield from ("[", low, ", ", high, "]")

    def _number(self, value: object, unit: Unit, quantity: views.Quantity, path: Path) -> str | Number:
        text, place = unit.plain(value), self._place(quantity.part, path)
        if not place or not isinstance(value, int | float):
            return text
        return Number(text, value, f"{self.file.source()}{'-' * quantity.turned}{place}")

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

    def _case(self, case: views.Case) -> PageCase:
        return PageCase(self.words(case.title), tuple(map(self.words, case.words)), tuple(map(self.table, case.sheets)))

    def table(self, sheet: views.Sheet[Any]) -> PageTable:
        """A sheet of the page."""
        shown = [each for column in sheet.columns if column.only != "text" for each in _page_columns(column)]
        paths = [_path_of(column.value) for column in shown]
        part = sheet.part or (lambda row: row)
        # A row that joins several parts is none of them: it is where most of its cells are from, and the others say it.
        joined = any(id(part(row)) not in self.pointers for row in sheet.rows)
        sample = part(sheet.rows[0]) if sheet.rows and not joined else None
        if joined:
            origins, listed, places = self._places_of_joined(sheet.rows, paths)
        else:
            origins = [self.pointers[id(part(row))] for row in sheet.rows]
            listed, places = [_field(sample, path) for path in paths], [[""] * len(paths)] * len(sheet.rows)
        columns = [
            PageColumn(
                _one_line(column.title),
                field,
                column.unit.numeric,
                column.unit.plain,
                turned=f"-{_field(sample, _path_of(column.mirror))}" if column.turned == "-" else column.turned,
            )
            for column, field in zip(shown, listed, strict=True)
        ]
        rows = [
            Row(origin, tuple(_cells(row, shown, own)), sheet.turned is not None and sheet.turned(row))
            for row, origin, own in zip(sheet.rows, origins, places, strict=True)
        ]
        caption, name = (sheet.caption or f"{sheet.title}.",), sheet.id or f"{slug(sheet.title)}-table"
        return PageTable(name, caption, self.file.name, tuple(columns), tuple(rows), tuple(sheet.notes), sheet.folded)

    def _places_of_joined(
        self, rows: Sequence[object], paths: Sequence[Path]
    ) -> tuple[list[str], list[str], list[list[str]]]:
        """Where the values of rows are that join several parts.

        Returns:
            The part of each row that has most of its cells; from there to each column, "" where rows differ; and the
            places of the cells of each row that these two do not say.
        """
        places = [[self._place(row, path) for path in paths] for row in rows]
        owners = (Counter(filter(None, (self._owner(row, path) for path in paths))) for row in rows)
        origins = [found.most_common(1)[0][0] if found else "" for found in owners]
        fields = []
        for column in zip(*places, strict=True):
            ends = {
                place.removeprefix(origin) if place.startswith(f"{origin}/") else ""
                for place, origin in zip(column, origins, strict=True)
            }
            fields.append(ends.pop() if len(ends) == 1 else "")
        own = [["" if field else place for field, place in zip(fields, row, strict=True)] for row in places]
        return origins, fields, own

    def _owner(self, row: object, path: Path) -> str:
        """The first part of the result on the way from a row to an attribute; "" where there is none."""
        return next((self.pointers[id(part)] for part in _parts(row, path) if id(part) in self.pointers), "")

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
    turned: str
    mirror: Callable[[Any], object]  # whose place has the value of a turned row, with its sign changed


def _cells(row: object, columns: Sequence[_PageValue], places: Sequence[str]) -> Iterator[PageCell]:
    for column, place in zip(columns, places, strict=True):
        value: Any = count_or_value(column.value(row))
        text = "" if value == "" else column.unit.plain(value)
        strong = column.strong if isinstance(column.strong, bool) else bool(column.strong(value))
        yield PageCell(text, None if value == "" else value, strong, place)


def _page_columns(column: views.Column[object]) -> Iterator[_PageValue]:
    if column.unit.end is None:
        yield _PageValue(column.title, column.value, column.unit, column.strong, column.turned, column.value)
        return
    for title, end, other in zip(column.ends, ("low", "high"), ("high", "low"), strict=True):
        value, mirror = _end_of(column.value, end), _end_of(column.value, other)
        yield _PageValue(title, value, column.unit.end, column.strong, column.turned, mirror)


def _end_of(value: Callable[[object], object], end: str) -> Callable[[object], object]:
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


def _path_of(value: Callable[[object], object]) -> Path:
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


def _field(part: object | None, path: Path) -> str:
    """The pointer from a part to what a column shows; "" where it is computed, or there is no part."""
    return "" if part is None else pointer(*_keys(part, path))


def _keys(row: object, path: Path) -> tuple[str, ...]:
    """The names of a path as JSON has them."""
    known = (
        {each.name: key_of(each) for each in fields(part)}
        if is_dataclass(part)
        else {name: str(at) for at, name in enumerate(getattr(part, "_fields", ()))}  # a list in JSON
        for part in _parts(row, path)
    )
    return tuple(names.get(name, name) for names, name in zip(known, path, strict=False))
