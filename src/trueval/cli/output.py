"""Where results go: data to stdout or a folder, talk to stderr. Every kind of result is shown and saved here."""

import errno
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import typer

from trueval.cli.faults import FAULT, report_fault
from trueval.errors import InputError, MissingExtraError, TruevalError
from trueval.logging import log_beside
from trueval.printable import printable, printable_message

if TYPE_CHECKING:
    from trueval.report.generation import Content, Derive
    from trueval.report.kinds import Kind

    Result = tuple[Kind, Mapping[str, Any]]

PAGE: Final = "report.html"
FIGURES: Final = "figures"
NO_PAGE: Final = f"{PAGE} could not be made; all results are written"
# Errors of a disk, which are no fault of ours.
DISK: Final = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
# What names of files end with, and the --format that prints such a file; "" where none does.
NAMES_OF_FILES: Final = {
    ".csv": "csv",
    ".json": "json",
    ".md": "markdown",
    ".tex": "latex",
    **dict.fromkeys((".html", ".jsonl", ".parquet", ".pdf", ".png", ".svg", ".toml", ".trec", ".tsv", ".txt"), ""),
}


class _CommonOptions:
    """What the options that every command has ask for."""

    legend = False


_wanted = _CommonOptions()


def show_legend(wanted: bool) -> bool:
    """Explain the columns below the tables of this process, as `--legend` asks."""
    _wanted.legend = wanted
    return wanted


Format = Literal["table", "json", "csv", "markdown", "latex"]


def show(kind: "Kind", result: Mapping[str, object], form: str, *, percent: bool = False, **told: Any) -> None:
    """Print a result to stdout.

    Args:
        kind: kind of the result.
        result: as its JSON holds it.
        form: "table" for people, or one of the text formats of the kind.
        percent: whether tables, Markdown and LaTeX hold points, 100 times the values; JSON, CSV and trec never do.
        told: what else the tables and Markdown of the kind take.
    """
    from trueval.report.kinds import ROUNDED
    from trueval.report.number_texts import FRACTIONS, POINTS

    told = told if form in ("table", "markdown") else {}
    if kind.legend and form in ROUNDED:
        told |= {"legend": _wanted.legend}
    scale = POINTS if percent else FRACTIONS
    if form == "table":
        from rich.console import Console

        from trueval.report.terminal import breadth

        text = kind.write(result, form, scale=scale, **told)
        console = Console(highlight=False)
        if not console.is_terminal and "COLUMNS" not in os.environ:
            console.width = max(console.width, breadth(text))  # a pipe has room: nothing is shortened or left out
        console.print(text, crop=False)
    else:
        for part in kind.write_parts(result, form, scale=scale, **told):
            sys.stdout.write(part)


def save(folder: Path, *results: "Result", others: "Mapping[str, Content] | None" = None, page: bool = False) -> None:
    """Writes the files of some results, all of them or, where that fails, none.

    The page and the figures of earlier results are removed with what they showed.

    Args:
        folder: made if absent.
        results: results of the command, with their kinds.
        others: files that belong to them, by name.
        page: whether to write the page and the figures of all results in the folder too. Without them the results are
            complete, so where they cannot be made that is said and no more.

    Raises:
        InputError: it cannot be a folder.
        OSError: the folder cannot be made or written.
    """
    from trueval.report.generation import write_generation

    check_folder(folder)
    files = {name: kind.write(result, form) for kind, result in results for name, form in kind.files.items()}
    files |= others or {}
    had_page, written = (folder / PAGE).exists(), list[str]()
    write_generation(folder, files, _tolerate_failure(_pages(folder, written=written), files) if page else None)
    say(f"wrote {', '.join(files)} to {folder}")
    _report_files(folder, folder / PAGE, written)
    if had_page and PAGE not in written:
        became = "still shows earlier results" if (folder / PAGE).exists() else "showed earlier results and is removed"
        talk([f"{PAGE} {became}. `trueval report {folder}` makes the new one."])


def save_page(folder: Path, file: Path | None = None, *, figures: bool = True) -> None:
    """Writes the page of all results in a folder, and figures and tables for papers to its folder figures.

    Args:
        folder: what `--out` named.
        file: file of the page; report.html in the folder if None.
        figures: whether to write the figures too; all of them or none.

    Raises:
        InputError: there are no results, or they do not belong together.
        MissingExtraError: what the page or the figures are made with is not installed.
    """
    from trueval.report.generation import generations, write_generation
    from trueval.report.kinds import directory_of, refuse_absent
    from trueval.report.page import page

    refuse_absent(folder)
    if file is not None:
        check_folder(file.parent)
    log_beside(folder)
    written: list[str] = []
    if file is not None and not figures and not _is_in(folder, file):  # nothing is written to the folder
        with generations(folder) as results, _fault_of_ours(results):
            write_atomically(file, page(directory_of(folder, results)))
        say(f"wrote {file}")
        return
    pages = _pages(folder, file, figures=figures, written=written)

    def derive(results: Mapping[str, bytes], stage: Path) -> Iterable[str]:
        with _fault_of_ours(results):
            return pages(results, stage)

    write_generation(folder, {}, derive)
    _report_files(folder, file or folder / PAGE, written)


@contextmanager
def _fault_of_ours(results: Mapping[str, bytes]) -> Iterator[None]:
    """Leaves with the status of a fault where no page can be made of results that are as we wrote them.

    Their stamps say so, which are compared before. Of files without one nobody knows who wrote them: these are refused.

    Args:
        results: name → bytes, of which the page is made inside the block.
    """
    from trueval.report.generation import stamp_of
    from trueval.report.page_errors import UnreadableError

    try:
        yield
    except UnreadableError as error:
        named = Path(error.source or "").name
        of = [results[named]] if named in results else list(results.values())
        if any(stamp_of(data) is None for data in of):
            raise
        report_fault(f"{PAGE} could not be made; all results are as they were", error.__cause__ or error)
        raise typer.Exit(FAULT) from error


