"""Chunks: documents cut into the passages that a retriever finds and a model reads.

    sentences   whole sentences up to a size in tokens; the next chunk begins with the last ones of this, up to the
                overlap. Headings are never crossed. P-B (Dallaire 2025) §3.1: about 515 tokens with 70 of overlap
    windows     so many tokens, wherever that cuts

Each chunk begins with its breadcrumb, title › section › subsection, which counts towards its size: a passage without it
does not say what it is about. Sections are Markdown headings in the text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trueval.errors import PolicyError
from trueval.retrieval.chunking.sentence_ends import Span, sentence_spans

SEPARATOR: Final = " › "
HEADING: Final = re.compile(r"^(?P<level>#{1,6})[ \t]+(?P<title>.*?)[ \t]*#*[ \t]*$", re.MULTILINE)
MARK: Final = "#"  # separates document and chunk number in a chunk's id
TOKEN: Final = re.compile(r"\w+|[^\w\s]")

# [token, 2] start and end of each token of a text.
Tokenizer = Callable[[str], NDArray[np.int64]]
How = Literal["sentences", "windows"]


@dataclass(frozen=True)
class Chunk:
    """A part of a document.

    Attributes:
        document: id of the document.
        number: number of the chunk in the document, from 0.
        start: start in the text of the document, in characters.
        end: end in the text of the document, in characters.
        breadcrumb: title › section › subsection, or "".
        body: the text from start to end.
        tokens: number of tokens in breadcrumb and body.
    """

    document: str
    number: int
    start: int
    end: int
    breadcrumb: str
    body: str
    tokens: int

    @property
    def id(self) -> str:
        """The chunk's id: document and chunk number."""
        return f"{self.document}{MARK}{self.number}"

    @property
    def text(self) -> str:
        """The text to embed and read: breadcrumb and body."""
        return f"{self.breadcrumb}\n{self.body}" if self.breadcrumb else self.body

    @property
    def sha256(self) -> str:
        """The hash of the body: labels follow it wherever it moves when documents are cut again."""
        return hashlib.sha256(self.body.encode("utf-8", "surrogatepass")).hexdigest()

    def to_dict(self) -> dict[str, object]:
        """One line of corpus.jsonl, with the origin of the chunk."""
        return {
            "_id": self.id,
            "title": "",
            "text": self.text,
            "document": self.document,
            "start": self.start,
            "end": self.end,
            "tokens": self.tokens,
            "sha256": self.sha256,
        }


def document_of(id: str) -> str | None:
    """The document of a chunk, by the chunk's id; None where the id is no chunk's.

    >>> document_of("a#b#12"), document_of("a")
    ('a#b', None)
    """
    document, mark, number = id.rpartition(MARK)
    return document if mark and number.isdecimal() else None


