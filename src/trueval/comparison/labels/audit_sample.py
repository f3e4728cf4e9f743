"""Audit samples: people's labels of a sample of judged passages, and how the sample was drawn.

    sample.json     design, scale, and the strata with their populations
    items.jsonl     every passage of the sample, in the order in which it is served
    people.jsonl    people's labels of the passages seen so far
    population.jsonl  of the design `poisson`: every passage that can be drawn

Source: docs/design/audit.md.
"""

from __future__ import annotations

import dataclasses
import io
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import polars as pl

from trueval.comparison.labels.audit_batches import KEYS, AuditBatches
from trueval.errors import InputError, Place
from trueval.files.json.jsonl_rows import decode_object
from trueval.files.source.fingerprints import note_bytes
from trueval.forks import need_polars

if TYPE_CHECKING:
    from trueval.judgments import Judgments

KIND: Final = "audit"
FORMAT_VERSION: Final = 1  # files of the folder
DESIGNS: Final = ("queries", "documents", "poisson")
SAMPLE, ITEMS, PEOPLE, POPULATION = "sample.json", "items.jsonl", "people.jsonl", "population.jsonl"
TASK: Final = "grade"  # the task of grading passages
ALL_QUERIES: Final = "queries"  # the only stratum of the design `queries`, whose population counts queries

_ITEM: Final = {"query_id": pl.String, "doc_id": pl.String, "stratum": pl.String}
_CHANCE: Final = {"query_id": pl.String, "doc_id": pl.String, "chance": pl.Float64, "batch": pl.Int64}
_MEMBER: Final = {"query": pl.String, "document": pl.String}
_LABEL: Final = {"query_id": pl.String, "doc_id": pl.String, "grade": pl.Float64}


@dataclass(frozen=True, eq=False)
class AuditSample:
    """People's grades of a probability sample of judged passages.

    Attributes:
        design: "queries" (every judged passage of queries drawn at random), "documents" (passages drawn at random
            inside strata) or "poisson" (passages drawn in batches, each with its own chance).
        items: query_id, doc_id, stratum of every passage of the sample, answered or not.
        labels: query_id, doc_id, grade of the answered passages; one grade each, whoever graded it.
        population: stratum → number of its passages; for the design "queries" {"queries": N}, number of queries.
        scale: least and greatest grade that people may assign.
        skipped: query and document of items that people saw but did not grade.
        batches: chances and batches of the design "poisson"; None for the others.

    >>> items = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"], "stratum": ["queries"] * 2})
    >>> said = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "grade": [3.0]})
    >>> AuditSample("queries", items, said, {"queries": 9}, (1.0, 5.0))
    <Audited: design queries, 1 of 2 passages graded>
    """

    design: str
    items: pl.DataFrame
    labels: pl.DataFrame
    population: Mapping[str, int]
    scale: tuple[float, float]
    skipped: frozenset[tuple[str, str]] = frozenset()
    batches: AuditBatches | None = None

    def __post_init__(self) -> None:
        need_polars()
        _check(self)

    @classmethod
    def read(cls, folder: str | Path) -> AuditSample:
        """Read an audit: the folder written by `trueval golden audit`, or any with the same files.

        A folder without people.jsonl is an audit that nobody has answered.

        Args:
            folder: folder with sample.json, items.jsonl and people.jsonl.

        Raises:
            InputError: a file is missing or damaged, or a line is wrong; with file and line.
        """
        need_polars()
        folder = Path(folder)
        about = _read_sample(folder / SAMPLE)
        items = _read_items(folder / ITEMS, about["population"], about["design"])
        labels, skipped = _read_people(folder / PEOPLE, items, about["scale"])
        rows = [(*ids, each.stratum) for ids, each in items.items()]
        batches = _read_batches(folder, items, *about["plan"]) if about["design"] == "poisson" else None
        return cls(
            about["design"],
            pl.DataFrame(rows, schema=_ITEM, orient="row"),
            pl.DataFrame(labels, schema=_LABEL, orient="row"),
            about["population"],
            about["scale"],
            frozenset(skipped),
            batches,
        )

    def __repr__(self) -> str:
        """One line: the design and the number of graded passages."""
        return f"<Audited: design {self.design}, {len(self.labels):,} of {len(self.items):,} passages graded>"

    def over(self, judgments: Judgments) -> Judgments:
        """The judgments with people's grades where they exist; other grades and the order of rows are unchanged.

        Passages that can be drawn and that the judge did not grade are added, without a grade.

        Args:
            judgments: judgments of the judge.

        >>> from trueval.judgments import Judgments
        >>> items = pl.DataFrame({"query_id": ["q"], "doc_id": ["a"], "stratum": ["queries"]})
        >>> audited = AuditSample("queries", items, items.select(*KEYS, grade=pl.lit(3.0)), {"queries": 1}, (1.0, 5.0))
        >>> audited.over(Judgments.from_dict({"q": {"a": 5, "b": 4}})).frame.rows()
        [('q', 'a', 3.0), ('q', 'b', 4.0)]
        """
        if self.batches is not None:
            judgments = self.batches.extend(judgments)
        said = self.labels.select(*KEYS, pl.col("grade").alias("said"))
        joined = judgments.frame.join(said, on=list(KEYS), how="left", maintain_order="left")
        frame = joined.with_columns(grade=pl.coalesce("said", "grade")).drop("said")
        return dataclasses.replace(judgments, frame=frame)


