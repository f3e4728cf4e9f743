"""Documents as people keep them: text, Markdown, HTML, PDF and Word, read with their headings.

Every heading becomes one of Markdown, so that chunks begin with their breadcrumb. The id of a document is its path in
the folder.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final, NamedTuple

from trueval.errors import Place
from trueval.extras import need
from trueval.files.source.source_bytes import explain_read_errors
from trueval.files.texts.text_files import HIDDEN
from trueval.files.texts.text_row import TextRow
from trueval.printable import encodable

SHOWN: Final = 3  # skipped files that a note names
FRONT_MATTER: Final = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
MARKDOWN_TITLE: Final = re.compile(r"^# ", re.MULTILINE)


class Document(NamedTuple):
    """A document: its title where it has one beside its headings, and its text with Markdown headings."""

    title: str
    text: str


def is_document(path: Path) -> bool:
    """Whether a file is a document as people keep them, by its suffix."""
    return path.suffix.lower() in READERS


def document_paths(folder: Path) -> tuple[Path, ...]:
    """The documents in a folder and the folders below it, by path; hidden files and folders are passed over.

    Args:
        folder: folder of documents.
    """
    with explain_read_errors(Place(encodable(str(folder)))):
        found = [path for path in folder.rglob("*") if path.is_file() and is_document(path)]
    return tuple(sorted(path for path in found if not _is_hidden(path.relative_to(folder))))


def read_documents(place: Path, skipped: list[str]) -> Iterator[TextRow]:
    """Read a document, or those of a folder, one after another.

    Args:
        place: a folder or a file.
        skipped: gains one line for each file that is not read, with the reason.

    Yields:
        One row for each document, with the fields "title" and "text".

    Raises:
        InputError: no document can be read.
        MissingExtraError: the library for PDF or Word files is not installed.
    """
    root = place if place.is_dir() else place.parent
    paths = document_paths(place) if place.is_dir() else (place,)
    if place.is_dir():
        skipped += [f"{each}: not a document" for each in _others(place, paths)]
    read = 0
    for path in paths:
        name = encodable(path.relative_to(root).as_posix())
        with explain_read_errors(Place(encodable(str(path)))):
            data = path.read_bytes()
        try:
            found = READERS[path.suffix.lower()](data)
        except _UnreadableError as error:
            skipped.append(f"{name}: {error}")
            continue
        if not found.text.strip():
            skipped.append(f"{name}: no text in it")
            continue
        read += 1
        title = found.title or ("" if MARKDOWN_TITLE.search(found.text) else path.stem)
        yield TextRow(encodable(str(path)), 1, name, {"title": title, "text": found.text})
    if not read:
        why = note_of(skipped, "Of its files") or ""
        raise Place(encodable(str(place))).error(f"no document could be read. {why} It must hold {', '.join(READERS)}.")


class _UnreadableError(Exception):
    """A document cannot be read: damaged, encrypted, or in another encoding."""


def note_of(skipped: list[str], where: str) -> str | None:
    """What to say of files that were not read; None without any.

    >>> note_of(["a.xyz: not a document"], "docs")
    'docs: 1 file was skipped: a.xyz: not a document.'
    """
    if not skipped:
        return None
    count = "1 file was" if len(skipped) == 1 else f"{len(skipped)} files were"
    more = f"; and {len(skipped) - SHOWN} more" if len(skipped) > SHOWN else ""
    return f"{where}: {count} skipped: {'; '.join(skipped[:SHOWN])}{more}."


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(HIDDEN) for part in path.parts)


def _others(folder: Path, paths: tuple[Path, ...]) -> list[str]:
    known = set(paths)
    inside = (path for path in sorted(folder.rglob("*")) if path.is_file() and path not in known)
    names = (path.relative_to(folder) for path in inside)
    return [encodable(name.as_posix()) for name in names if not _is_hidden(name)]


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise _UnreadableError(f"not UTF-8 at byte {error.start}; save it as UTF-8, for example with iconv") from error


def _read_text(data: bytes) -> Document:
    return Document("", _decode(data))


def _read_markdown(data: bytes) -> Document:
    return Document("", FRONT_MATTER.sub("", _decode(data)))


class _HtmlText(HTMLParser):
    """Collects the text of a page: headings as Markdown, a line for each block, nothing of scripts and navigation."""

    SILENT: Final = frozenset(("script", "style", "nav", "template", "svg", "noscript", "head"))
    BLOCKS: Final = frozenset(
        ("p", "div", "section", "article", "li", "tr", "br", "table", "ul", "ol", "pre", "blockquote", "dt", "dd", "hr")
    )
    HEADINGS: Final = frozenset(f"h{level}" for level in range(1, 7))

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title = ""
        self._silent = 0
        self._in_title = self._in_heading = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin an element."""
        self._silent += tag in self.SILENT
        self._in_title |= tag == "title"
        if tag in self.HEADINGS:
            self._in_heading = True
            self.parts.append(f"\n\n{'#' * int(tag[1])} ")
        elif tag in self.BLOCKS and not self._in_heading:
            self.parts.append("\n\n" if tag in ("p", "div", "section", "article", "table") else "\n")
        elif tag in ("td", "th"):
            self.parts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        """End an element."""
        self._silent = max(self._silent - (tag in self.SILENT), 0)
        self._in_title &= tag != "title"
        if tag in self.HEADINGS:
            self._in_heading = False
            self.parts.append("\n\n")

    def handle_data(self, data: str) -> None:
        """Take the characters between tags."""
        if self._in_title:
            self.title += data
        elif not self._silent:
            self.parts.append(re.sub(r"\s+", " ", data))


