"""Authors with titles and topics, from our sample or from a table of the user."""

from __future__ import annotations

import csv
import io
import unicodedata
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Final, NamedTuple

import polars as pl

from trueval.errors import InputError, Place, TruevalWarning, nearest
from trueval.files.format_detection import SIGNATURES
from trueval.files.json.jsonl_pairs import OBJECT, objects
from trueval.files.json.jsonl_rows import Literal
from trueval.files.source.encoding import check_text, find_decoding_error
from trueval.files.source.memory_estimate import check_memory
from trueval.files.source.source_bytes import Source, SourceBytes, read_content
from trueval.files.tabular.delimited_text import sniff_delimiter
from trueval.files.tabular.parquet_sizes import check_row_groups
from trueval.files.tabular.typed_tables import check_strings
from trueval.report.number_texts import count_phrase
from trueval.report.provenance import strip_folders

LANGUAGES: Final = ("en", "fr")
COLUMNS: Final = ("author", "title", "topic", "family")
NEEDED: Final = ("author", "topic")
ROW: Final = 700  # bytes of memory per work
FEWEST: Final = 4  # authors: the right one and three impostors
SUFFIXES: Final = frozenset({"jr", "jr.", "sr", "sr.", "ii", "iii", "iv"})
# Particles that begin a family name, in any case, unless they are the first word of the full name.
BEGINNINGS: Final = (
    "a' abu abū af al ap av bar ben bin bint d' da dal de degli dei del dela della den der des di do dos du el ha ibn "
    "la las le lo los mac mc ní ni nic o' of ould s' st. saint 't ’t te ten ter van vom von zu zum zur"
)
PARTICLES: Final = frozenset(BEGINNINGS.split())


class Name(NamedTuple):
    """The name of a person.

    Attributes:
        given: all before the family name, or after it where that comes first; "" if none.
        family: family name with its particles: "van der Hoeven".
        family_first: whether the family name is written first: "Nagy Ágoston".
        inverted: whether it is written as in a bibliography: "Hoeven, Pieter".
    """

    given: str
    family: str
    family_first: bool = False
    inverted: bool = False

    @property
    def text(self) -> str:
        """The name as written.

        >>> Name("Pieter", "van der Hoeven").text, Name("Pieter", "van der Hoeven", inverted=True).text
        ('Pieter van der Hoeven', 'van der Hoeven, Pieter')
        """
        if not self.given or not self.family:
            return self.given or self.family
        if self.inverted:
            return f"{self.family}, {self.given}"
        return f"{self.family} {self.given}" if self.family_first else f"{self.given} {self.family}"


class AuthorWork(NamedTuple):
    """A row of the table: an author's work and its topic."""

    author: Name
    title: str
    topic: str


@dataclass(frozen=True)
class Authors:
    """A table of authors and their works.

    Attributes:
        works: one per pair of author and topic.
        source: display name of the table in reports.
    """

    works: tuple[AuthorWork, ...]
    source: str

    @property
    def names(self) -> frozenset[str]:
        """The names of all authors."""
        return frozenset(work.author.text for work in self.works)


def plain(text: str) -> str:
    """A text in NFC, the form in which names are compared and edits are counted."""
    return unicodedata.normalize("NFC", text)


def sample_people(language: str) -> Authors:
    """Our sample: 125 fictitious authors, each with one title and topic.

    Args:
        language: language of titles and topics, one of LANGUAGES.

    Raises:
        InputError: the sample has no such language.

    >>> sample_people("fr").works[0].title
    'Bilans d’eau de fonte des petits glaciers alpins'
    """
    if language not in LANGUAGES:
        raise InputError(f"The language of the sample must be {' or '.join(LANGUAGES)}. Got {language!r}.")
    data = (files("trueval.probes.data") / f"people.{language}.csv").read_bytes()
    return _people(SourceBytes(data, f"people.{language}.csv", "sample"), "sample")


def read_people(source: Source) -> Authors:
    """Read a table of authors: CSV with a header line, JSON lines, or Parquet.

    Columns: author and topic; title, the topic by default; family, the family name within author, where the rules of
    `split_name` would not find it. Other columns are ignored. Texts are read in NFC, with runs of spaces collapsed.

    Args:
        source: a path, "-" for standard input, or an open file.

    Raises:
        InputError: it cannot be read, lacks a column, a row has no author or topic, or there are fewer than 4 authors
            or 2 topics; with file and line.
    """
    content = read_content(source)
    return _people(content, strip_folders(content.source))


def _people(content: SourceBytes, source: str) -> Authors:
    rows = list(_works(content))
    first: dict[tuple[str, str], AuthorWork] = {}
    for row in rows:
        first.setdefault((row.author.text, row.topic), row)
    works = tuple(first.values())
    if len(works) < len(rows):
        told = f"{content.source}: {len(rows) - len(works)} rows repeat an author and topic; the first of each counts."
        warnings.warn(told, TruevalWarning, stacklevel=4)
    found = Authors(works, source)
    topics = len({work.topic for work in works})
    if len(found.names) < FEWEST or topics < 2:
        raise Place(content.source).error(
            f"{count_phrase(len(found.names), 'author', 'authors')} and "
            f"{count_phrase(topics, 'topic', 'topics')}. There must be "
            f"at least {FEWEST} authors, the right one and three others, and 2 topics. Add rows."
        )
    return found


