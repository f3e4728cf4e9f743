"""A corpus of chunks, made from a corpus of documents: one document at a time, however many there are."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from typing import IO, Final

from trueval.errors import InputError, Place
from trueval.files.atomic_files import write_whole
from trueval.files.texts.text_files import LINES, PARQUET, TextFiles, find_parts, parts_of
from trueval.files.texts.text_row import TextRow, join_fields
from trueval.files.texts.text_rows import read_rows
from trueval.retrieval.chunking.chunks import SEPARATOR, Chunk, Chunker
from trueval.retrieval.chunking.document_files import document_paths, is_document, note_of, read_documents
from trueval.threads import Executor

# 1: first version.
FORMAT: Final = 1
KIND: Final = "chunks"
TITLES: Final = ("title", "section")  # fields of a document with which its breadcrumbs begin
FIELDS: Final = ("text",)
SUFFIXES: Final = (".jsonl", ".jsonl.gz")
TELL: Final = 1_000  # documents between two calls of tell
PIECE: Final = 1 << 20  # characters per task of a process, and tasks in flight
PIECES: Final = 16

Tell = Callable[[int], object] | None


@dataclass
class ChunkedCorpus:
    """Statistics of a chunked corpus.

    Attributes:
        documents: number of documents with a text.
        empty: number of documents without a token, which give no chunk.
        tokens: number of tokens in all chunks, breadcrumbs included.
        most: number of tokens in the longest chunk.
        longer: number of chunks above the size, whose breadcrumb alone leaves no room.
        characters: number of characters in the bodies of all chunks.
        repeated: number of these that the previous chunk contains too.
    """

    documents: int = 0
    empty: int = 0
    chunks: int = 0
    tokens: int = 0
    most: int = 0
    longer: int = 0
    characters: int = 0
    repeated: int = 0
    notes: list[str] = field(default_factory=list)

    def count(self, made: Sequence[Chunk], size: int) -> None:
        """Count the chunks of one document."""
        self.documents += bool(made)
        self.empty += not made
        self.chunks += len(made)
        self.tokens += sum(chunk.tokens for chunk in made)
        self.most = max([self.most, *(chunk.tokens for chunk in made)])
        self.longer += sum(chunk.tokens > size for chunk in made)
        self.characters += sum(chunk.end - chunk.start for chunk in made)
        self.repeated += sum(max(one.end - other.start, 0) for one, other in pairwise(made))

    def add(self, other: ChunkedCorpus) -> None:
        """Add the statistics of further documents."""
        for name in ("documents", "empty", "chunks", "tokens", "longer", "characters", "repeated"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.most = max(self.most, other.most)

    @property
    def mean(self) -> float:
        """Mean number of tokens in a chunk; 0 without any."""
        return self.tokens / self.chunks if self.chunks else 0.0

    @property
    def overlap(self) -> float:
        """Share of the text of chunks that the previous chunk also has."""
        return self.repeated / self.characters if self.characters else 0.0

    def to_dict(self) -> dict[str, object]:
        """The JSON of `trueval chunk`."""
        counts = asdict(self)
        return {"kind": KIND, "format": FORMAT, **counts, "mean": self.mean, "overlap": self.overlap}


def corpus_parts(place: Path) -> TextFiles:
    """The files of a corpus: of a collection, of a folder of parts, or the one file.

    Raises:
        InputError: as `find_parts` and `parts_of` say.
    """
    if not place.is_dir():
        return TextFiles((place,))
    found = find_parts(place, "corpus")
    is_collection = found.paths[0].exists() or find_parts(place, "queries").paths[0].exists()
    return found if is_collection else parts_of(place)


def _is_of_documents(place: Path) -> bool:
    """Whether a path is a document as people keep them, or a folder of them without files of lines or parquet."""
    if not place.is_dir():
        return is_document(place)
    has_rows = any(each.name.endswith((*LINES, PARQUET)) or each.name == "corpus" for each in place.iterdir())
    return not has_rows and bool(document_paths(place))


def source_bytes(place: Path) -> int:
    """How many bytes the files of a corpus or of a folder of documents take."""
    if place.exists() and _is_of_documents(place):
        return sum(path.stat().st_size for path in (document_paths(place) if place.is_dir() else (place,)))
    return sum(part.stat().st_size for part in corpus_parts(place).paths if part.exists())


def _rows_of(place: Path, fields: Sequence[str], skipped: list[str]) -> tuple[TextFiles, Iterable[TextRow]]:
    """The files of a corpus, and its documents one after another."""
    if place.exists() and _is_of_documents(place):
        return TextFiles((place,)), read_documents(place, skipped)
    parts = corpus_parts(place)
    return parts, read_rows(parts.paths, fields)


def chunk_corpus(
    place: Path,
    out: Path,
    chunker: Chunker,
    *,
    fields: Sequence[str] = FIELDS,
    titles: Sequence[str] = TITLES,
    tell: Tell = None,
    executor: Executor | None = None,
) -> ChunkedCorpus:
    """Chunk the documents of a corpus and write the chunks as a new corpus, atomically.

    Memory holds one document and 16 bytes for each id; with an executor some 16 MB of documents.

    Args:
        place: a collection, a folder of parts, a folder of documents (document_files.py) or a file of either.
        out: .jsonl or .jsonl.gz; per chunk _id ("DOCUMENT#NUMBER"), title (""), text, document, start, end, tokens and
            sha256.
        chunker: how documents are cut.
        fields: fields of a document that make up its text, joined by line ends.
        titles: fields of a document that begin its breadcrumbs, where present.
        tell: progress callback, called with the number of documents so far.
        executor: processes that share the work where a corpus is large; the output is identical. None for this process,
            which is also used for tokenizers of models, as these have threads of their own.

    Raises:
        InputError: a file is missing or bad, with its line; an id is there twice; no document has a text; or `out` is
            one of the files that are read.
        OSError: `out` cannot be written.
    """
    if not out.name.endswith(SUFFIXES):
        raise InputError(f"{out}: chunks are written as {' or '.join(SUFFIXES)}. Give the file such a name.")
    skipped: list[str] = []
    parts, read = _rows_of(place, (*fields, *titles), skipped)
    if out.exists() and any(path.exists() and path.samefile(out) for path in parts.paths):
        raise InputError(f"{out}: this is a file of the corpus itself. Write the chunks to another.")
    counts = ChunkedCorpus(notes=[parts.note] if parts.note else [])
    rows = _report_progress(_refuse_repeated_ids(read), tell)

    cut = partial(_cut, chunker, tuple(fields), tuple(titles))

    def parts_of_work() -> Iterator[tuple[bytes, ChunkedCorpus]]:
        if executor is None or chunker.tokenizer is not None:
            yield from (cut([row]) for row in rows)
            return
        pieces = _pieces(rows)
        while several := list(islice(pieces, PIECES)):
            yield from executor.map(cut, several)

    def write(path: Path) -> None:
        with _open_output(path, packed=out.name.endswith(".gz")) as file:
            for lines, counted in parts_of_work():
                counts.add(counted)
                file.write(lines)
        if not counts.chunks:
            raise Place(parts.display_name).error(
                f"no document has a text. It must be in {' or '.join(map(repr, fields))}. Name its fields."
            )

    write_whole(out, write)
    counts.notes += [note] if (note := note_of(skipped, parts.display_name)) else []
    if counts.empty:
        counts.notes.append(f"{parts.display_name}: {counts.empty} documents have no text, and no chunk.")
    return counts


def _cut(
    chunker: Chunker, fields: tuple[str, ...], titles: tuple[str, ...], rows: Sequence[TextRow]
) -> tuple[bytes, ChunkedCorpus]:
    """The chunks of some documents as lines, and their statistics."""
    counts, lines = ChunkedCorpus(), []
    for row in rows:
        made = list(chunker.chunks(row.id, _text(row.values, fields), _title(row.values, titles)))
        counts.count(made, chunker.size)
        lines += [_line(chunk) for chunk in made]
    return b"".join(lines), counts


def _pieces(rows: Iterable[TextRow]) -> Iterator[list[TextRow]]:
    """Documents in batches for the workers."""
    piece, size = list[TextRow](), 0
    for row in rows:
        piece.append(row)
        size += sum(len(str(value)) for value in row.values.values())
        if size >= PIECE:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def _text(values: Mapping[str, object], fields: Sequence[str]) -> str:
    # Joined by line feeds, so that a heading at the start of a field is recognized.
    return "\n".join(text for text in (join_fields(values, (name,)) for name in fields) if text)


def _title(values: Mapping[str, object], titles: Sequence[str]) -> str:
    found = (join_fields(values, (name,)).strip() for name in titles)
    return SEPARATOR.join(" ".join(text.split()) for text in found if text)


def _line(chunk: Chunk) -> bytes:
    try:
        return f"{json.dumps(chunk.to_dict(), ensure_ascii=False)}\n".encode()
    except UnicodeEncodeError:  # lone surrogates can be written in JSON, but not in UTF-8
        return f"{json.dumps(chunk.to_dict())}\n".encode()


@contextmanager
def _open_output(path: Path, *, packed: bool) -> Iterator[IO[bytes] | gzip.GzipFile]:
    with path.open("wb") as file:
        if not packed:
            yield file
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packing:  # the same bytes every time
            yield packing


def _refuse_repeated_ids(rows: Iterable[TextRow]) -> Iterator[TextRow]:
    """Yield the rows and refuse repeated ids, compared by hash: of 2⁶⁴ documents two would collide."""
    seen = set[bytes]()
    for row in rows:
        digest = hashlib.blake2b(row.id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if digest in seen:
            raise row.place.error(f"the id {row.id!r} is there twice. Every document must have an id of its own.")
        seen.add(digest)
        yield row


def _report_progress(rows: Iterable[TextRow], tell: Tell) -> Iterator[TextRow]:
    for number, row in enumerate(rows):
        if tell is not None and number % TELL == 0:
            tell(number)
        yield row