def _read_html(data: bytes) -> Document:
    parser = _HtmlText()
    parser.feed(_decode(data))
    parser.close()
    lines = (line.strip() for line in "".join(parser.parts).split("\n"))
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    return Document("" if MARKDOWN_TITLE.search(text) else " ".join(parser.title.split()), text)


def _read_pdf(data: bytes) -> Document:
    """The text of each page; an entry of the outline is a heading where its page begins."""
    import io

    pypdf = need("pypdf", "PDF files", "retrieval")
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # of faults of files that it mends itself
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise _UnreadableError("encrypted; remove its password")
        headings = dict[int, list[str]]()
        for level, title, page in _outline(reader, reader.outline, 1):
            headings.setdefault(page, []).append(f"{'#' * level} {title}")
        pages = [page.extract_text() for page in reader.pages]
        title = str((reader.metadata or {}).get("/Title") or "")
    except _UnreadableError:
        raise
    except Exception as error:
        raise _UnreadableError(f"no PDF that can be read ({type(error).__name__})") from error
    if not any(map(str.strip, pages)):
        raise _UnreadableError("no text in it, as in scans; run OCR first")
    parts = (part for number, page in enumerate(pages) for part in (*headings.get(number, ()), page))
    return Document(" ".join(title.split()), "\n\n".join(parts))


def _outline(reader: Any, entries: Any, level: int) -> Iterator[tuple[int, str, int]]:
    """Level, title and page of each entry of an outline that leads to a page."""
    for entry in entries:
        if isinstance(entry, list):
            yield from _outline(reader, entry, level + 1)
        elif (page := reader.get_destination_page_number(entry)) is not None:
            yield min(level, 6), " ".join(str(entry.title).split()), page


def _read_docx(data: bytes) -> Document:
    """Paragraphs and tables in their order; styles "Title" and "Heading N" are headings."""
    import io

    docx = need("docx", "Word files", "retrieval")
    try:
        file = docx.Document(io.BytesIO(data))
        parts = [_docx_part(part) for part in file.iter_inner_content()]
        title = file.core_properties.title or ""
    except Exception as error:
        raise _UnreadableError(f"no Word document that can be read ({type(error).__name__})") from error
    text = "\n\n".join(part for part in parts if part)
    return Document("" if MARKDOWN_TITLE.search(text) else " ".join(title.split()), text)


def _docx_part(part: Any) -> str:
    if hasattr(part, "rows"):
        return "\n".join(" | ".join(cell.text.strip() for cell in row.cells) for row in part.rows)
    text = " ".join(part.text.split())
    style = (part.style.name if part.style is not None else "") or ""
    level = 1 if style == "Title" else int(style[8:]) if re.fullmatch(r"Heading [1-6]", style) else 0
    return f"{'#' * level} {text}" if level and text else text


READERS: Final[Mapping[str, Callable[[bytes], Document]]] = {
    ".txt": _read_text,
    ".md": _read_markdown,
    ".markdown": _read_markdown,
    ".html": _read_html,
    ".htm": _read_html,
    ".pdf": _read_pdf,
    ".docx": _read_docx,
}