def _check(audited: AuditSample) -> None:
    """Refuse a sample from which nothing can be estimated.

    Raises:
        InputError: the design is unknown, a stratum has no population or a smaller one than its items, an item is there
            twice, or a label is of no item or outside the scale.
    """
    place, (low, high) = Place("audit"), audited.scale
    if audited.design not in DESIGNS:
        raise place.error(f"the design must be one of {', '.join(DESIGNS)}. Got {audited.design!r}.")
    if audited.items.select(KEYS).is_duplicated().any() or audited.labels.select(KEYS).is_duplicated().any():
        raise place.error("a passage is there twice. Each must be an item once, with one grade.")
    if len(audited.labels.join(audited.items, on=list(KEYS), how="anti")):
        raise place.error("a label is of a passage that is not in the sample. Draw a sample that holds it.")
    outside = audited.labels.filter(~pl.col("grade").is_between(low, high))
    if len(outside):
        query, document, grade = outside.row(0)
        raise place.error(
            f"the grade of document {document!r} in query {query!r} is {grade:g}. It must be from {low:g} to {high:g}."
        )
    by_query = audited.design == "queries"
    sampled = (
        {ALL_QUERIES: audited.items["query_id"].n_unique()}
        if by_query
        else dict(audited.items.group_by("stratum").len().rows())
    )
    if (audited.design == "poisson") != (audited.batches is not None):
        raise place.error("the design poisson has chances and batches, and no other has. Put the files back.")
    if audited.batches is not None:
        audited.batches.check(place)
    for stratum, count in sampled.items():
        if audited.population.get(stratum, 0) < count:
            raise place.error(
                f"stratum {stratum!r} has {count} {'queries' if by_query else 'passages'} in the sample and a "
                f"population of {audited.population.get(stratum, 0)}. A sample cannot be larger. Put the "
                "files back as they were drawn."
            )


def _text(path: Path) -> str:
    """The text of a file; its digest is recorded in results."""
    data = path.read_bytes()
    note_bytes(str(path), data)
    return data.decode("utf-8")


def _read_sample(path: Path) -> dict[str, Any]:
    """Design, scale and populations of sample.json."""
    place = Place(str(path))
    try:
        about = json.loads(_text(path))
    except OSError as error:
        raise place.error(f"cannot be read ({error.strerror}). An audit is a folder of trueval golden audit.") from None
    except (ValueError, RecursionError) as error:
        raise place.error(f"not JSON: {error}. Put the file back as it was drawn.") from None
    if not isinstance(about, dict) or about.get("kind") != KIND:
        raise place.error('not an audit: "kind" must be "audit". Name a folder that trueval golden audit made.')
    if about.get("format") != FORMAT_VERSION:
        raise place.error(
            f"format must be {FORMAT_VERSION}. Got {about.get('format')!r}. Use the trueval that drew it."
        )
    try:
        low, high = (float(end) for end in about["scale"])
        population = {str(each["name"]): int(each["population"]) for each in about["strata"]}
        if not (math.isfinite(low) and math.isfinite(high) and low < high) or min(population.values(), default=0) < 1:
            raise ValueError("scale or population")
        design = str(about["design"])
        batches = about["batches"] if design == "poisson" else []
        precision = tuple(float(each["precision"]) for each in batches)
        drawn = sum(each["passages"] is not None for each in batches)
    except (KeyError, TypeError, ValueError) as error:
        raise place.error(
            f'damaged ({error}): it must have "design", "scale" (least and greatest grade) and "strata" (name and '
            "population each), and of the design poisson batches. Put the file back as it was drawn."
        ) from None
    return {"design": design, "scale": (low, high), "population": population, "plan": (precision, drawn)}


def _rows(path: Path) -> Iterator[tuple[Place, dict[str, Any]]]:
    """The objects of the task "grade" in a file of JSON lines, with their line numbers."""
    try:
        lines = _text(path).split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise Place(str(path)).error(
            f"cannot be read ({error}). An audit is a folder of trueval golden audit."
        ) from None
    for number, line in enumerate(lines, start=1):
        if line.strip():
            place = Place(str(path), number)
            row = decode_object(line, place)
            if row.get("task", TASK) == TASK:
                yield place, row


