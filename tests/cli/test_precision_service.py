"""`trueval precision runs --service`: a service on this machine in every shape of /rerank, and bad answers."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.cli.conftest import Outcome
from tests.models.hosted.loopback import Loopback, Trouble, serving

CALLS = 200  # more than a probe sends


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    pytest.importorskip("httpx2", reason="httpx2, of the extra hosted, is not installed")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serving() as found:
        yield found


def rounded(answer: Any) -> Any:
    rows = answer if isinstance(answer, list) else answer.get("results", answer.get("data"))
    for row in rows:
        for key in row.keys() & {"score", "relevance_score"}:
            row[key] = round(row[key], 2)
    return answer


@pytest.mark.parametrize("name", ["tei", "vllm:m", "jina:m", "cohere:m", "voyage:rerank-2"])
def test_every_shape_of_rerank(
    trueval: Callable[..., Outcome], service: Loopback, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    service.troubles = [Trouble(change=rounded)] * CALLS
    monkeypatch.setenv("PROBE_KEY", "secret")
    url = service.url + ("/v2" if name.startswith("cohere") else "")
    given = ("precision", "runs", "--service", name, "--url", url, "--api-key-env", "PROBE_KEY")
    status, out, err = trueval(*given, "--format", "json")
    assert status == 0, err
    found = json.loads(out)
    assert (found["runs"][0]["grid"], found["service"]["verdict"]) == ("2 decimals", "rounding")
    assert "sending 6 queries with up to 50 documents" in err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[: len(rows) // 2], "50"),
        (lambda rows: [{**row, "score": "high"} for row in rows], "'high'"),
        (lambda rows: [{"index": row["index"]} for row in rows], "the first at index 0"),
    ],
)
def test_an_answer_without_scores_is_one_sentence(
    trueval: Callable[..., Outcome], service: Loopback, change: Callable[[Any], Any], message: str
) -> None:
    service.troubles = [Trouble(change=change)] * CALLS
    found = trueval("precision", "runs", "--service", "tei", "--url", service.url)
    assert (found.status, found.out) == (1, "")
    assert message in found.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--url", "http://localhost:1"), "must be a reranker"),
        (("--service", "openai:gpt"), "must be a reranker"),
        (("--service", "voyage:voyage-3", "--api-key-env", ""), "must be a reranker"),
        (("--service", "tei", "--url", "http://localhost:1", "run.trec"), "takes no runs"),
        ((), "give at least one run"),
    ],
)
def test_what_is_no_service_is_refused(
    trueval: Callable[..., Outcome], arguments: tuple[str, ...], message: str
) -> None:
    found = trueval("precision", "runs", *arguments)
    assert (found.status, found.out) == (2, "")
    assert message in " ".join(found.err.split())
