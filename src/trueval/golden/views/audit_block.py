"""The audit section of a golden set's page: progress, and people's grades by the judge's grade."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from trueval.comparison.labels.audit_sample import ITEMS, KEYS, SAMPLE, AuditSample
from trueval.errors import InputError
from trueval.golden.audit.sampling.sample_drawing import FOLDER
from trueval.golden.build.stage_files import read_lines
from trueval.golden.refine.aggregate import GRADES
from trueval.report.number_texts import NOT_AVAILABLE, count_phrase, format_value, percent
from trueval.report.page_content import Block, PageColumn, Table, row_of
from trueval.report.result_directory import Directory, pointer

Entry = Mapping[str, Any]


def audit_block(directory: Directory, labels: str) -> Iterator[Block]:
    """The audit section; none where no audit exists.

    Args:
        directory: of the golden set.
        labels: its file of the judge's labels.
    """
    folder = directory.path / FOLDER
    if not (folder / SAMPLE).is_file():
        return
    title = "What people said of it"
    try:
        audited = AuditSample.read(folder)
    except InputError as error:
        yield Block("golden-audit", title, words=((str(error),),))
        return
    given = _both(audited, directory.path / labels)
    tables = (_progress(audited, folder), *_confusion(given))
    yield Block("golden-audit", title, words=((_describe_audit(audited, given),),), tables=tables)


def _describe_audit(audited: AuditSample, given: pl.DataFrame) -> str:
    told = (
        f"People graded {len(audited.labels):,} of {count_phrase(len(audited.items), 'passage', 'passages')} that were "
        f"drawn at random (design {audited.design}), and skipped {len(audited.skipped):,}."
    )
    if not len(given):
        return told
    judge, people = given["grade"].to_numpy(), given["said"].to_numpy()
    higher = float((judge - people).mean())
    way = "higher" if higher >= 0 else "lower"
    return (
        f"{told} On these the judge gave the same grade to {percent(float((judge == people).mean()))}, and "
        f"{format_value(abs(higher))} {way} in the mean; some strata are drawn more than others. trueval golden "
        "agree weighs "
        "them, and trueval golden correct corrects measures."
    )


def _both(audited: AuditSample, labels: Path) -> pl.DataFrame:
    """query_id, doc_id, the judge's grade, and people's grade."""
    rows = [(each["query"], each["document"], each["grade"]) for each in read_lines(labels)] if labels.is_file() else []
    schema = {"query_id": pl.String, "doc_id": pl.String, "grade": pl.Float64}
    judged = pl.DataFrame(rows, schema=schema, orient="row").drop_nulls("grade")
    return audited.labels.rename({"grade": "said"}).join(judged, on=list(KEYS), how="inner", maintain_order="left")


PROGRESS: Final = (
    PageColumn("stratum", "/name"),
    *(
        PageColumn(title, f"/{name}", numeric=True, show=lambda value: f"{value:,}")
        for title, name in (("judged", "population"), ("drawn", "drawn"), ("graded", "graded"), ("skipped", "skipped"))
    ),
)


def _progress(audited: AuditSample, folder: Path) -> Table:
    keys = list(KEYS)
    graded = audited.items.join(audited.labels.select(keys), on=keys, how="semi")
    skipped = [
        stratum for *ids, stratum in audited.items.select(*keys, "stratum").rows() if tuple(ids) in audited.skipped
    ]
    counts = {
        "drawn": Counter(audited.items["stratum"].to_list()),
        "graded": Counter(graded["stratum"].to_list()),
        "skipped": Counter(skipped),
    }
    strata = json.loads((folder / SAMPLE).read_text(encoding="utf-8"))["strata"]
    rows = tuple(
        row_of(
            pointer("strata", at),
            PROGRESS,
            {**each, **{name: count[each["name"]] for name, count in counts.items()}},
        )
        for at, each in enumerate(strata)
    )
    unit = "queries" if audited.design == "queries" else "passages"
    caption = f"How far the audit is: {unit} that were judged, and passages drawn, graded and skipped, by stratum."
    return Table("golden-audit-strata", (caption,), f"{FOLDER}/{SAMPLE}", PROGRESS, rows, folded=len(rows) > 12)


def _confusion(given: pl.DataFrame) -> Iterator[Table]:
    if not len(given):
        return
    counts = Counter(zip(given["grade"].to_list(), given["said"].to_list(), strict=True))
    said = sorted(set(given["said"].to_list()) | set(map(float, GRADES)), reverse=True)
    columns = (
        PageColumn("the judge gave", "/judge"),
        *(PageColumn(f"people {grade:g}", f"/{grade:g}", numeric=True, show=_count) for grade in said),
    )
    judged = sorted(set(given["grade"].to_list()), reverse=True)
    rows = tuple(
        row_of(
            pointer(at),
            columns,
            {"judge": f"{grade:g}", **{f"{each:g}": counts[grade, each] for each in said}},
        )
        for at, grade in enumerate(judged)
    )
    caption = "Passages by the judge's grade and by people's, as they are in the sample."
    yield Table("golden-audit-grades", (caption,), f"{FOLDER}/{ITEMS}", columns, rows)


def _count(value: int | None) -> str:
    return f"{value:,}" if value else NOT_AVAILABLE
