"""The audit section of a golden set's page: progress, and people's grades by the judge's grade."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from trueval.comparison.labels.audit_batches import KEYS
from trueval.comparison.labels.audit_sample import ITEMS, SAMPLE, AuditSample
from trueval.errors import InputError
from trueval.golden.audit.sampling.sample_drawing import FOLDER
from trueval.golden.build.stage_files import read_lines
from trueval.golden.refine.aggregate import GRADES
from trueval.report.number_texts import count_phrase, format_value, percent
from trueval.report.page_content import Block
from trueval.report.result_directory import Directory, ResultFile
from trueval.report.units import COUNT, NAME
from trueval.report.view import AnySheet, Column, Section, Sheet
from trueval.report.view_page import block_of


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
    words = _describe_audit(audited, given)
    files: dict[str, list[AnySheet]] = {SAMPLE: [_progress(audited, folder)], ITEMS: [*_confusion(given)]}
    blocks = [
        block_of(Section(title, sheets, words, id="golden-audit"), ResultFile(f"{FOLDER}/{name}", "audit", {}), sheets)
        for name, sheets in files.items()
    ]
    yield replace(blocks[0], tables=tuple(table for block in blocks for table in block.tables))


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
        "agree weighs them, and trueval golden correct corrects measures."
    )


def _both(audited: AuditSample, labels: Path) -> pl.DataFrame:
    """query_id, doc_id, the judge's grade, and people's grade."""
    rows = [(each["query"], each["document"], each["grade"]) for each in read_lines(labels)] if labels.is_file() else []
    schema = {"query_id": pl.String, "doc_id": pl.String, "grade": pl.Float64}
    judged = pl.DataFrame(rows, schema=schema, orient="row").drop_nulls("grade")
    return audited.labels.rename({"grade": "said"}).join(judged, on=list(KEYS), how="inner", maintain_order="left")


class _Stratum(NamedTuple):
    """A stratum, and how far people came in it."""

    name: str
    population: int
    drawn: int
    graded: int
    skipped: int


class _Graded(NamedTuple):
    """A grade of the judge, and how many passages people gave each grade."""

    judge: float
    people: Mapping[float, int]


PROGRESS: Final[tuple[Column[_Stratum], ...]] = (
    Column("stratum", lambda row: row.name, NAME),
    Column("judged", lambda row: row.population, COUNT),
    Column("drawn", lambda row: row.drawn, COUNT),
    Column("graded", lambda row: row.graded, COUNT),
    Column("skipped", lambda row: row.skipped, COUNT),
)


def _progress(audited: AuditSample, folder: Path) -> Sheet[_Stratum]:
    keys = list(KEYS)
    graded = audited.items.join(audited.labels.select(keys), on=keys, how="semi")["stratum"].to_list()
    skipped = [
        stratum for *ids, stratum in audited.items.select(*keys, "stratum").rows() if tuple(ids) in audited.skipped
    ]
    counts = [Counter(strata) for strata in (audited.items["stratum"].to_list(), graded, skipped)]
    strata = json.loads((folder / SAMPLE).read_text(encoding="utf-8"))["strata"]
    rows = [_Stratum(each["name"], each["population"], *(count[each["name"]] for count in counts)) for each in strata]
    unit = "queries" if audited.design == "queries" else "passages"
    title = f"How far the audit is: {unit} that were judged, and passages drawn, graded and skipped, by stratum"
    return Sheet(title, rows, PROGRESS, folded=len(rows) > 12, id="golden-audit-strata")


def _confusion(given: pl.DataFrame) -> Iterator[Sheet[_Graded]]:
    if not len(given):
        return
    counts = Counter(zip(given["grade"].to_list(), given["said"].to_list(), strict=True))
    said = sorted(set(given["said"].to_list()) | set(map(float, GRADES)), reverse=True)
    columns: list[Column[_Graded]] = [
        Column("the judge gave", lambda row: f"{row.judge:g}", NAME),
        *(_people(grade) for grade in said),
    ]
    judged = sorted(set(given["grade"].to_list()), reverse=True)
    rows = [_Graded(grade, {each: counts[grade, each] for each in said}) for grade in judged]
    title = "Passages by the judge's grade and by people's, as they are in the sample"
    yield Sheet(title, rows, columns, id="golden-audit-grades")


def _people(grade: float) -> Column[_Graded]:
    return Column(f"people {grade:g}", lambda row: row.people[grade] or None, COUNT)
