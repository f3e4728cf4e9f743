"""Column names as people write them, and the types that ids and numbers must have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from trueval.errors import Place
from trueval.files.frame import Kind, RowTable, other_kind, value_column

# Normalized names (lower case, without "_", "-", "." and space), the most specific first: of query_id and query,
# query_id.
QUERY_NAMES = ("queryid", "qid", "topicid", "topicno", "queryno", "qno", "topic", "query", "question", "q")
DOC_NAMES = ("docid", "docno", "documentid", "corpusid", "passageid", "pid", "did", "itemid", "document", "doc", "d")
# Names that can only mean the id: of query and query_id, or topic and qid, one may be the text, so query_id is used.
ID_NAMES = {"query_id": QUERY_NAMES[:6], "doc_id": DOC_NAMES[:3]}
SCORE_NAMES = ("score", "sim", "similarity", "scores", "rsv")
GRADE_NAMES = ("grade", "relevance", "label", "rel", "relevancelabel", "relevancy", "judgment", "qrel", "score")
RANK_NAMES = ("rank", "position", "ranking")
RUN_NAMES = ("run", "runid", "runname", "runtag", "system", "systemid", "systemname", "model", "modelname")
FACET_NAMES = ("facet", "subtopic", "subtopicid", "intent", "aspect", "iteration", "iter")
SPACES = " \t\r"
CURE = "Subtract one number from all of the query's, or give small integers in the same order."
EXACT = 2.0**53  # from here on a double does not represent every integer
INTEGER = r"^[+-]?0*([0-9]+)(?:\.0*)?$"
EXAMPLES = {
    "query_id": "query_id, query-id, qid, topic, query, question",
    "doc_id": "doc_id, docid, docno, corpus-id, pid",
    "score": "score, sim (or rank alone)",
    "grade": "grade, relevance, label, rel, score",
    "facet": "facet, subtopic, intent, iteration",
}


def _names(kind: Kind, facets: bool) -> dict[str, tuple[str, ...]]:
    names = {"query_id": QUERY_NAMES, "doc_id": DOC_NAMES}
    if kind == "run":
        return names | {"score": SCORE_NAMES, "rank": RANK_NAMES}
    return names | {"grade": GRADE_NAMES} | ({"facet": FACET_NAMES} if facets else {})


def squash(name: str) -> str:
    """Leave out of a column name what people write differently.

    >>> squash("Query-ID ")
    'queryid'
    """
    return "".join(c for c in name.strip().lower() if c not in "_-. ")


def find_columns(header: Sequence[str], kind: Kind, facets: bool = False) -> dict[str, str]:
    """Match the columns of a table with the canonical names.

    >>> find_columns(["query-id", "corpus-id", "score"], "judgments")
    {'query_id': 'query-id', 'doc_id': 'corpus-id', 'grade': 'score'}

    Returns:
        the column of the table for each canonical name found.
    """
    squashed = {squash(column): column for column in reversed(_without_terrier(header))}  # the first of equal names
    return {
        canonical: next(squashed[name] for name in names if name in squashed)
        for canonical, names in _names(kind, facets).items()
        if not squashed.keys().isdisjoint(names)
    }


def run_column(header: Sequence[str]) -> str | None:
    """The column that names the run of each row; None where there is none.

    >>> run_column(["Run ID", "qid", "docno", "score"])
    'Run ID'
    """
    squashed = {squash(column): column for column in reversed(header)}
    return next((squashed[name] for name in RUN_NAMES if name in squashed), None)


def _without_terrier(header: Sequence[str]) -> Sequence[str]:
    """The columns without docid where docno is present: in PyTerrier's frames docid is an internal number.

    >>> _without_terrier(["qid", "docid", "docno", "score"])
    ['qid', 'docno', 'score']
    """
    both = {"docid", "docno"} <= {column.strip() for column in header}
    return [column for column in header if column.strip() != "docid"] if both else header


def refuse_repeated_columns(header: Sequence[str], kind: Kind, facets: bool, place: Place) -> None:
    """Refuse a table that has a required column twice, under one name or as qid and query_id.

    Raises:
        InputError: it does.
    """
    squashed = [squash(column) for column in header]
    for canonical, column in find_columns(header, kind, facets).items():
        if squashed.count(squash(column)) > 1:
            raise place.error(
                f"the column {column!r} is there twice. There must be one {canonical}. "
                f"Got: {_describe_header(header)}. Remove or rename one."
            )
        same = [column for column in _without_terrier(header) if squash(column) in ID_NAMES.get(canonical, ())]
        if len(same) > 1:
            raise place.error(
                f"the columns {same[0]!r} and {same[1]!r} both name the {canonical}. There must be one {canonical}. "
                f"Got: {_describe_header(header)}. Remove or rename one."
            )


def looks_like_header(fields: Sequence[str]) -> bool:
    """Tell a line of column names from a line of data: a known name, and no number among the fields.

    >>> looks_like_header(["query-id", "corpus-id", "score"]), looks_like_header(["topic", "Q0", "doc", "1"])
    (True, False)
    """
    known = {*QUERY_NAMES, *DOC_NAMES, *SCORE_NAMES, *GRADE_NAMES, *RANK_NAMES}
    return any(squash(f) in known for f in fields) and not any(_is_number(f) for f in fields)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def pick_columns(header: Sequence[str], kind: Kind, place: Place, facets: bool = False) -> dict[str, str]:
    """Find every column that a table of this kind needs.

    Raises:
        InputError: a column is missing, or the table is of the other kind.
    """
    refuse_repeated_columns(header, kind, facets, place)
    found = find_columns(header, kind, facets)
    _refuse_other_kind(header, found, kind, place)
    value = value_column(kind)
    needed = ["query_id", "doc_id", *(["facet"] if facets else []), *([] if "rank" in found else [value])]
    for name in needed:
        if name not in found:
            raise place.error(
                f"no column for the {name}. It must be called one of: {EXAMPLES[name]}. "
                f"Got: {_describe_header(header)}. Rename the column."
            )
    return found


def _refuse_other_kind(header: Sequence[str], found: dict[str, str], kind: Kind, place: Place) -> None:
    """Refuse files in the wrong order; "score" tells nothing, for BEIR calls the grades of its judgments so."""
    squashed = [squash(column) for column in header]
    if kind == "run":
        wrong = not {"score", "rank"} & found.keys() and any(name in GRADE_NAMES for name in squashed)
    else:
        wrong = squash(found.get("grade", "score")) == "score" and any(name in RANK_NAMES for name in squashed)
    if wrong:
        raise place.error(
            f"the columns ({_describe_header(header)}) are those of {_article(other_kind(kind))}. "
            f"Expected {_article(kind)}. Check the order of the files."
        )


def _describe_header(header: Sequence[str]) -> str:
    """The names of the columns, fit to be printed."""
    return ", ".join(header)[:300].encode(errors="backslashreplace").decode()


def _article(kind: Kind) -> str:
    return "a run" if kind == "run" else "judgments"


def as_ids(column: pl.Series, name: str, source: str) -> pl.Series:
    """Turn a column of ids into strings; integers are written in decimal.

    Raises:
        InputError: the column holds floats, booleans or anything else that is not an id.
    """
    if column.dtype == pl.String:
        return column.alias(name)
    if column.dtype.is_integer() or column.dtype in (pl.Categorical, pl.Enum, pl.Null):
        return column.cast(pl.String).alias(name)
    reason = "; a float has lost the id as it was written" if column.dtype.is_float() else ""
    raise Place(source).error(
        f"the column {column.name!r} of {name} holds {column.dtype}. Ids must be strings or integers{reason}. "
        "Read the column as strings."
    )


def as_numbers(column: pl.Series, name: str, source: str) -> pl.Series:
    """Convert a column of numbers, or of their text, to Float64; unparsable values become null.

    Raises:
        InputError: the column holds something that is not a number.
    """
    if column.dtype == pl.String:
        return column.str.strip_chars(SPACES).cast(pl.Float64, strict=False).alias(name)
    if column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null):
        return column.cast(pl.Float64).alias(name)
    raise Place(source).error(
        f"the column {column.name!r} of {name} holds {column.dtype}. It must hold numbers. Convert it."
    )


def may_have_lost_values(numbers: pl.Series) -> bool:
    """Tell whether a number is infinite, 0, or at least 2^53.

    A double represents nothing above 1.8e308, nothing below 4.9e-324, and not every integer from 2^53 on.

    >>> [may_have_lost_values(pl.Series([value])) for value in (0.5, 0.0, 2.0**53)]
    [False, True, True]
    """
    return bool((numbers == 0).any()) or has_large(numbers.to_numpy())


def has_large(numbers: NDArray[np.float64]) -> bool:
    """Tell whether a number is at least 2^53, where a double does not represent every integer.

    >>> has_large(np.array([0.5, -(2.0**53)])), has_large(np.array([2.0**53 - 1])), has_large(np.array([]))
    (True, False, False)
    """
    return bool(numbers.size) and bool(np.fmax.reduce(numbers) >= EXACT or np.fmin.reduce(numbers) <= -EXACT)


def loses_values(numbers: pl.Series, texts: pl.Series) -> bool:
    """Tell whether a finite number became infinite, one other than 0 became 0, or an integer may have been rounded.

    >>> [loses_values(pl.Series([0.0]), pl.Series([text])) for text in ("0.00", "1e-999")]
    [False, True]
    """
    rounded = (numbers.abs() >= EXACT) & texts.str.contains(INTEGER)
    return bool((_find_overflow(numbers, texts) | _find_underflow(numbers, texts) | rounded).any())


def _find_overflow(numbers: pl.Series, texts: pl.Series) -> pl.Series:
    return numbers.is_infinite() & ~texts.str.contains(r"(?i)inf")  # "inf", "Infinity": intended


def _find_underflow(numbers: pl.Series, texts: pl.Series) -> pl.Series:
    return (numbers == 0) & texts.str.contains("^[^eE]*[1-9]")  # a digit other than 0 before the exponent


def check_lost_values(numbers: pl.Series, texts: pl.Series, table: RowTable) -> tuple[str, ...]:
    """Compare infinite numbers and zeros with their text.

    Returns:
        a note where a number other than 0 became 0.

    Raises:
        InputError: a finite number became infinite.
    """
    overflown = _find_overflow(numbers, texts)
    if overflown.any():
        row = int(overflown.arg_max() or 0)
        raise table.error(
            row,
            f"the {numbers.name} {texts[row][:40]!r} is too large for a double (1.8e308). Write inf if it is meant.",
        )
    vanished = _find_underflow(numbers, texts)
    if not vanished.any():
        return ()
    row = int(vanished.arg_max() or 0)
    return (
        f"{table.place(row)}: {vanished.sum()} {numbers.name}s are too small for a double and count as 0, for "
        f"instance {texts[row][:40]!r}",
    )


def refuse_equal_integers(numbers: pl.Series, written: pl.Series, queries: pl.Series, table: RowTable) -> None:
    """Refuse two different integers of one query that became the same double: they would tie.

    Args:
        numbers: [row] Float64.
        written: [row] the same numbers as text, integers or decimals; null where one is not known exactly.
        queries: [row] their queries.
        table: knows where each row is.

    Raises:
        InputError: two are equal as doubles.
    """
    rows = (numbers.is_finite() & (numbers.abs() >= EXACT)).arg_true()
    if rows.is_empty():
        return
    texts = written.gather(rows).cast(pl.String).str.strip_chars(SPACES)
    # Equal doubles have equal signs, so the digits are enough to distinguish integers.
    found = pl.DataFrame(
        {
            "row": rows,
            "query": queries.gather(rows),
            "number": numbers.gather(rows),
            "text": texts,
            "digits": texts.str.extract(INTEGER, 1),
        }
    ).drop_nulls("digits")
    first = [pl.col(name).first().over("query", "number").alias(f"first_{name}") for name in ("row", "text", "digits")]
    wrong = found.with_columns(first).filter(pl.col("digits") != pl.col("first_digits")).head(1)
    for at in wrong.iter_rows(named=True):
        other = "" if table.line is None else f" (line {table.line(at['first_row'])})"
        raise table.error(
            at["row"],
            f"the {numbers.name}s {at['text'][:40]} and {at['first_text'][:40]}{other} of query {at['query']!r} are "
            f"the same double, for integers beyond 2^53 are rounded, and would tie. {CURE}",
        )
