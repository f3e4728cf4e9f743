"""The files of engines in examples/live: each asks as its engine wants it, and reads what that answers."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.extras import need

from trueval.retrieval.live.direct_http import DirectResponse
from trueval.retrieval.live.engine_answer import documents_of
from trueval.retrieval.live.live_spec import open_live

need("httpx2", extra="hosted")

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "live"
# What each engine answers, by its documentation, shortened: two documents of one score.
ANSWERS: dict[str, Any] = {
    "opensearch": {
        "timed_out": False,
        "_shards": {"total": 1, "successful": 1, "failed": 0},
        "hits": {"total": {"value": 2}, "hits": [{"_id": "d1", "_score": 1.5}, {"_id": "d2", "_score": 1.5}]},
    },
    "qdrant": {
        "result": {
            "points": [
                {"id": 7, "version": 3, "score": 1.5, "payload": {"doc_id": "d1"}},
                {"id": 9, "version": 3, "score": 1.5, "payload": {"doc_id": "d2"}},
            ]
        },
        "status": "ok",
    },
    "vespa": {
        "root": {
            "id": "toplevel",
            "coverage": {"coverage": 100, "full": True},
            "children": [
                {"id": "index:c/0/1", "relevance": 1.5, "fields": {"doc_id": "d1"}},
                {"id": "index:c/0/2", "relevance": 1.5, "fields": {"doc_id": "d2"}},
            ],
        }
    },
}


def test_every_file_is_tried() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.toml")} == set(ANSWERS)


@pytest.mark.parametrize("name", ANSWERS)
def test_a_file_asks_and_reads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QDRANT_API_KEY", "a-key-of-mine")
    source = open_live(EXAMPLES / f"{name}.toml")
    sent: list[Any] = []
    client: Any = source.retriever.answer.__self__  # type: ignore[attr-defined]
    answer_of = DirectResponse(200, {}, json.dumps(ANSWERS[name]))
    monkeypatch.setattr(client, "request", lambda *call: sent.append(call) or answer_of)
    answer = source.retriever.answer("wings & lift", 5)
    assert documents_of(answer, source.fields) == [{"id": "d1", "score": 1.5}, {"id": "d2", "score": 1.5}]
    _, target, body = sent[0]
    assert target.startswith("/")
    assert "wings & lift" in json.dumps(body)
    assert 5 in body.values()


def test_what_is_written_in_python_compiles() -> None:
    for path in EXAMPLES.glob("*.py"):
        compile(path.read_text(), path.name, "exec")
