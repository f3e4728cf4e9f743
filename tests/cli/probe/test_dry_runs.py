"""Dry runs of `trueval probe noise` and `join` beside services: what they say is what these then see and bill."""

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Outcome
from tests.extras import need
from tests.golden.chat import chat_server, thirds
from tests.models.hosted import loopback

from trueval.sample import sample_path

need("openai", extra="hosted")
need("faiss", "bm25s", extra="retrieval")

Command = Callable[..., Outcome]
PRICE = 1_000.0
PIPELINE = """[corpus]
path = "{corpus}"
[embed]
model = "openai:m"
base_url = "{url}"
price_per_million_tokens = 1000
[index]
depth = 8
[rerank]
model = "jina:r"
base_url = "{url}"
price_per_million_tokens = 1000
depth = 4
"""
NOISE = ("--levels", "0,2", "--queries", "5", "--seed", "3", "-m", "R(rel=4)@10")


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[loopback.Loopback]:
    monkeypatch.setattr(loopback, "tokens", lambda text: len(text.encode()) // 4 + 1)
    with loopback.serving() as found:
        yield found


@pytest.fixture
def pipeline(service: loopback.Loopback, tmp_path: Path) -> Path:
    file = tmp_path / "both.toml"
    file.write_text(PIPELINE.format(corpus=sample_path(), url=service.url))
    return file


def billed(service: loopback.Loopback) -> float:
    """What the service counted."""
    return sum(loopback.tokens(text) for each in service.seen for text in each.texts) * PRICE / 1e6


def total(work: list[dict[str, Any]], name: str) -> float:
    return sum(each[name] for each in work)


def texts(said: dict[str, Any]) -> float:
    """Texts for the embedder."""
    return total([each for each in said["work"] if each["model"] == "openai:m"], "items")


def ledger_of(cache: Path) -> float:
    lines = [json.loads(line) for line in (cache / "ledger.jsonl").read_text().splitlines()]
    return math.fsum(line["cost"] or 0.0 for line in lines if line["status"] == "200")


@pytest.mark.parametrize(
    "command", [("noise", *NOISE), ("join", "--conditions", "noise-4,case_punct_upper", "--queries", "5")]
)
def test_a_dry_run_says_what_services_then_get(
    command: tuple[str, ...], trueval: Command, service: loopback.Loopback, pipeline: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    given = ("probe", command[0], sample_path(), "--pipeline", pipeline, *command[1:], "--cache", cache)
    dry = trueval(*given, "--dry-run", "--format", "json")
    assert dry.status == 0, dry.err
    assert not service.seen
    assert not cache.exists(), "a dry run makes nothing"
    said = json.loads(dry.out)
    *embedder, reranker = said["work"]
    done = trueval(*given)
    assert done.status == 0, done.err
    embedded = [each for each in service.seen if each.path.endswith("/embeddings")]
    pairs = sum(len(each.texts) for each in service.seen if not each.path.endswith("/embeddings"))
    assert total(embedder, "calls") == len(embedded)
    assert total(embedder, "items") == sum(len(each.texts) for each in embedded)
    assert (reranker["items"], reranker["exact"]) == (pairs, False)
    assert said["calls"] == len(service.seen)
    assert billed(service) == pytest.approx(ledger_of(cache)), "the bill is the server's own count"
    assert billed(service) <= said["at_most"]
    assert said["cost"] == pytest.approx(billed(service), rel=0.5)
    # The notice before the calls is the same estimate.
    notices = re.findall(
        r"to (openai:m|jina:r), about [\d,]+ tokens, for about ([\d.]+), at most ([\d.]+)\. It",
        " ".join(done.err.split()),
    )
    for place, name in ((1, "cost"), (2, "at_most")):
        told = sum(float(each[place]) for each in notices if each[0] == "openai:m")
        assert told == pytest.approx(total(embedder, name), rel=1e-3)
        assert sum(float(each[place]) for each in notices) <= said["at_most"]
    again = json.loads(trueval(*given, "--dry-run", "--format", "json").out)
    assert (again["calls"], again["cost"], total(again["work"], "items")) == (0, 0.0, 0)
    sentences = trueval(*given[:-1], tmp_path / "other", "--dry-run", "--max-cost", "0.001", columns=300)
    assert f"pairs: at most {pairs} pairs in " in sentences.out
    assert "max_cost is 0.001: it stops before the limit is exceeded" in sentences.out


def test_texts_that_a_judge_writes_count_before_they_are_written_and_after(
    trueval: Command, service: loopback.Loopback, pipeline: Path, tmp_path: Path
) -> None:
    with chat_server(lambda query, text: 3) as server:
        server.bills = thirds
        judge = tmp_path / "judge.toml"
        judge.write_text(
            f'[judge]\nmodel = "served"\nbase_url = "{server.url}"\napi_key_env = ""\n'
            "price_per_million_input = 100.0\nprice_per_million_output = 200.0\nmax_completion_tokens = 100\n"
        )
        cache = tmp_path / "cache"
        given: tuple[Any, ...] = ("probe", "noise", sample_path(), "--pipeline", pipeline, *NOISE, "--cache", cache)
        given = (*given, "--denoise", "none,judge", "--judge", judge)
        plain = json.loads(trueval(*given[:-4], "--denoise", "none", "--dry-run", "--format", "json").out)
        before = json.loads(trueval(*given, "--dry-run", "--format", "json").out)
        assert not server.seen
        assert not service.seen
        assert before["work"][0]["calls"] == 15
        assert texts(before) > texts(plain)
        assert before["at_most"] is None, "nobody knows what a judge will write"
        assert "has not written yet" in before["notes"][-1]
        assert before["cost"] > before["work"][0]["cost"] > 0
        done = trueval(*given)
        assert done.status == 0, done.err
        embedded = sum(len(each.texts) for each in service.seen if each.path.endswith("/embeddings"))
        assert texts(before) >= embedded
        paid = billed(service) + sum(100 * asked + 200 * told for asked, told in server.billed) / 1e6
        assert before["cost"] == pytest.approx(paid, rel=0.5)
        after = json.loads(trueval(*given, "--dry-run", "--format", "json").out)
        assert (after["calls"], after["cost"], after["at_most"]) == (0, 0.0, 0.0)


def test_a_limit_without_a_judge_leaves_its_bills_in_the_ledger(
    trueval: Command, service: loopback.Loopback, pipeline: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    given = ("probe", "noise", sample_path(), "--pipeline", pipeline, *NOISE, "--cache", cache, "--max-cost", "100")
    done = trueval(*given)
    assert done.status == 0, done.err
    assert ledger_of(cache) == pytest.approx(billed(service))