def _ids(row: Mapping[str, object], place: Place) -> tuple[str, str]:
    """The query and document ids of a line."""
    query, document = row.get("query"), row.get("document")
    if not isinstance(query, str) or not isinstance(document, str):
        raise place.error('"query" and "document" must be ids. Put the line back as it was written.')
    return str(query), str(document)


class _Item(NamedTuple):
    """A passage as listed in items.jsonl.

    Attributes:
        name: name of the item; None where it has none.
        stratum: stratum it was drawn from.
        chance: chance with which it was drawn, in the design `poisson`.
        batch: its batch, in the design `poisson`.
    """

    name: Any
    stratum: str
    chance: Any = None
    batch: Any = None


def _read_items(path: Path, population: Mapping[str, int], design: str) -> dict[tuple[str, str], _Item]:
    """Read the passages of the sample, in file order."""
    found: dict[tuple[str, str], _Item] = {}
    for place, row in _rows(path):
        ids, stratum = _ids(row, place), str(row.get("stratum", ALL_QUERIES))
        if ids in found:
            raise place.error(f"document {ids[1]!r} of query {ids[0]!r} appears twice. Keep one of the lines.")
        if design != "queries" and stratum not in population:
            raise place.error(f"the stratum {stratum!r} is not in {SAMPLE}. Put both files back as they were drawn.")
        found[ids] = _Item(row.get("item"), stratum, row.get("chance"), row.get("batch"))
    return found


def _read_batches(
    folder: Path, items: Mapping[tuple[str, str], _Item], precision: tuple[float, ...], drawn: int
) -> AuditBatches:
    """The chances of items, and the passages that could be drawn."""
    try:
        rows = [(*ids, float(each.chance), int(each.batch)) for ids, each in items.items()]
    except (TypeError, ValueError) as error:
        raise Place(str(folder / ITEMS)).error(
            f'an item has no "chance" or no "batch" ({error}). Put the file back as it was drawn.'
        ) from None
    place = Place(str(folder / POPULATION))
    try:
        population = pl.read_ndjson(io.BytesIO(_text(folder / POPULATION).encode()), schema=_MEMBER)
    except (OSError, UnicodeDecodeError, pl.exceptions.PolarsError) as error:
        raise place.error(f"cannot be read ({error}). Put the file back as it was drawn.") from None
    return AuditBatches(
        pl.DataFrame(rows, schema=_CHANCE, orient="row"),
        precision,
        population.rename({"query": KEYS[0], "document": KEYS[1]}),
        drawn,
    )


def _read_people(
    path: Path, items: Mapping[tuple[str, str], _Item], scale: tuple[float, float]
) -> tuple[list[tuple[str, str, float]], list[tuple[str, str]]]:
    """Read the passages that people graded, and those they skipped."""
    labels: list[tuple[str, str, float]] = []
    skipped: list[tuple[str, str]] = []
    seen: set[tuple[str, str]] = set()
    for place, row in _rows(path) if path.exists() else ():
        ids, given = _ids(row, place), row.get("grade")
        if ids not in items:
            raise place.error(f"document {ids[1]!r} of query {ids[0]!r} is not in {ITEMS}. Remove the line.")
        if None not in (row.get("item"), items[ids].name) and row["item"] != items[ids].name:
            raise place.error(
                f"document {ids[1]!r} of query {ids[0]!r} was an item of another audit, which showed other texts or "
                f"was drawn otherwise: {row['item']!r} is not the item of {ITEMS}. Put the file of this audit back."
            )
        if ids in seen:
            raise place.error(f"document {ids[1]!r} of query {ids[0]!r} appears twice. Keep one of the lines.")
        seen.add(ids)
        if given is None:
            skipped.append(ids)
            continue
        labels.append((*ids, _grade(given, scale, place)))
    return labels, skipped


def _grade(given: Any, scale: tuple[float, float], place: Place) -> float:
    """The grade of a line, on the scale."""
    try:
        grade = float(given)
    except (TypeError, ValueError):
        grade = math.nan
    if not scale[0] <= grade <= scale[1]:
        raise place.error(
            f"the grade is {given}. It must be a number from {scale[0]:g} to {scale[1]:g}, the scale of {SAMPLE}."
        )
    return grade


def no_labels(audited: AuditSample, folder: Path | None = None) -> InputError:
    """The error for an audit that nobody has answered.

    Args:
        folder: where the audit was read; None for one in memory.
    """
    return Place("audit" if folder is None else str(folder)).error(
        f"nobody has graded any of its {len(audited.items):,} passages. Grade some with trueval golden audit."
    )
