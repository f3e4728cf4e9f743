"""The audit on the page of a golden set says how far people came, by stratum, and where they differ from the judge."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.golden import audited_world

from trueval.golden.views.audit_block import audit_block
from trueval.report.page_content import PageTable
from trueval.report.result_directory import Directory


def cells(table: PageTable) -> list[list[str]]:
    return [[str(cell.text) for cell in row.cells] for row in table.rows]


@pytest.fixture
def world(tmp_path: Path) -> audited_world.World:
    found = audited_world.written(tmp_path, design="documents", sampled=40, answered=50)
    lines = [
        {"query": query, "document": document, "grade": grade, "labels": []}
        for query, graded in found.judge.items()
        for document, grade in graded.items()
    ]
    (found.golden / "labels.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return found


def test_progress_and_grades_are_those_of_the_files(world: audited_world.World) -> None:
    (block,) = audit_block(Directory(world.golden, ()), "labels.jsonl")
    progress, grades = map(cells, block.tables)
    sample = json.loads((world.audit / "sample.json").read_text())
    items = [json.loads(line) for line in (world.audit / "items.jsonl").read_text().splitlines()]
    drawn = Counter(each["stratum"] for each in items)
    graded = Counter(each["stratum"] for each in items[:50])
    assert [[row[0], *map(int, row[1:])] for row in progress] == [
        [each["name"], each["population"], drawn[each["name"]], graded[each["name"]], 0] for each in sample["strata"]
    ]
    pairs = Counter(
        (world.judge[each["query"]][each["document"]], world.truth[each["query"]][each["document"]])
        for each in items[:50]
    )
    shown = {
        (int(row[0]), grade): int(row[1 + at])
        for row in grades
        for at, grade in enumerate((5, 4, 3, 2, 1))
        if row[1 + at].isdigit()
    }
    assert shown == dict(pairs)
    same = sum(count for (judge, people), count in pairs.items() if judge == people)
    assert f"graded 50 of {len(items)} passages" in str(block.words)
    assert f"the same grade to {same / 50:.2%}" in str(block.words)


def test_a_golden_set_without_an_audit_has_no_block_and_a_damaged_one_says_so(world: audited_world.World) -> None:
    (world.audit / "items.jsonl").write_text("{")
    (block,) = audit_block(Directory(world.golden, ()), "labels.jsonl")
    assert "items.jsonl" in str(block.words)
    assert not block.tables
    (world.audit / "sample.json").unlink()
    assert not list(audit_block(Directory(world.golden, ()), "labels.jsonl"))
