"""The page and the sentences of cuts: every number names where it is in cuts.json, and says what it should."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from tests.extras import need

from trueval.report.formats import to_json
from trueval.report.page_content import Number, Part
from trueval.report.result_directory import Directory, ResultFile
from trueval.retrieval.cuts.cut_audit import Cuts, cut_runs
from trueval.retrieval.views.cuts import widest
from trueval.retrieval.views.cuts_page import build
from trueval.retrieval.views.cuts_sentences import advice, lines, of_calls, plain, sentences

need("altair", extra="report")


def made(**changed: Any) -> Cuts:
    rng = np.random.default_rng(6)
    judged = {f"q{q}": {f"d{d}": int(rng.integers(0, 4)) for d in range(12)} for q in range(8)}
    one, two = ({f"q{q}": {f"d{d}": float(-(d // 3)) for d in order(rng)} for q in range(8)} for _ in range(2))
    given = {"judgments": judged, "measures": "R(rel=2)@4 nDCG(gain='exp')@4", "texts": {}} | changed
    return cut_runs([one, two], 4, **given)


def order(rng: np.random.Generator) -> list[int]:
    return sorted(rng.permutation(12).tolist(), key=lambda d: d // 3)


def page(found: Cuts, **changed: Any) -> tuple[Part, dict[str, Any]]:
    data = json.loads(to_json(found.to_dict())) | changed
    file = ResultFile("cuts.json", "cuts", data)
    return build(file, Directory(Path(), (file,))), data


def found_at(data: Any, pointer: str) -> Any:
    for key in pointer.split("/")[1:]:
        data = data[int(key)] if isinstance(data, list) else data[unquote(key)]
    return data


def numbers(part: Part) -> Iterator[Number]:
    for words in (part.verdict, *part.summary, *part.advice):
        yield from (word for word in words if isinstance(word, Number))


def test_every_number_of_the_page_is_where_it_says():
    part, data = page(made())
    told = list(numbers(part))
    assert len(told) >= 8
    for number in told:
        assert found_at(data, unquote(number.source).partition("#")[2]) == number.value
    tables = [table for block in part.blocks for table in block.tables]
    assert [table.id for table in tables] == ["cut-measures", "cut-queries"]
    for table in tables:
        for row in table.rows:
            for column, cell in zip(table.columns, row.cells, strict=True):
                if column.field:
                    assert found_at(data, unquote(row.source) + column.field) == cell.value


def test_a_page_without_judgments_calls_or_cuts():
    part, _ = page(made(judgments=None, measures=None))
    assert [block.id for block in part.blocks] == ["cut-by-query"]
    assert part.verdict[-1] == " of the context is left to the engine's choice."
    run = {f"q{q}": {f"d{d}": float(-d) for d in range(6)} for q in range(3)}
    part, data = page(cut_runs([run], 2, judgments={"q0": {"d1": 1}}))
    assert part.verdict[0] == "In none of "
    assert [block.id for block in part.blocks] == ["cut-costs"]
    titles = [column.title for column in part.blocks[0].tables[0].columns]
    ranges = ["range by the cut", "range by ties above it"]
    assert titles == ["measure", "expected", "lowest", "highest", "range", *ranges]
    assert not list(advice(data))


def test_the_widest_queries_come_first():
    found = made().to_dict()
    spread = [
        value["highest"] - value["lowest"]
        for at in widest(found)
        if (value := found["cuts"][at]["measures"]["R(rel=2)@4"])
    ]
    assert spread == sorted(spread, reverse=True)
    assert len(spread) == 8


def test_what_is_advised_follows_what_was_found():
    found = made().to_dict()
    causes = {"cuts": {"index or format": 3, "identical texts": 2, "fusion": 3}, "decided_by_exact_scores": 3}
    told = [plain(line) for line in advice(found | {"causes": causes})]
    assert [line.split()[0] for line in told] == ["Score", "Leave", "Order", "Fetch"]
    assert "3 of 8 cuts" in told[0]
    assert "2 cuts are" in told[1]
    assert f"Fetch {found['summary']['depth_needed']} documents" in told[-1]
    assert [plain(line).split()[0] for line in advice(found | {"causes": None})] == ["Fetch"]
    assert sum(line.startswith("To change: ") for line in lines(found | {"causes": causes})) == 4


def test_calls_are_told_in_words():
    calls = {
        "number": 3,
        "differed_by_ties": 2,
        "differed_otherwise": 1,
        "reordered": 1,
        "rescored": 4,
        "largest_change": None,
        "deeper": 5,
        "expected_to_differ": 2.25,
    }
    told = " ".join(map(plain, of_calls({"calls": calls, "summary": {"open": 0}})))
    for words in ("2 queries other documents", "2.2 are expected", "not deterministic", "4 queries got other scores"):
        assert words in told
    assert "largest" not in told
    quiet = dict.fromkeys(calls, 0) | {"number": 3, "expected_to_differ": 0.0}
    assert not list(of_calls({"calls": quiet, "summary": {"open": 0}}))
    assert any("list ends inside" in plain(line) for line in sentences(made().to_dict() | {"summary": open_summary()}))


def open_summary() -> dict[str, Any]:
    return made().to_dict()["summary"] | {"open": 2}
