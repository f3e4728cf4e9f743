"""The judged table: what a judge said of each claim against each text, from which every measure is computed.

    {"query": "q1", "of": "answer", "claim": 1, "against": "reference", "label": "supported"}
    {"query": "q1", "of": "answer", "claim": 1, "against": 2, "label": "not", "by": "gpt-5-mini", "sample": 1}
    {"query": "q1", "of": "reference", "claim": 1, "against": "answer", "label": "partly"}
    {"query": "q1", "of": "answer", "claim": 1, "against": "question", "label": "supported"}

Against the question, "supported" says that the claim answers it. In a table without such a row nobody was asked, so
these are no cells. Claims and passages are counted from 1, as the log has them. Several rows of one cell are
repetitions: their median label counts, the lower of two. A cell without a row, or with the label null (refused, not
valid), is missing.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median_low
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np

from trueval.answers.answer import OKAY, VITAL, AnswerLog, LoggedAnswer
from trueval.errors import InputError, Place, nearest
from trueval.files import Source
from trueval.files.json.context_logs import unread_lines
from trueval.files.json.jsonl_rows import Literal
from trueval.files.source.source_bytes import read_content
from trueval.standings.standings import Bools, Floats, Ints

LABELS: Final = ("contradicted", "not", "partly", "supported")
CONTRADICTED, NOT, PARTLY, SUPPORTED = range(len(LABELS))
MISSING: Final = -1
# Other names: of nuggetizer, RAGChecker, and the support evaluation of TREC RAG.
ALIASES: Final = {
    **{name: code for code, name in enumerate(LABELS)},
    "support": SUPPORTED,
    "partial_support": PARTLY,
    "not_support": NOT,
    "Entailment": SUPPORTED,
    "Neutral": NOT,
    "Contradiction": CONTRADICTED,
    "FS": SUPPORTED,
    "PS": PARTLY,
    "NS": NOT,
}
ANSWER: Final = "answer"
REFERENCE: Final = "reference"
QUESTION: Final = "question"
SIDES: Final = (ANSWER, REFERENCE)
_VITAL: Final = {VITAL: 1.0, OKAY: 0.0, "": np.nan}


class Cell(NamedTuple):
    """A cell of the table.

    Attributes:
        query: id of the question.
        of: whose claim it is: "answer" or "reference".
        claim: number of the claim, from 1.
        against: "reference", "answer", "question", or the number of a passage, from 1.
    """

    query: str
    of: str
    claim: int
    against: str | int


def cells_of(answer: LoggedAnswer, *, relevance: bool = False) -> Iterator[Cell]:
    """The cells that the measures of an answer use; an empty answer supports nothing, so nobody is asked.

    Args:
        relevance: whether those of the answer's claims against the question are among them, last.
    """
    passages = range(1, len(answer.passages or ()) + 1)
    for claim in range(1, len(answer.claims) + 1):
        if answer.reference_claims:
            yield Cell(answer.query, ANSWER, claim, REFERENCE)
        yield from (Cell(answer.query, ANSWER, claim, number) for number in passages)
    for claim in range(1, len(answer.reference_claims) + 1):
        if answer.claims:
            yield Cell(answer.query, REFERENCE, claim, ANSWER)
        yield from (Cell(answer.query, REFERENCE, claim, number) for number in passages)
    if relevance and answer.question:
        yield from (Cell(answer.query, ANSWER, claim, QUESTION) for claim in range(1, len(answer.claims) + 1))


def texts_of(answer: LoggedAnswer, cell: Cell) -> tuple[str, str]:
    """The claim of a cell, and the text that it is held against."""
    claim = (answer.claims if cell.of == ANSWER else answer.reference_claims)[cell.claim - 1].text
    if cell.against == REFERENCE:
        return claim, answer.references[0] if answer.references else "\n".join(c.text for c in answer.reference_claims)
    if cell.against == QUESTION:
        return claim, answer.question
    return claim, answer.text if cell.against == ANSWER else (answer.passages or ())[int(cell.against) - 1].text


class JudgedCells(NamedTuple):
    """The labels of a table.

    Attributes:
        labels: cell → codes of its repetitions, `MISSING` for one without a label.
        source: where they were read.
        calls: cell → keys of the calls that labeled it, where the table says.
    """

    labels: Mapping[Cell, tuple[int, ...]]
    source: str
    calls: Mapping[Cell, tuple[str, ...]] = MappingProxyType({})

    def label(self, cell: Cell) -> int:
        """The median label of a cell, the lower of two; `MISSING` without any."""
        known = [code for code in self.labels.get(cell, ()) if code != MISSING]
        return median_low(known) if known else MISSING

    @property
    def has_relevance(self) -> bool:
        """Whether claims were held against questions: any row is, be it without a label."""
        return any(cell.against == QUESTION for cell in self.labels)


def read_judged(source: Source, log: AnswerLog) -> JudgedCells:
    """Read the judged table of a log.

    Args:
        source: a path, "-" for standard input, or an open file of JSON lines; or people.jsonl of an audit.

    Raises:
        InputError: a line is bad, or about a claim or passage that the log does not have; with file, line and key.
    """
    content = read_content(source)
    by_query = {answer.query: answer for answer in log.answers}
    found: dict[Cell, tuple[int, ...]] = {}
    calls: dict[Cell, tuple[str, ...]] = {}
    for row in unread_lines(content):
        cell, code = _read(_as_cell(row.values), row.place, by_query)
        found[cell] = (*found.get(cell, ()), code)
        call = row.values.get("call")
        if isinstance(call, str):
            calls[cell] = (*calls.get(cell, ()), call)
    return JudgedCells(found, content.source, calls)


def document_of(cell: Cell) -> str:
    """The id that an audit has for a cell."""
    return f"{cell.of}:{cell.claim}:{cell.against}:{cell.query}"


def _as_cell(row: Mapping[str, object]) -> Mapping[str, object]:
    """A line of people.jsonl as one of a table; other lines as they are.

    >>> _as_cell({"task": "grade", "query": "q1", "document": "answer:1:2:q1", "grade": Literal("4")})["label"]
    'supported'
    """
    document, grade = row.get("document"), row.get("grade")
    if row.get("task") != "grade" or not isinstance(document, str):
        return row
    of, claim, against, _ = (*document.split(":", 3), "", "", "", "")[:4]
    place = _number(grade, len(LABELS))
    passage = Literal(against) if against.isdigit() else against
    label = None if place is None else LABELS[place - 1]
    return {"query": row.get("query"), "of": of, "claim": Literal(claim), "against": passage, "label": label}


def _read(row: Mapping[str, object], place: Place, answers: Mapping[str, LoggedAnswer]) -> tuple[Cell, int]:
    query, of, against, label = (row.get(key) for key in ("query", "of", "against", "label"))
    if not isinstance(query, str) or query not in answers:
        raise _refuse(place, "query", f"a question of the log{nearest(str(query), answers)}", query)
    answer = answers[str(query)]
    if of not in SIDES:
        raise _refuse(place, "of", " or ".join(SIDES), of)
    claims = answer.claims if of == ANSWER else answer.reference_claims
    number = _number(row.get("claim"), len(claims))
    if number is None:
        raise _refuse(place, "claim", f"a number from 1 to {len(claims)}, the claims of {query!r}", row.get("claim"))
    other = REFERENCE if of == ANSWER else ANSWER
    passage = _number(against, len(answer.passages or ()))
    whole = (other, QUESTION) if of == ANSWER and answer.question else (other,)
    if passage is None and against not in whole:
        named = ", ".join(map(repr, whole))
        wanted = f"{named}, or the number of a passage from 1 to {len(answer.passages or ())}"
        raise _refuse(place, "against", wanted, against)
    text = row.get("text")
    if text is not None and text != claims[number - 1].text:
        raise _refuse(
            place, "text", f"that of the claim, {claims[number - 1].text[:60]!r}: this is of another log", text
        )
    if label is not None and (not isinstance(label, str) or label not in ALIASES):
        raise _refuse(place, "label", f"one of {', '.join(LABELS)}, or null", label)
    code = MISSING if label is None else ALIASES[str(label)]
    return Cell(query, str(of), number, str(against) if passage is None else passage), code


def _number(value: object, most: int) -> int | None:
    number = int(value) if isinstance(value, Literal) and value.isdigit() and len(value) < 10 else 0
    return number if 1 <= number <= most else None


def _refuse(place: Place, key: str, wanted: str, value: object) -> InputError:
    return place.error(f"{key} must be {wanted}. Got {reprlib.repr(value)}. Correct the line, or judge the log again.")


class Truth(NamedTuple):
    """Whether something holds: surely, and possibly."""

    surely: Bools
    possibly: Bools

    def __invert__(self) -> Truth:
        return Truth(~self.possibly, ~self.surely)

    def __and__(self, other: Truth) -> Truth:
        return Truth(self.surely & other.surely, self.possibly & other.possibly)

    def at(self, places: Ints) -> Truth:
        """The truths of some places."""
        return Truth(self.surely[places], self.possibly[places])

    def any_by(self, number: Ints, count: int) -> Truth:
        """Whether it holds for any member of each group."""
        found = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        for holds, each in zip(found, self, strict=True):
            holds[number[each]] = True
        return Truth(*found)


def support_of(label: Ints) -> Truth:
    """Whether a text supports a claim."""
    return Truth(label == SUPPORTED, (label == SUPPORTED) | (label == MISSING))


@dataclass(frozen=True, eq=False)
class ClaimTable:
    """Labels as arrays: claims, passages and cells of all questions behind each other.

    Attributes:
        queries: number of questions.
        has_reference: [query] whether the question has a reference.
        has_context: [query] whether the log says what was in the context.
        claim_query: [answer claim] question.
        claim_label: [answer claim] label against the reference.
        nugget_query: [reference claim] question.
        nugget_label: [reference claim] label against the answer.
        vital: [reference claim] 1 for vital, 0 for okay, NaN where the log does not say.
        passage_query: [passage] question.
        claim_cells: cells of answer claims against passages.
        nugget_cells: cells of reference claims against passages.
        cited: [citation] cell among `claim_cells`; -1 for a passage that was not given.
        citing: [citation] answer claim, in order.
        abstained: [query] 1, 0, or NaN where it is not known.
        answerable: [query] likewise.
        has_relevance: [query] whether the table holds claims against the question, and the log has it.
        relevance_label: [answer claim] label against the question.
    """

    queries: int
    has_reference: Bools
    has_context: Bools
    claim_query: Ints
    claim_label: Ints
    nugget_query: Ints
    nugget_label: Ints
    vital: Floats
    passage_query: Ints
    claim_cells: PassageCells
    nugget_cells: PassageCells
    cited: Ints
    citing: Ints
    abstained: Floats
    answerable: Floats
    has_relevance: Bools
    relevance_label: Ints

    @classmethod
    def of(cls, log: AnswerLog, judged: JudgedCells) -> ClaimTable:
        """Arrange the labels of a log."""
        claims, nuggets = _Side(), _Side()
        cited, citing, relevance = list[int](), list[int](), list[int]()
        asked = judged.has_relevance
        counts = [len(answer.passages or ()) for answer in log.answers]
        first = 0  # passage of the question
        for at, (answer, count) in enumerate(zip(log.answers, counts, strict=True)):
            for number, claim in enumerate(answer.claims, start=1):
                cited += [len(claims.passage) + each if each >= 0 else -1 for each in claim.citations]
                citing += [len(claims.query)] * len(claim.citations)
                claims.add(at, judged, Cell(answer.query, ANSWER, number, REFERENCE), first, count)
                relevance.append(judged.label(Cell(answer.query, ANSWER, number, QUESTION)))
            for number in range(1, len(answer.reference_claims) + 1):
                nuggets.add(at, judged, Cell(answer.query, REFERENCE, number, ANSWER), first, count)
                if not answer.claims:  # an empty answer supports nothing, and nobody was asked
                    nuggets.label[-1] = NOT
            first += count
        vital = [_VITAL[each.importance] for answer in log.answers for each in answer.reference_claims]
        return cls(
            len(log.answers),
            np.array([bool(answer.reference_claims) for answer in log.answers], dtype=bool),
            np.array([answer.passages is not None for answer in log.answers], dtype=bool),
            _integers(claims.query),
            _integers(claims.label),
            _integers(nuggets.query),
            _integers(nuggets.label),
            np.array(vital, dtype=np.float64),
            np.repeat(np.arange(len(counts)), counts),
            claims.cells(),
            nuggets.cells(),
            _integers(cited),
            _integers(citing),
            _flags([answer.abstained for answer in log.answers]),
            _flags([answer.answerable for answer in log.answers]),
            np.array([asked and bool(answer.question) for answer in log.answers], dtype=bool),
            _integers(relevance),
        )

    @cached_property
    def claim_in_context(self) -> Truth:
        """[answer claim] whether some passage supports it."""
        return support_of(self.claim_cells.label).any_by(self.claim_cells.claim, len(self.claim_query))

    @cached_property
    def nugget_in_context(self) -> Truth:
        """[reference claim] whether some passage supports it."""
        return support_of(self.nugget_cells.label).any_by(self.nugget_cells.claim, len(self.nugget_query))

    @cached_property
    def relevant(self) -> Truth:
        """[passage] whether it supports some claim of the reference."""
        return support_of(self.nugget_cells.label).any_by(self.nugget_cells.passage, len(self.passage_query))

    @cached_property
    def missing(self) -> Ints:
        """[query] number of cells without a label."""
        found = np.zeros(self.queries, dtype=np.int64)
        known = self.has_reference[self.claim_query] & (self.claim_label == MISSING)
        for query in (
            self.claim_query[known],
            self.nugget_query[self.nugget_label == MISSING],
            self.claim_query[self.claim_cells.claim[self.claim_cells.label == MISSING]],
            self.nugget_query[self.nugget_cells.claim[self.nugget_cells.label == MISSING]],
            self.claim_query[self.has_relevance[self.claim_query] & (self.relevance_label == MISSING)],
        ):
            found += np.bincount(query, minlength=self.queries)
        return found


class PassageCells(NamedTuple):
    """Cells of claims against passages.

    Attributes:
        claim: [cell] claim, in order.
        passage: [cell] passage.
        label: [cell] label.
    """

    claim: Ints
    passage: Ints
    label: Ints


class _Side:
    """Claims of answers, or of references, on their way to arrays."""

    def __init__(self) -> None:
        self.query: list[int] = []
        self.label: list[int] = []
        self.claim: list[int] = []
        self.passage: list[int] = []
        self.of_passage: list[int] = []

    def add(self, query: int, judged: JudgedCells, cell: Cell, first: int, passages: int) -> None:
        """Add a claim with its labels.

        Args:
            cell: of the claim against the other side.
            first: the first passage of its question.
            passages: number of these.
        """
        self.claim += [len(self.query)] * passages
        self.passage += range(first, first + passages)
        self.of_passage += [judged.label(cell._replace(against=number)) for number in range(1, passages + 1)]
        self.query.append(query)
        self.label.append(judged.label(cell))

    def cells(self) -> PassageCells:
        """The cells against passages."""
        return PassageCells(*map(_integers, (self.claim, self.passage, self.of_passage)))


def _integers(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _flags(values: Sequence[bool | None]) -> Floats:
    return np.array([np.nan if value is None else float(value) for value in values], dtype=np.float64)
