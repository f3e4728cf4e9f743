"""Writing runs and judgments: the formats that every tool reads, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import polars as pl

from trueval.errors import InputError
from trueval.files.atomic_files import write_whole

SHOWN: Final = 60  # maximum characters of an id in an error


def write_run(frame: pl.DataFrame, path: Path, tag: str) -> None:
    """Write rows of a run in the format of the file's suffix; the file appears once it is complete.

    Args:
        frame: columns query_id, doc_id and score.
        path: .parquet, .jsonl or .csv; anything else is TREC text.
        tag: last column of TREC text.

    Raises:
        InputError: TREC text cannot hold an id or the tag, because there is white space in it.
        OSError: the file cannot be written.
    """
    write = WRITERS.get(path.suffix.lower())
    frame = frame.select("query_id", "doc_id", "score")
    if write is None:
        frame, write = as_trec(frame, tag), write_trec
    write_whole(path, partial(write, frame))


def write_judgments(frame: pl.DataFrame, path: Path) -> None:
    """Write rows of judgments in the format of the file's suffix; the file appears once it is complete.

    Args:
        frame: columns query_id, doc_id and grade.
        path: .parquet, .jsonl or .csv; anything else is TREC text, with integer grades written without a point.

    Raises:
        InputError: TREC text cannot hold an id, because there is white space in it.
        OSError: the file cannot be written.
    """
    write = WRITERS.get(path.suffix.lower())
    frame = frame.select("query_id", "doc_id", "grade")
    if write is None:
        _refuse_blanks(frame)
        grade = pl.col("grade")
        whole = (grade == grade.round()).all()
        shown = pl.when(whole).then(grade.cast(pl.Int64).cast(pl.String)).otherwise(grade.cast(pl.String))
        frame, write = frame.select("query_id", pl.lit("0").alias("q0"), "doc_id", shown.alias("grade")), write_trec
    write_whole(path, partial(write, frame))


def as_trec(frame: pl.DataFrame, tag: str) -> pl.DataFrame:
    """The six columns of TREC text: query, Q0, document, rank, score, tag.

    Raises:
        InputError: an id or the tag is empty or holds white space.

    >>> as_trec(pl.DataFrame({"query_id": ["q"], "doc_id": ["d"], "score": [0.5]}), "mine").rows()
    [('q', 'Q0', 'd', 1, 0.5, 'mine')]
    """
    _refuse_blanks(frame, tag)
    rank = pl.col("score").rank("ordinal", descending=True).over("query_id")  # ties in the order of the rows
    return frame.select("query_id", pl.lit("Q0").alias("q0"), "doc_id", rank.alias("rank"), "score", tag=pl.lit(tag))


def _refuse_blanks(frame: pl.DataFrame, *texts: str) -> None:
    for text in (*texts, *_with_blanks(frame["query_id"]), *_with_blanks(frame["doc_id"])):
        if not text or text != "".join(text.split()):
            raise InputError(
                f"TREC text cannot hold {text[:SHOWN]!r}: columns are separated by white space. Write a .jsonl or a "
                ".parquet file."
            )


def write_trec(frame: pl.DataFrame, file: Path) -> None:
    """Write the columns of TREC text; scores in as few digits as give the same float64 again."""
    frame.write_csv(file, include_header=False, separator=" ", quote_style="never")


def _with_blanks(ids: pl.Series) -> list[str]:
    return ids.filter(ids.str.contains(r"\s") | (ids == "")).head(1).to_list()


WRITERS: Final[Mapping[str, Callable[[pl.DataFrame, Path], object]]] = {
    ".parquet": lambda frame, file: frame.write_parquet(file),
    ".jsonl": lambda frame, file: frame.write_ndjson(file),
    ".csv": lambda frame, file: frame.write_csv(file),
}
