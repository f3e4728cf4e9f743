"""The result kind of `trueval evaluate`."""

from trueval.evaluation.evaluation_result import Evaluation
from trueval.report.formats import json_parts, to_json
from trueval.report.kinds import Kind, late

EVALUATE = Kind(
    Evaluation.KIND,
    format=Evaluation.FORMAT,
    order=10,
    text={
        "table": late("trueval.evaluation.views.table:table"),
        "json": to_json,
        "csv": late("trueval.evaluation.views.formats:to_csv"),
        "markdown": late("trueval.evaluation.views.formats:to_markdown"),
        "latex": late("trueval.evaluation.views.formats:to_latex"),
        "trec": late("trueval.evaluation.views.formats:to_trec"),
    },
    parts={
        "json": json_parts,
        "csv": late("trueval.evaluation.views.formats:csv_parts"),
        "trec": late("trueval.evaluation.views.formats:trec_parts"),
    },
    files={"results.json": "json", "results.csv": "csv", "results.md": "markdown"},
    page=late("trueval.evaluation.views.page:build"),
    figures=late("trueval.evaluation.views.paper:write_paper"),
    console=late("trueval.evaluation.views.printed:console"),
    notebook=late("trueval.evaluation.views.printed:html"),
)