def _is_in(folder: Path, file: Path) -> bool:
    return file.resolve() == (folder / PAGE).resolve()


def _report_files(folder: Path, file: Path, written: Sequence[str]) -> None:
    if written:
        say(f"wrote {file}")
    drawn = [Path(name).name for name in written if name.startswith(FIGURES)]
    if drawn:
        say(f"wrote {', '.join(drawn)} to {folder / FIGURES}")


def _pages(folder: Path, file: Path | None = None, *, figures: bool = True, written: list[str]) -> "Derive":
    """The functions that write the page and the figures of a folder's results.

    Args:
        folder: folder of the results.
        file: file of the page; report.html in the folder if None.
        figures: whether to draw them.
        written: gains what was written.
    """
    from trueval.report.generation import check_together
    from trueval.report.kinds import directory_of
    from trueval.report.page import page, write_figures

    inside = file is None or _is_in(folder, file)

    def derive(results: Mapping[str, bytes], stage: Path) -> Iterable[str]:
        check_together(results, folder, stage)
        directory = directory_of(folder, results)
        text, names = page(directory), []
        if figures:
            place = stage / FIGURES
            place.mkdir()
            try:
                names += [f"{FIGURES}/{path.name}" for path in write_figures(directory, place)]
            finally:
                if not names:  # none to draw, or not all: then none is left
                    shutil.rmtree(place)
        if inside:
            write_atomically(stage / PAGE, text)
            names.append(PAGE)
        elif file is not None:
            write_atomically(file, text)
        written.extend([*names, *([] if inside else [str(file)])])
        return names

    return derive


def _tolerate_failure(derive: "Derive", files: Iterable[str]) -> "Derive":
    """The same, which says why where it cannot be done: results are complete without a page, and are written.

    What a page cannot be made of is a fault of ours where these very results are at fault, and not older ones beside.

    Args:
        derive: makes the page.
        files: names of the results that are written with it.
    """

    def offer(results: Mapping[str, bytes], stage: Path) -> Iterable[str]:
        try:
            return derive(results, stage)
        except TruevalError as error:
            older = isinstance(error, InputError) and Path(error.source or "").name not in ("", *files)
            if error.__cause__ is None or isinstance(error, MissingExtraError) or older:
                talk([str(error)])
            else:
                report_fault(NO_PAGE, error.__cause__)
        except Exception as error:  # noqa: BLE001  results that were computed are written, whatever breaks
            if isinstance(error, OSError) and error.errno in DISK:
                talk([f"{NO_PAGE} ({error.strerror}). Make room; `trueval report DIR` makes it then."])
            else:
                report_fault(NO_PAGE, error)
        shutil.rmtree(stage / FIGURES, ignore_errors=True)  # without their page they belong to nothing
        return ()

    return offer


def check_folder(folder: Path) -> None:
    """Refuses what cannot be a folder with results, before any work is done for it; what fails is logged there.

    Args:
        folder: what `--out` names.

    Raises:
        InputError: there is a file of that name, or of the name of a parent, or nothing can be written there.
        typer.BadParameter: the name is that of a file, and no folder is called so.
    """
    if folder.suffix.lower() in NAMES_OF_FILES and not folder.exists():
        form = NAMES_OF_FILES[folder.suffix.lower()]
        cure = f" For one file: --format {form} > {folder.name}." if form else ""
        told = f"must name a folder, for files of several formats. {folder} looks like a file.{cure}"
        raise typer.BadParameter(f"{told} If a folder should be called so, make it first.", param_hint="--out")
    log_beside(folder)
    # The nearest place that exists decides: making the folder would fail below a file.
    first = next((place for place in (folder, *folder.parents) if place.exists()), folder)
    if first.exists() and not first.is_dir():
        raise InputError(f"{first}: File exists. --out must name a folder. Name another place, or move the file away.")
    if not os.access(first, os.W_OK | os.X_OK):
        raise InputError(f"{first}: nothing can be written there, which --out needs. Name another folder.")


def make_parent(file: Path, option: str) -> None:
    """Makes the folder of a file that a command is to write, before any work, as `--out DIR` makes its own.

    Args:
        file: what the option names.
        option: as it is written.

    Raises:
        typer.BadParameter: there is a file of the folder's name, or it may not be made or written.
    """
    from tempfile import TemporaryFile

    done = "made"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        done = "written"
        if file.is_file() or not file.exists():
            with TemporaryFile(dir=file.parent):  # only this tells of disks that can be read alone
                return
    except OSError as error:
        told = f"the folder {file.parent} cannot be {done} ({error.strerror}). Name a file in another one."
        raise typer.BadParameter(told, param_hint=option) from error


def write_atomically(path: Path, text: str) -> None:
    """Writes a text file beside its place and moves it there in one step.

    Args:
        path: the file's place; its folder must exist.
        text: all of its content, written as UTF-8.

    Raises:
        OSError: the folder cannot be written.
    """
    from trueval.files.atomic_files import write_whole

    write_whole(path, lambda file: file.write_bytes(text.encode("utf-8", errors="backslashreplace")))


def talk(lines: Iterable[str]) -> None:
    """Print each distinct line once, on stderr.

    Args:
        lines: remarks of one line.
    """
    for line in dict.fromkeys(lines):
        say(f"note: {line}")


def say(line: str, *, err: bool = True) -> None:
    """Print one line, with control characters in ids and names escaped.

    Args:
        line: without a line feed of ours in it.
        err: whether on stderr.
    """
    typer.echo(printable_message(line) if err else printable(line), err=err)