def _works(content: SourceBytes) -> Iterator[AuthorWork]:
    for place, row in _rows(content):
        values = {column: _text(row.get(column), column, place) for column in COLUMNS}
        lacking = [column for column in NEEDED if not values[column]]
        if lacking:
            raise place.error(
                f"no {lacking[0]}. Every row must have an author and a topic. Write it, or remove the row."
            )
        author = _name(values["author"], values["family"], place)
        yield AuthorWork(author, values["title"] or values["topic"], values["topic"])


def _rows(content: SourceBytes) -> Iterator[tuple[Place, Mapping[str, object]]]:
    """The rows of a table with their line numbers, in any format."""
    if content.data.startswith(SIGNATURES["parquet"]):
        yield from _parquet_rows(content)
        return
    is_json = OBJECT.match(content.data) is not None
    content = check_text(content, is_json=is_json)
    if (undecodable := find_decoding_error(content)) is not None:
        raise undecodable
    if is_json:
        for number, row in objects(content):
            place = Place(content.source, number)
            _check_columns(row, place)
            yield place, row
    else:
        yield from _csv_rows(content)


def _csv_rows(content: SourceBytes) -> Iterator[tuple[Place, Mapping[str, object]]]:
    text = content.data.decode()
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sniff_delimiter(text.partition("\n")[0]), strict=True)
    names: list[str] = []
    line = 1
    try:
        for fields in reader:
            place, line = Place(content.source, line), reader.line_num + 1  # a quoted field may hold line ends
            if not names:
                names = [field.strip().lower() for field in fields]
                _check_columns(dict.fromkeys(names), place)
            elif len(fields) != len(names) and fields:
                raise place.error(
                    f"{len(fields)} fields. The header line has {len(names)}. Correct the line, or quote the field "
                    "that holds the separator."
                )
            elif fields:
                yield place, dict(zip(names, fields, strict=True))
    except csv.Error as error:
        raise Place(content.source, line).error(f"the row cannot be read: {error}. Correct its quotes.") from error


def _parquet_rows(content: SourceBytes) -> Iterator[tuple[Place, Mapping[str, object]]]:
    rows = sum(group.rows for group in check_row_groups(content.data, content.source, COLUMNS))
    check_memory(rows * ROW, Place(content.source))
    try:
        schema = pl.read_parquet_schema(io.BytesIO(content.data))
        _check_columns(schema, Place(content.source))
        frame = pl.read_parquet(io.BytesIO(content.data), columns=[name for name in schema if name in COLUMNS])
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise Place(content.source).error(f"the parquet file is damaged ({reason}). Write it again.") from error
    check_strings(frame, Place(content.source), copies=3)
    for number, row in enumerate(frame.iter_rows(named=True)):
        yield Place(content.source, row=number), row


def _check_columns(names: Mapping[str, object], place: Place) -> None:
    lacking = [column for column in NEEDED if column not in names]
    if lacking:
        got = ", ".join(map(repr, names)) or "none"
        raise place.error(
            f"no column {lacking[0]}.{nearest(lacking[0], names)} The columns must be author, topic and, if wanted, "
            f"title and family. Got {got[:200]}."
        )


def _text(value: object, column: str, place: Place) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or isinstance(value, Literal):  # a number, as JSON writes it
        raise place.error(f"the {column} must be a text. Got {str(value)[:40]!r}. Correct it.")
    return plain(" ".join(value.split()))


def _name(author: str, family: str, place: Place) -> Name:
    if not family:
        return split_name(author)
    rest, comma, first = author.partition(", ")
    if comma and rest == family:
        return Name(first, family)
    # The family name is a whole word or more, so "Lee" is not found inside "Leeson".
    if author.endswith(f" {family}"):
        return Name(author.removesuffix(family).rstrip(), family)
    if author.startswith(f"{family} "):
        return Name(author.removeprefix(family).lstrip(), family, family_first=True)
    if author == family:
        return Name("", family)
    raise place.error(f"the family {family!r} is not at an end of the author {author!r}. Write it as it is there.")


def split_name(author: str) -> Name:
    """Split a name into parts: "Last, First"; else the family name begins at a particle, or is the last word.

    >>> split_name("Pieter van der Hoeven"), split_name("Dupont, Alice")
    (Name(given='Pieter', family='van der Hoeven', family_first=False, inverted=False),
     Name(given='Alice', family='Dupont', family_first=False, inverted=False))
    """
    last, comma, first = author.partition(",")
    words = author.split()
    if comma and first.strip() and last.strip() and first.strip().lower() not in SUFFIXES:
        return Name(" ".join(first.split()), " ".join(last.split()))
    if len(words) < 2:
        return Name("", author.strip())
    end = len(words) - 1
    while end and words[end].lower() in SUFFIXES:
        end -= 1
    begin = next((at for at in range(1, end) if words[at].lower() in PARTICLES), end)
    return Name(" ".join(words[:begin]), " ".join(words[begin:]))
