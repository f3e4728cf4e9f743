"""The result kind of `trueval evaluate`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from trueval.evaluation.evaluation_result import Evaluation
from trueval.report.formats import json_parts
from trueval.report.kinds import kind_of_view, late

if TYPE_CHECKING:
    from trueval.evaluation.views.rows import CsvRows


def csv_parts(data: Mapping[str, object]) -> Iterator[str]:
    """The CSV of an evaluation in parts, for values of many queries."""
    from trueval.report import view_texts

    return view_texts.csv_parts(_rows(data).sheet())


def trec_parts(data: Mapping[str, object]) -> Iterator[str]:
    """The lines of an evaluation in trec_eval's format, in parts."""
    from trueval.evaluation.views import rows

    return rows.trec_parts(_rows(data, means_first=False))


def _rows(data: Mapping[str, object], *, means_first: bool = True) -> CsvRows:
    from trueval.evaluation.corrected_evaluation import CorrectedEvaluation
    from trueval.evaluation.views.rows import CsvRows, corrected_rows

    result = CorrectedEvaluation.from_dict(data)
    return CsvRows(result, corrected_rows(result), means_first)


_DECLARED = kind_of_view(
    Evaluation.KIND,
    "trueval.evaluation.corrected_evaluation:CorrectedEvaluation",
    "trueval.evaluation.views.evaluation:view",
    format=Evaluation.FORMAT,
    order=10,
    stem="results",
)
EVALUATE = _DECLARED._replace(
    text={**_DECLARED.text, "trec": lambda data: "".join(trec_parts(data))},
    parts={"json": json_parts, "csv": csv_parts, "trec": trec_parts},
    files={"results.json": "json", "results.csv": "csv", "results.md": "markdown"},
    figures=late("trueval.evaluation.views.paper:write_paper"),
    # Scores show themselves shorter: one run, a line for each measure.
    console=late("trueval.evaluation.views.printed:console"),
    notebook=late("trueval.evaluation.views.printed:html"),
)
