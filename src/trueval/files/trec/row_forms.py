"""The forms of a row: the meaning of its columns, determined by their number on the first row."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from trueval.errors import Place
from trueval.files.frame import Kind
from trueval.files.source.source_bytes import EMPTY, SourceBytes

FIRST_LINE = re.compile(rb"^[ \t\r\v\f]*([^#\s][^\n\r]*)", re.MULTILINE)
RUN_WORDS = "query Q0 document rank score tag"
JUDGMENTS_WORDS = "query iteration document grade"
MOST_FIELDS = 64  # maximum fields on a line; text after the run tag has a few words


class RowForm(NamedTuple):
    """The meaning of each column of a row.

    Args:
        names: a name for every field of the first line.
        needed: the names whose fields every line must have.
        numbers: the needed names that must be numbers.
        text_may_follow: whether a line may have more fields than the first.
        words: the columns, as shown in errors.
        third_is_rank_or_score: whether the file has three columns, whose numbers tell ranks from scores.
    """

    names: tuple[str, ...]
    needed: tuple[str, ...]
    numbers: tuple[str, ...]
    text_may_follow: bool
    words: str
    third_is_rank_or_score: bool = False

    @property
    def types(self) -> Mapping[str, type[pl.DataType]]:
        """The types of the columns that are not strings."""
        return {"rank": pl.Int64} | dict.fromkeys(self.numbers, pl.Float64)

    @property
    def fewest(self) -> int:
        """How many fields a line must have."""
        return max(self.names.index(name) for name in self.needed) + 1


def first_line(content: SourceBytes) -> str:
    """The first line that is neither empty nor a comment.

    Raises:
        InputError: there is none.
    """
    found = FIRST_LINE.search(content.data)
    if found is None:
        raise Place(content.source).error(EMPTY)
    return found[1].decode(errors="replace")


def first_offset(data: bytes) -> int:
    r"""Give the offset of the first line that is neither empty nor a comment.

    >>> first_offset(b"# note\n\nqid,docno,score\n")
    8
    """
    found = FIRST_LINE.search(data)
    return found.start() if found else 0


def first_fields(content: SourceBytes) -> list[str]:
    """Split the first line at its separators."""
    return [field for field in re.split(r"[ \t\r\v\f]+", first_line(content)) if field]


def find_row_form(fields: Sequence[str], kind: Kind, source: str, facets: bool) -> RowForm:
    """Name the columns of a run or of judgments.

    Raises:
        InputError: the number of columns is that of the other kind, or of neither.
    """
    place = Place(source)
    if len(fields) > MOST_FIELDS:
        raise place.error(
            f"{len(fields)} fields on the first line. A row has at most {MOST_FIELDS}. Newlines may be lost."
        )
    return _form_of_run(fields, place) if kind == "run" else _form_of_judgments(fields, place, facets)


def _form_of_run(fields: Sequence[str], place: Place) -> RowForm:
    if len(fields) >= 5:
        names = ("query_id", "iteration", "doc_id", "rank", "score", *(f"text{i}" for i in range(5, len(fields))))
        return RowForm(names, names[:5], ("score",), True, RUN_WORDS)
    if len(fields) == 3:
        names = ("query_id", "doc_id", "score")
        return RowForm(names, names, ("score",), False, "query document rank", third_is_rank_or_score=True)
    got = f"Got {len(fields)} columns: {' '.join(fields)[:80]!r}."
    if len(fields) == 4:
        raise place.error(
            "this looks like judgments (a qrels file has 4 columns), not like a run. A run "
            f"must be: {RUN_WORDS}. {got} Check the order of the files."
        )
    raise place.error(
        f"not a run. It must be: {RUN_WORDS}, or query document rank. {got} Correct the file, or name its "
        "format in Python: Run.read(path, format=...)."
    )


def _form_of_judgments(fields: Sequence[str], place: Place, facets: bool) -> RowForm:
    got = f"Got {len(fields)} columns: {' '.join(fields)[:80]!r}."
    if len(fields) == 4:
        names: tuple[str, ...] = ("query_id", "facet" if facets else "iteration", "doc_id", "grade")
        return RowForm(names, names, ("grade",), False, JUDGMENTS_WORDS)
    if len(fields) == 3 and not facets:
        names = ("query_id", "doc_id", "grade")
        return RowForm(names, names, ("grade",), False, "query document grade")
    if len(fields) >= 5 and pl.Series(fields[3:5]).cast(pl.Float64, strict=False).null_count() == 0:
        raise place.error(
            "this looks like a run (a rank and a score in columns 4 and 5), not like judgments. "
            f"Judgments must be: {JUDGMENTS_WORDS}. {got} Check the order of the files."
        )
    raise place.error(
        f"not judgments. They must be: {JUDGMENTS_WORDS}. {got} Correct the file, or name its "
        "format in Python: Judgments.read(path, format=...)."
    )


def settle_third_column(frame: pl.DataFrame, form: RowForm, source: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Determine the meaning of the numbers in a file with three columns; other files are unchanged.

    Returns:
        The frame, with scores computed from ranks if they are ranks, and notes.

    Raises:
        InputError: the numbers are those of the other kind.
    """
    if form.third_is_rank_or_score:
        return _ranks_or_scores(frame, source)
    if form.names == ("query_id", "doc_id", "grade"):
        _refuse_ranks(frame, source)
    return frame, ()


def _ranks_or_scores(frame: pl.DataFrame, source: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Determine whether the third column of a run contains ranks (MS MARCO) or scores."""
    numbers = frame["score"]
    whole = numbers.is_finite() & (numbers == numbers.round())
    if not whole.all():
        return frame, (f"{source}: 3 columns without a header line, read as query document score",)
    per_query = frame.group_by("query_id").agg(
        lowest=pl.col("score").min(), distinct=pl.col("score").n_unique(), listed=pl.len()
    )
    # Without this check, integer scores would pass for ranks, and reverse the list.
    are_ranks = per_query["lowest"].is_between(0, 1).all() and (per_query["distinct"] == per_query["listed"]).all()
    if not are_ranks:
        raise Place(source).error(
            "3 columns must be query document rank, ranks from 1 and none twice in a query. "
            "Got integers that are not ranks. If they are scores, add the header line: query_id doc_id score"
        )
    return frame.with_columns(score=-numbers, rank=numbers.cast(pl.Int64)), ()


def _refuse_ranks(frame: pl.DataFrame, source: str) -> None:
    """Refuse judgments of three columns whose grades count 1, 2, 3 ... in each query: they are the ranks of a run."""
    place = pl.int_range(1, pl.len() + 1).over("query_id")
    grades = pl.col("grade")
    counts = frame.select(counts=(grades == place).all(), highest=grades.max()).row(0)
    if counts[0] and counts[1] > 3:  # short lists with grades 1, 2, 3 occur
        raise Place(source).error(
            "this looks like a run (the third column counts 1, 2, 3 ... in each query), not like judgments. "
            f"Judgments must be: {JUDGMENTS_WORDS}. Check the order of the files."
        )