@dataclass(frozen=True)
class Chunker:
    r"""The settings for cutting documents.

    Attributes:
        how: "sentences" or "windows".
        size: maximum number of tokens in a chunk, breadcrumb included.
        overlap: maximum number of tokens that a chunk repeats from the end of the previous one.
        breadcrumbs: whether chunks begin with title and section.
        tokenizer: finds the tokens; words and marks if None. Tokenizers of models find more, in English about 1.3
            times.

    Raises:
        PolicyError: the overlap is not below the size, or one of them is negative.

    >>> chunker = Chunker(size=8, overlap=3)
    >>> [chunk.text for chunk in chunker.chunks("d", "One is here. Two is. Three is there.", "T")]
    ['T\nOne is here. Two is.', 'T\nTwo is. Three is there.']
    """

    how: How = "sentences"
    size: int = 515
    overlap: int = 70
    breadcrumbs: bool = True
    tokenizer: Tokenizer | None = None

    def __post_init__(self) -> None:
        """Refuse settings with which nothing can be cut."""
        if self.how not in ("sentences", "windows"):
            raise PolicyError(f"Chunks are cut by sentences or windows. Got {self.how!r}.")
        if not 0 <= self.overlap < self.size:
            raise PolicyError(
                f"The overlap must be at least 0 and below the size. Got overlap {self.overlap} and size {self.size}."
            )

    def chunks(self, document: str, text: str, title: str = "") -> Iterator[Chunk]:
        """Cut a document.

        Args:
            text: text of the document; Markdown headings begin sections.
            title: first part of every breadcrumb.

        Yields:
            Chunks in order; none for a document without tokens, and none of white space only.
        """
        tokens = (self.tokenizer or words_and_marks)(text)
        number = 0
        for section in _sections(text):
            trail = [part for part in (title.strip(), *section.headings) if part] if self.breadcrumbs else []
            breadcrumb = SEPARATOR.join(trail)
            head = len((self.tokenizer or words_and_marks)(breadcrumb)) if breadcrumb else 0
            room = max(self.size - head, 1)
            inside = _Tokens(tokens, section.start, section.end)
            for first, last in self._cuts(inside, text, room):
                start, end = inside.span(first, last)
                if not text[start:end].strip():  # white space, for which models have tokens
                    continue
                yield Chunk(document, number, start, end, breadcrumb, text[start:end], head + last - first)
                number += 1

    def _cuts(self, inside: _Tokens, text: str, room: int) -> Iterator[Span]:
        """First token and end of each chunk of a section."""
        overlap = min(self.overlap, room - 1)
        if self.how == "windows":
            yield from _windows(0, inside.count, room, overlap)
            return
        pieces = [
            piece
            for start, end in sentence_spans(text[inside.start : inside.end])
            for piece in _windows(*inside.tokens(inside.start + start, inside.start + end), room, 0)
        ]
        first = 0
        while first < len(pieces):
            begin = pieces[first][0]
            past = first + 1
            while past < len(pieces) and pieces[past][1] - begin <= room:
                past += 1
            end = pieces[past - 1][1]
            yield begin, end
            if past == len(pieces):
                return
            # The next chunk must contain new text, so it starts after this one's first piece and includes the next.
            following = past
            while following - 1 > first and end - pieces[following - 1][0] <= overlap:
                if pieces[past][1] - pieces[following - 1][0] > room:
                    break
                following -= 1
            first = following


def words_and_marks(text: str) -> NDArray[np.int64]:
    """[token, 2] spans of words and single punctuation marks.

    >>> words_and_marks("Yes, now.").tolist()
    [[0, 3], [3, 4], [5, 8], [8, 9]]
    """
    return np.array([match.span() for match in TOKEN.finditer(text)], dtype=np.int64).reshape(-1, 2)


def model_tokens(tokenizer: Any) -> Tokenizer:
    """The tokens of a fast transformers tokenizer, without the special tokens around a text.

    Args:
        tokenizer: as returned by AutoTokenizer.from_pretrained(...), for example.
    """

    def tokens(text: str) -> NDArray[np.int64]:
        found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        spans = np.array(found["offset_mapping"], dtype=np.int64).reshape(-1, 2)
        return spans[spans[:, 1] > spans[:, 0]]

    return tokens


class _Section(NamedTuple):
    """A stretch of text without a heading inside.

    Attributes:
        start: start in characters, after the heading.
        end: start of the next heading.
        headings: headings from the outermost to its own.
    """

    start: int
    end: int
    headings: tuple[str, ...]


def _sections(text: str) -> Iterator[_Section]:
    start, open_headings = 0, list[tuple[int, str]]()
    for match in HEADING.finditer(text):
        yield _Section(start, match.start(), tuple(title for _, title in open_headings))
        level = len(match["level"])
        open_headings = [each for each in open_headings if each[0] < level] + [(level, match["title"])]
        start = match.end()
    yield _Section(start, len(text), tuple(title for _, title in open_headings))


class _Tokens:
    """The tokens of a section, numbered from 0.

    Args:
        spans: [token, 2] spans of the tokens of the whole document.
        start: start of the section in characters.
        end: end of the section in characters.
    """

    def __init__(self, spans: NDArray[np.int64], start: int, end: int) -> None:
        self.start, self.end = start, end
        self.spans = spans[np.searchsorted(spans[:, 0], start) : np.searchsorted(spans[:, 0], end)]
        self.count = len(self.spans)

    def tokens(self, start: int, end: int) -> Span:
        """First token and end between two characters."""
        first, last = np.searchsorted(self.spans[:, 0], (start, end))
        return int(first), int(last)

    def span(self, first: int, last: int) -> Span:
        """The characters from the first token to the end of the last one."""
        return int(self.spans[first, 0]), int(min(self.spans[last - 1, 1], self.end))


def _windows(first: int, last: int, size: int, overlap: int) -> Iterator[Span]:
    """Windows of a fixed number of tokens; the last one ends where the text ends."""
    for start in range(first, last, size - overlap):
        yield start, min(start + size, last)
        if start + size >= last:
            return
