"""Output: results to stdout or a folder, messages to stderr, for every kind of result."""

import errno
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import typer

from trueval.cli.faults import FAULT, report_fault
from trueval.errors import InputError, MissingExtraError, TruevalError
from trueval.logging import log_beside
from trueval.printable import printable, printable_message

if TYPE_CHECKING:
    from trueval.report.generation import Content, Derive
    from trueval.report.kinds import Kind

    Result = tuple[Kind, Mapping[str, object]]

PAGE: Final = "report.html"
FIGURES: Final = "figures"
NO_PAGE: Final = f"{PAGE} could not be made; all results are written"
# Disk errors, which are not faults of trueval.
DISK: Final = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
# Suffix of a file → the --format that prints it; "" if none does.
NAMES_OF_FILES: Final = {
    ".csv": "csv",
    ".json": "json",
    ".md": "markdown",
    ".tex": "latex",
    **dict.fromkeys((".html", ".jsonl", ".parquet", ".pdf", ".png", ".svg", ".toml", ".trec", ".tsv", ".txt"), ""),
}


class _CommonOptions:
    """The options that every command has."""

    legend = False


_wanted = _CommonOptions()


def show_legend(wanted: bool) -> bool:
    """Explain the columns below the tables of this process, as `--legend` asks."""
    _wanted.legend = wanted
    return wanted


Format = Literal["table", "json", "csv", "markdown", "latex"]


def show(
    kind: "Kind",
    result: Mapping[str, object],
    form: str,
    *,
    percent: bool = False,
    given: Mapping[str, Sequence[str]] | None = None,
    **told: object,
) -> None:
    """Print a result to stdout.

    Args:
        kind: kind of the result.
        result: JSON of the result.
        form: "table" for people, or one of the text formats of the kind.
        percent: whether tables, Markdown and LaTeX print points, 100 times the values; JSON, CSV and trec never do.
        given: words of the next command that are no arguments of this one, as `next_command` takes them.
        told: further arguments of the tables and Markdown of the kind.
    """
    from trueval.cli.next_command import next_command
    from trueval.report.kinds import ROUNDED
    from trueval.report.number_texts import FRACTIONS, POINTS

    told = {"next": lambda command: next_command(command, given), **told} if form in ("table", "markdown") else {}
    if form in ROUNDED:
        told |= {"legend": _wanted.legend}
    scale = POINTS if percent else FRACTIONS
    if form == "table":
        from rich.console import Console

        from trueval.report.terminal import breadth

        text = kind.write(result, form, scale=scale, **told)
        console = Console(highlight=False)
        if not console.is_terminal and "COLUMNS" not in os.environ:
            console.width = max(console.width, breadth(text))  # nothing is truncated in a pipe
        console.print(text, crop=False)
    else:
        for part in kind.write_parts(result, form, scale=scale, **told):
            sys.stdout.write(part)


def save(folder: Path, *results: "Result", others: "Mapping[str, Content] | None" = None, page: bool = False) -> None:
    """Write the files of some results: all of them or, on failure, none.

    The page and the figures of earlier results are removed together with those results.

    Args:
        folder: created if absent.
        results: results of the command, with their kinds.
        others: name → further file that belongs to them.
        page: whether to write the page and the figures of all results in the folder too. The results are complete
            without them, so a failure there is only reported.

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
    """Write the page of all results in a folder, and figures and tables for papers to its subfolder figures.

    Args:
        folder: folder of `--out`.
        file: file of the page; report.html in the folder if None.
        figures: whether to write the figures too; all of them or none.

    Raises:
        InputError: there are no results, or they do not belong together.
        MissingExtraError: a library for pages or figures is not installed.
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
    """Report a fault of trueval if the page of results that it wrote unchanged cannot be built.

    Their stamps show that they are unchanged. Files without a stamp may have any origin, so they are refused instead.

    Args:
        results: name → bytes of the results that the page is built from inside the block.
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
        written: list to which written files are added.
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
                if not names:  # no figures, or not all: remove the others
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
    """The same function, which reports a failure instead of raising it: results are complete without a page.

    A failure is a fault of trueval if these results cause it, and not older ones in the folder.

    Args:
        derive: function that builds the page.
        files: names of the results written with it.
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
        except Exception as error:  # noqa: BLE001  computed results are written in any case
            if isinstance(error, OSError) and error.errno in DISK:
                talk([f"{NO_PAGE} ({error.strerror}). Make room; `trueval report DIR` makes it then."])
            else:
                report_fault(NO_PAGE, error)
        shutil.rmtree(stage / FIGURES, ignore_errors=True)  # without their page they belong to nothing
        return ()

    return offer


def check_folder(folder: Path) -> None:
    """Refuse an unusable folder for results before any work; faults are logged in it.

    Args:
        folder: what `--out` names.

    Raises:
        InputError: a file has that name or that of a parent, or the folder cannot be written.
        typer.BadParameter: the name looks like that of a file.
    """
    if folder.suffix.lower() in NAMES_OF_FILES and not folder.exists():
        form = NAMES_OF_FILES[folder.suffix.lower()]
        cure = f" For one file: --format {form} > {folder.name}." if form else ""
        told = f"must name a folder, for files of several formats. {folder} looks like a file.{cure}"
        raise typer.BadParameter(f"{told} If a folder should be called so, make it first.", param_hint="--out")
    log_beside(folder)
    # The nearest existing parent decides: below a file the folder cannot be created.
    first = next((place for place in (folder, *folder.parents) if place.exists()), folder)
    if first.exists() and not first.is_dir():
        raise InputError(f"{first}: File exists. --out must name a folder. Name another place, or move the file away.")
    if not os.access(first, os.W_OK | os.X_OK):
        raise InputError(f"{first}: nothing can be written there, which --out needs. Name another folder.")


def make_parent(file: Path, option: str) -> None:
    """Create the parent folder of an output file before any work.

    Args:
        file: value of the option.
        option: the option, as written.

    Raises:
        typer.BadParameter: a file has the folder's name, or the folder cannot be created or written.
    """
    from tempfile import TemporaryFile

    done = "made"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        done = "written"
        if file.is_file() or not file.exists():
            with TemporaryFile(dir=file.parent):  # only writing shows that a disk is read-only
                return
    except OSError as error:
        told = f"the folder {file.parent} cannot be {done} ({error.strerror}). Name a file in another one."
        raise typer.BadParameter(told, param_hint=option) from error


def write_atomically(path: Path, text: str) -> None:
    """Write a text file atomically.

    Args:
        path: path of the file, in an existing folder.
        text: its content, written as UTF-8.

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


def talk_notes(result: Mapping[str, object]) -> None:
    """Print the notes of a result, as `talk` does.

    Args:
        result: JSON of a result.
    """
    notes = result["notes"]
    if isinstance(notes, list):
        talk(map(str, notes))


def say(line: str, *, err: bool = True) -> None:
    """Print one line, with control characters in ids and names escaped.

    Args:
        line: text of one line.
        err: whether to print on stderr.
    """
    typer.echo(printable_message(line) if err else printable(line), err=err)
