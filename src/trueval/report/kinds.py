"""Kinds of results: how each one is written, and what part of the page it makes.

A result is JSON whose top level is an object with "kind" (a text) and "format" (an integer that grows when a reader of
the old form would misread the new one). Whoever brings a kind, a room of ours or another package, declares it in its
pyproject.toml, where this module finds it by its name:

    [project.entry-points."trueval.kinds"]
    latency = "my_package.views:LATENCY"

with `LATENCY = Kind("latency", format=1, order=40, text={...}, page=...)`. Then `trueval report` shows such files of a
folder like any other. Only the kinds that a folder holds are imported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from trueval.errors import InputError, Place
from trueval.printable import printable, printable_all
from trueval.report.formats import to_json
from trueval.report.result_directory import Directory, ResultFile

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

    from trueval.report.page_content import Part
    from trueval.report.view import View

GROUP = "trueval.kinds"
# Forms that round; their writers take `scale`, a Scale of report/number_texts.py. All others give every digit of a
# fraction.
ROUNDED = ("table", "markdown", "latex")
# Forms that escape by themselves: they hold names and ids as they are.
RAW = ("json",)

Writer: TypeAlias = Callable[..., Any]
Page: TypeAlias = "Callable[[ResultFile, Directory], Part]"
Figures: TypeAlias = Callable[[ResultFile, Directory, Path], "tuple[Path, ...]"]


class Kind(NamedTuple):
    """A kind of result.

    Attributes:
        name: "kind" in its JSON, and the name of its entry point.
        format: newest supported format.
        order: position on the page; lower comes first.
        text: form → function from a result, as its JSON holds it, to what is shown: a renderable of rich for "table",
            a text for "json", "csv", "markdown", "latex" and any other. Those of `ROUNDED` take
            the keywords `scale` and `legend`, whether columns are explained below.
        parts: form → function that gives the same text part after part, for forms that may be too long to be held.
        files: name of a file → form; what `--out` writes.
        page: function from a file and its directory, which may have related files, to the part of the page. None for
            kinds that another kind reads.
        figures: function that writes figures and tables for papers to an existing folder and returns their paths.
        console: the text that Python prints for a result; None for the table.
        notebook: HTML that a notebook shows; None for the text.
    """

    name: str
    format: int
    order: int
    text: Mapping[str, Writer] = MappingProxyType({})
    parts: Mapping[str, Writer] = MappingProxyType({})
    files: Mapping[str, str] = MappingProxyType({})
    page: Page | None = None
    figures: Figures | None = None
    console: Callable[[Mapping[str, object]], str] | None = None
    notebook: Callable[[Mapping[str, object]], str] | None = None

    def write(self, result: Mapping[str, object], form: str, **told: object) -> Any:
        """Render a result in a format, with control characters in its texts escaped, except in JSON.

        Args:
            result: JSON of the result.
            form: key of `text`.
            told: `scale`, and options of the kind's tables; ignored by formats that do not round.
        """
        shown = result if form in RAW else printable_all(result)
        return self.text[form](shown, **(told if form in ROUNDED else {}))

    def in_console(self, result: Mapping[str, object]) -> str:
        """The text that Python prints for a result.

        Args:
            result: JSON of the result.
        """
        if self.console is not None:
            return self.console(result)
        from trueval.report.terminal import render_text  # late: it imports rich

        return render_text(self.write(result, "table"))

    def write_parts(self, result: Mapping[str, object], form: str, **told: object) -> Iterator[str]:
        """The text of `write`, in parts if the kind supports it.

        Args:
            result: JSON of the result, with iterables instead of long lists.
            form: key of `text` with a text.
            told: as in `write`.
        """
        if form not in self.parts:
            yield self.write(result, form, **told)
            return
        yield from self.parts[form](result if form in RAW else printable_all(result))


def kind_of_view(
    name: str, result: str, view: str, *, format: int, order: int, stem: str, options: Sequence[str] = ()
) -> Kind:
    """A kind whose formats and page are rendered from the view of its results.

    Args:
        name: name of the kind.
        result: "package.module:name" of its `trueval.report.result.Result`.
        view: "package.module:name" of the function from such a result to its `trueval.report.view.View`.
        format: as in `Kind`.
        order: as in `Kind`.
        stem: of the files that `--out` writes.
        options: keyword arguments that the view takes beside the result, of `Kind.write`.
    """

    def read(data: Mapping[str, object], source: str = "", **chosen: object) -> tuple[Any, View]:
        module, _, class_name = result.partition(":")
        found = getattr(import_module(module), class_name).from_dict(data, source)
        return found, late(view)(found, **chosen)

    def part(file: ResultFile, directory: Directory) -> Part:
        from trueval.report.view_page import part_of

        found, shown = read(file.data, str(directory.path / file.name))
        return part_of(shown, file, found)

    def write(form: str, data: Mapping[str, object], **told: Any) -> Any:
        chosen = {each: told.pop(each) for each in told.keys() & {*options}}
        return late(f"trueval.report.view_texts:{form}")(read(data, **chosen)[1], **told)

    text: dict[str, Writer] = {
        "table": lambda data, **told: write("in_terminal", data, **told),
        "json": to_json,
        "answer": lambda data: write("as_answer", data),
        "csv": lambda data: write("as_csv", data),
        "markdown": lambda data, **told: write("as_markdown", data, **told),
        "latex": lambda data, **told: write("as_latex", data, **told),
    }

    def draw(file: ResultFile, directory: Directory, folder: Path) -> tuple[Path, ...]:
        from trueval.report.figures import write_figure

        paper = read(file.data, str(directory.path / file.name))[1].paper
        return tuple(path for each in paper for path in write_figure(each.draw(), folder / each.stem))

    def console(data: Mapping[str, object]) -> str:
        from trueval.report.terminal import render_text
        from trueval.report.view_texts import in_terminal

        shown = read(printable_all(data))[1]
        return "\n".join([render_text(in_terminal(shown)), *(f"note: {note}" for note in shown.notes)])

    def notebook(data: Mapping[str, object]) -> str:
        return str(write("as_html", printable_all(data)))

    return Kind(
        name,
        format,
        order,
        text,
        files=files_of(stem),
        page=part,
        figures=draw,
        console=console,
        notebook=notebook,
    )


def files_of(stem: str) -> dict[str, str]:
    """The files of a kind that writes all of them, by the form of each.

    Args:
        stem: stem of their names.

    Example:
        >>> files_of("power")
        {'power.json': 'json', 'power.csv': 'csv', 'power.md': 'markdown', 'power.tex': 'latex'}
    """
    return {f"{stem}.json": "json", f"{stem}.csv": "csv", f"{stem}.md": "markdown", f"{stem}.tex": "latex"}


def late(function: str) -> Callable[..., Any]:
    """A function that is imported on its first call, so that printing JSON imports no tables.

    Args:
        function: "package.module:name".

    >>> late("math:sqrt")(4.0)
    2.0
    """
    module, _, name = function.partition(":")

    def call(*arguments: object, **named: object) -> Any:
        return getattr(import_module(module), name)(*arguments, **named)

    return call


def names() -> tuple[str, ...]:
    """The names of all installed kinds, without importing them."""
    return tuple(sorted(_load_entry_points().names))


def find(name: str) -> Kind | None:
    """Find a kind by name; None if no package declares it.

    Args:
        name: "kind" of a JSON file.

    Raises:
        InputError: two packages declare it, or the declared object cannot be imported or is not a `Kind` of this name.
    """
    # By value: a package that is installed twice, once as a checkout, declares the same thing twice.
    declared = list({each.value: each for each in _load_entry_points().select(name=name)}.values())
    if not declared:
        return None
    if len(declared) > 1:
        both = " and ".join(each.value for each in declared)
        raise InputError(f"The kind {name} is declared twice, by {both}. Uninstall one of the two packages.")
    where = f"{declared[0].value}, which is declared for results of kind {name},"
    try:
        kind = declared[0].load()
    except (ImportError, AttributeError) as error:
        raise InputError(f"{where} cannot be imported: {error}. Repair or uninstall its package.") from error
    if not isinstance(kind, Kind) or kind.name != name:
        raise InputError(f"{where} must be a Kind of that name. Got {kind!r}. Repair or uninstall its package.")
    return kind


@cache
def _load_entry_points() -> EntryPoints:
    from importlib.metadata import entry_points  # reads the metadata of every installed package, so only on demand

    return entry_points(group=GROUP)


def read_directory(path: Path) -> Directory:
    """Read the result files of a folder.

    Args:
        path: folder of `--out`.

    Raises:
        InputError: the folder is missing or has no result for a page, or a file is not JSON, has a newer format, or was
            not written together with the others.
    """
    from trueval.report.generation import generations  # late: most commands read no folder

    refuse_absent(path)
    with generations(path) as files:
        return directory_of(path, files)


def refuse_absent(path: Path) -> None:
    """Refuse a missing result directory.

    Raises:
        InputError: the folder does not exist.
    """
    if not path.is_dir():
        raise InputError(f"{path}: no such folder. It must be what --out of another command named. Correct the path.")


def directory_of(path: Path, files: Mapping[str, bytes]) -> Directory:
    """Parse JSON files as results.

    Args:
        path: current or future folder of the files.
        files: name → bytes.

    Raises:
        InputError: no file has a result for a page, or one is not JSON or has a newer format.
    """
    found = [_read(path / name, data) for name, data in sorted(files.items())]
    kinds = {file.kind: find(file.kind) for file in found}
    for file in found:
        known, number = kinds[file.kind], file.data.get("format")
        if known and not (isinstance(number, int) and number <= known.format):
            raise InputError(
                f"{path / file.name}: format {json.dumps(number)} of kind {file.kind}. This version reads up to "
                f"{known.format}. Update trueval, or write the file again."
            )
    if not any(kind and kind.page for kind in kinds.values()):
        shown = ", ".join(name for name in names() if (kind := find(name)) and kind.page)
        none = "a kind, but none is declared: trueval runs from a folder without installation"
        wanted = f"kind {shown}" if shown else none
        raise InputError(
            f"{path}: no result to report. {''.join(map(_why_unknown, found))}It must hold a JSON file of {wanted}. "
            "Make one with --out of another command."
        )
    known_files = tuple(file for file in found if kinds[file.kind])
    return Directory(path, known_files, tuple(printable(file.name) for file in found if not kinds[file.kind]))


def _why_unknown(file: ResultFile) -> str:
    if not file.kind:
        return f'{file.name} has no "kind": files of trueval have one since format 2. Write it again. '
    known = f"{file.name} is of kind {file.kind}, which no installed package declares. "
    return "" if file.kind in names() else known


def _read(file: Path, data: bytes) -> ResultFile:
    found = read_json(file, data)
    if not isinstance(found, dict):
        found = {}  # JSON of something else, as a list of texts: of no kind, like an object without "kind"
    kind = found.get("kind")
    # Pages and figures show what others wrote: SVG does not even allow all control characters.
    return ResultFile(file.name, kind if isinstance(kind, str) else "", printable_all(found))


def read_json(file: Path, data: bytes) -> Any:
    """Parse a JSON file.

    Args:
        file: path of the file.
        data: its bytes.

    Raises:
        InputError: it is not JSON (NaN and infinities are not), or nested deeper than any result.
    """
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        message = f"not JSON ({error}). Write it again, or move it out of the folder."
        raise Place(str(file)).error(message) from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")
