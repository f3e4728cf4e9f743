"""The view of live retrieval: each answer in words, and every number of the page where it says."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.extras import need

from trueval.report.formats import to_json
from trueval.report.kinds import find
from trueval.report.result_directory import Directory, ResultFile
from trueval.retrieval.live.live import retrieve_live
from trueval.retrieval.live.live_result import LiveChanges, LiveMeasure, LiveQuery, LiveResult

need("altair", extra="report")

SEVERAL = retrieve_live(lambda text: {"a": 2.0, "b": 2.0}, {"q": "x", "r": "y"}, 2, repeats=2).result
ONE = retrieve_live(lambda text: {"a": 2.0, "b": 2.0}, {"q": "x"}, 2, judgments={"q": {"a": 1}}).result
CHANGED = replace(
    SEVERAL,
    changes=LiveChanges(1, 1, 0, 0, 0.0, 1),
    measures={"RR@2": LiveMeasure(0.75, 0.5, 1.0, (0.5, 1.0))},
    cases=(LiveQuery("q", 2, 1, 0, 3, 1), LiveQuery("r", 2, 0, 1, 0, 0)),
)
SAID = {
    "one call": (ONE, "listed 2 documents for 1 query; 100.00% of them have the score of another one of their list."),
    "the same": (SEVERAL, "All 2 calls of retriever gave the same lists for 2 queries."),
    "differ": (CHANGED, "for 2 of 2 queries: only among equal scores in 1, otherwise in 1."),
    "in another order": (
        replace(SEVERAL, changes=LiveChanges(0, 0, 1, 0, 0.0, 0)),
        "listed the same documents, in another order for 1 query.",
    ),
    "a cut": (CHANGED, "k = 2 cuts a group of equal scores in 1 query, of which other calls list more."),
    "a measure": (CHANGED, "RR@2 as listed is from 0.5000 to 1.0000, by the call."),
    "an open end": (ONE, "1 list ends with several documents of one score, so k may cut a group."),
}


@pytest.mark.parametrize(("result", "said"), SAID.values(), ids=SAID)
def test_the_answer_is_a_sentence(result: LiveResult, said: str) -> None:
    assert said in " ".join(repr(result).split())


@pytest.mark.parametrize("result", [ONE, SEVERAL, CHANGED], ids=["one", "several", "changed"])
def test_every_format_and_the_page_come_of_the_json_alone(result: LiveResult, tmp_path: Path) -> None:
    data = json.loads(to_json(result.to_dict()))
    assert LiveResult.from_dict(data).to_dict() == result.to_dict()
    kind = find("live")
    assert kind is not None
    assert kind.page is not None
    assert all(kind.write(data, form) for form in ("csv", "markdown", "latex", "json"))
    file = ResultFile("live.json", "live", data)
    part = kind.page(file, Directory(tmp_path, (file,)))
    assert part.title == "Live retrieval"
