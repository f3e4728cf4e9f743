"""Label files: an invalid label is refused with its line number, or skipped on request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from trueval.errors import InputError, PolicyError
from trueval.files import RowTable, check_rows, read_table
from trueval.golden.validation.agreement_result import LabelOrigin, OmittedLabels
from trueval.judgments import judgments_file

Duplicates: TypeAlias = Literal["refuse", "first", "last", "drop"]
Outside: TypeAlias = Literal["refuse", "drop"]
DUPLICATES: Final[tuple[Duplicates, ...]] = ("refuse", "first", "last", "drop")
OUTSIDE: Final[tuple[Outside, ...]] = ("refuse", "drop")


class LabelChoices(NamedTuple):
    """Treatment of invalid labels.

    Attributes:
        duplicates: treatment of a pair that occurs twice in a file: refuse, keep the first or the last line, or drop
            both.
        outside: treatment of a grade outside the scale: refuse, or drop.
        scale: lowest and highest grade; None for those of the people.
    """

    duplicates: Duplicates = "refuse"
    outside: Outside = "refuse"
    scale: tuple[float, float] | None = None

    def validate(self) -> LabelChoices:
        """The choices, validated.

        Raises:
            PolicyError: a choice is none.
        """
        for name, value, accepted in (
            ("duplicates", self.duplicates, DUPLICATES),
            ("outside", self.outside, OUTSIDE),
        ):
            if value not in accepted:
                raise PolicyError(f"{name} must be one of {', '.join(accepted)}. Got {value!r}.")
        return self


class FileLabels(NamedTuple):
    """The labels of one file.

    Attributes:
        name: name of the judge, or "people".
        frame: columns query_id, doc_id, grade; each pair once, every grade on the scale.
        duplicates: number of lines left out as duplicates.
        outside: number of labels left out as off the scale.
        unjudged: number of lines with a grade below 0, which means unjudged.
    """

    name: str
    source: str
    frame: pl.DataFrame
    duplicates: int = 0
    outside: int = 0
    unjudged: int = 0

    def describe_source(self) -> LabelOrigin:
        """The file, as results have it."""
        from trueval.report.provenance import strip_folders

        queries = self.frame["query_id"].n_unique()
        omitted = OmittedLabels(self.duplicates, self.outside, self.unjudged)
        return LabelOrigin(self.name, strip_folders(self.source), self.frame.height, queries, omitted)


def read_labels(path: str | Path, name: str, how: LabelChoices, scale: tuple[float, float] | None) -> FileLabels:
    """Read the labels of one file.

    Args:
        path: judgments in any form that `Judgments.read` accepts.
        how: treatment of invalid labels.
        scale: lowest and highest grade; None accepts every grade from 0 up.

    Raises:
        InputError: the file is bad, a pair is there twice, or a grade is not on the scale; with the line.
    """
    table, _ = read_table(judgments_file(str(path)), "judgments")
    table = table._replace(frame=table.whole(), stretches=None)
    read = table.frame.height
    if how.duplicates != "refuse":
        table = _filter_rows(table, _once(table.frame, how.duplicates))
    duplicates, given = read - table.frame.height, table.frame["grade"]
    least = 0.0 if scale is None else min(scale[0], 0.0)
    table = _filter_rows(table, (given >= least).fill_null(value=True))
    judged, grades = table.frame.height, table.frame["grade"]
    if scale is not None:
        table = _filter_rows(table, _on_scale(table, grades, how, scale))
    if table.frame.height:
        # The rest must be valid judgments: ids, numbers, no pair twice.
        frame = check_rows(table, "judgments").table.whole()
    else:
        raise InputError(f"{table.source}: no labels are left. Check the scale, and that it holds judgments.")
    frame = frame.select("query_id", "doc_id", "grade")
    unjudged = read - duplicates - judged
    return FileLabels(name, str(path), frame, duplicates, judged - table.frame.height, unjudged)


def scale_of(frame: pl.DataFrame) -> tuple[float, float]:
    """The lowest and highest grade of some labels."""
    return float(frame["grade"].min() or 0.0), float(frame["grade"].max() or 0.0)  # type: ignore[arg-type]


def _once(frame: pl.DataFrame, duplicates: str) -> pl.Series:
    pairs = pl.struct("query_id", "doc_id")
    chosen = {
        "first": pairs.is_first_distinct(),
        "last": pairs.is_last_distinct(),
        "drop": pairs.is_unique(),
    }[duplicates]
    return frame.select(chosen.alias("kept"))["kept"]


def _on_scale(table: RowTable, grades: pl.Series, how: LabelChoices, scale: tuple[float, float]) -> pl.Series:
    inside = grades.is_between(*scale).fill_null(value=True)  # the checks refuse anything that is not a number
    if how.outside == "refuse" and not inside.all():
        row = int((~inside).arg_max() or 0)
        pair = table.frame.row(row, named=True)
        raise table.error(
            row,
            f"the grade {pair['grade']:g} of document {pair['doc_id']!r} in query {pair['query_id']!r} is outside the "
            f"scale, {scale[0]:g} to {scale[1]:g}. Correct it, name another scale (--scale), or leave such labels out "
            "(--outside drop).",
        )
    return inside


def _filter_rows(table: RowTable, kept: pl.Series) -> RowTable:
    """The table without some rows; line numbers are kept."""
    if kept.all():
        return table
    places, before = np.flatnonzero(kept.to_numpy()), table.line
    line: Callable[[int], int] | None = None if before is None else lambda row: before(int(places[row]))
    return table._replace(frame=table.frame.filter(kept), line=line)
