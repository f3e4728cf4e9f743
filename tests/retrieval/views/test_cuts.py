"""The view of cuts: every number names where it is in cuts.json, and sentences say what was found."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from tests.extras import need

from trueval.report.formats import to_json
from trueval.report.number_texts import FRACTIONS
from trueval.report.page_content import Number, Part
from trueval.report.result_directory import Directory, ResultFile
from trueval.report.view import Sentence
from trueval.report.view_texts import write
from trueval.retrieval.cuts.cut_audit import Cuts, cut_runs
from trueval.retrieval.cuts.cuts_result import CallCounts, CauseCounts
from trueval.retrieval.views.cuts import advise, describe_calls, view, widest
from trueval.retrieval.views.kind import CUTS

need("altair", extra="report")


def made(**changed: Any) -> Cuts:
    rng = np.random.default_rng(6)
    judged = {f"q{q}": {f"d{d}": int(rng.integers(0, 4)) for d in range(12)} for q in range(8)}
    one, two = ({f"q{q}": {f"d{d}": float(-(d // 3)) for d in order(rng)} for q in range(8)} for _ in range(2))
    given = {"judgments": judged, "measures": "R(rel=2)@4 nDCG(gain='exp')@4", "texts": {}} | changed
    return cut_runs([one, two], 4, **given)


def order(rng: np.random.Generator) -> list[int]:
    return sorted(rng.permutation(12).tolist(), key=lambda d: d // 3)


def page(found: Cuts) -> tuple[Part, dict[str, Any]]:
    data = json.loads(to_json(found.to_dict()))
    file = ResultFile("cuts.json", "cuts", data)
    assert CUTS.page is not None
    return CUTS.page(file, Directory(Path(), (file,))), data


def found_at(data: Any, pointer: str) -> Any:
    for key in pointer.split("/")[1:]:
        data = data[int(key)] if isinstance(data, list) else data[unquote(key)]
    return data


def numbers(part: Part) -> Iterator[Number]:
    assert part.answer is not None
    for words in (part.answer.sentence, part.answer.sure, part.answer.change, *part.said):
        yield from (word for word in words if isinstance(word, Number))


def test_every_number_of_the_page_is_where_it_says():
    part, data = page(made())
    told = list(numbers(part))
    assert len(told) >= 8
    for number in told:
        assert found_at(data, unquote(number.source).partition("#")[2]) == number.value
    tables = [table for block in part.blocks for table in block.tables]
    assert [table.id for table in tables] == ["cut-measures", "cut-queries"]
    checked = 0
    for table in tables:
        for row in table.rows:
            for column, cell in zip(table.columns, row.cells, strict=True):
                if column.field or cell.source:
                    source = unquote(row.source) + column.field if column.field else unquote(cell.source)
                    assert found_at(data, source) == cell.value
                    checked += 1
    assert checked >= 2 * 8 + 8 * 5


def test_a_page_without_judgments_calls_or_cuts():
    part, _ = page(made(judgments=None, measures=None))
    assert part.answer is not None
    assert [block.id for block in part.blocks] == ["cut-by-query"]
    assert part.answer.sentence[-1] == " of the context is left to the engine's choice."
    assert part.answer.next == "trueval cuts --runs RUN --qrels QRELS -k 4"
    run = {f"q{q}": {f"d{d}": float(-d) for d in range(6)} for q in range(3)}
    found = cut_runs([run], 2, judgments={"q0": {"d1": 1}})
    part, _ = page(found)
    assert part.answer is not None
    assert part.answer.sentence[0] == "In none of "
    assert (part.answer.change, part.answer.next) == ((), "")
    assert [block.id for block in part.blocks] == ["cut-costs"]
    titles = [column.title for column in part.blocks[0].tables[0].columns]
    assert titles == ["measure", "expected", "lowest", "highest", "range", "by the cut", "above it"]
    assert not list(advise(found.result()))


def test_the_widest_queries_come_first():
    spread = [
        value.high - value.low
        for cut in widest(made().result())
        if (value := cut.measures["R(rel=2)@4"].cut) and value.high is not None and value.low is not None
    ]
    assert spread == sorted(spread, reverse=True)
    assert len(spread) == 8


def text(sentence: Sentence) -> str:
    return write(sentence, FRACTIONS)


def test_what_is_advised_follows_what_was_found():
    found = made().result()
    causes = CauseCounts({"index or format": 3, "identical texts": 2, "fusion": 3}, 3)
    told = list(map(text, advise(replace(found, causes=causes))))
    assert [line.split()[0] for line in told] == ["Score", "Leave", "Order", "Fetch"]
    assert "3 of 8 cuts" in told[0]
    assert "2 cuts are" in told[1]
    assert f"Fetch {found.summary.depth_needed} documents" in told[-1]
    assert [text(line).split()[0] for line in advise(replace(found, causes=None))] == ["Fetch"]
    shown = view(replace(found, causes=causes))
    assert text(shown.answer.change) == told[0]
    assert [text(line) for line in shown.findings][-3:] == told[1:]


def test_calls_are_told_in_words():
    calls = CallCounts(
        number=3,
        differed_by_ties=2,
        differed_otherwise=1,
        reordered=1,
        rescored=4,
        largest_change=None,
        deeper=5,
        expected_to_differ=2.25,
    )
    told = " ".join(map(text, describe_calls(calls, least=False)))
    for words in ("2 queries other documents", "2.2 are expected", "not deterministic", "4 queries got other scores"):
        assert words in told
    assert "largest" not in told
    assert not list(describe_calls(CallCounts(3, 0, 0, 0, 0, 0.0, 0, 0.0), least=False))


def test_a_list_that_ends_inside_the_group_makes_the_answer_unsure():
    found = made().result()
    assert "exact over all choices" in text(view(found).answer.sure)
    opened = replace(
        found,
        summary=replace(found.summary, open=2),
        cuts=tuple(replace(cut, open=at < 2) for at, cut in enumerate(found.cuts)),
    )
    assert text(view(opened).answer.sure).startswith("In 2 queries the list ends inside the group")
    assert "+ the list ends inside the group" in repr(opened)
    assert "+ the list ends" not in repr(found)
