"""Whatever the width of a terminal, and in a pipe, no number, no name of a run and no verdict is cut."""

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Outcome, wrapped

from trueval.report.number_texts import attainable

NAMES = [
    "input-minilm-l6-v2-bf16-scored-fp32-rerank-R0",
    "input-minilm-l6-v2-bf16-scored-bf16-rerank-R0",
    "bm25-with-rm3-expansion-and-stemming-R0",
]
QUERIES = 20
COMMANDS = {
    "evaluate": "evaluate qrels.trec {} {} {} -m nDCG(gain='exp',base='list')@10,RR,AP",
    "per query": "evaluate qrels.trec {} -m nDCG@10,RR --per-query",
    "compare": "compare qrels.trec {} {} {} -m nDCG@10,RR",
    "power": "power qrels.trec {} {} {} -m nDCG@10 --difference 0.00001",
    "gate": "evaluate qrels.trec {} --baseline {} -m nDCG@10 --max-drop nDCG@10=0.001 --max-range 0.001",
    "explain": "explain qrels.trec {} -m nDCG@10",
    "cuts": "cuts --runs {} {} {} --qrels qrels.trec -k 5",
}
# What is said of values and counts, such as 0.1234, [0.1234, 0.2345] or 17/0/3.
NUMBER = re.compile(r"\[[^\]\n]*\]|[+-]?\d[\d.,/]*\d")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = random.Random(1)
    documents = [f"d{at}" for at in range(30)]
    lines = [f"query-number-{q} 0 {d} {rng.randint(0, 3)}\n" for q in range(QUERIES) for d in rng.sample(documents, 8)]
    (tmp_path / "qrels.trec").write_text("".join(lines), encoding="utf-8")
    for name in NAMES:
        lines = [f"query-number-{q} Q0 {d} 0 {rng.randint(0, 8)} x\n" for q in range(QUERIES) for d in documents]
        (tmp_path / f"{name}.trec").write_text("".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_narrow_terminal_shows_what_a_wide_one_does(
    trueval: Callable[..., Outcome], folder: Path, command: str
) -> None:
    """Columns that are left out are named; all else is there: numbers whole, names whole where they fit a line."""
    words = COMMANDS[command].format(*(f"{name}.trec" for name in NAMES)).split()
    wide = trueval(*words, columns=400)
    assert NAMES[0] in wide.out + wide.err
    for width in (46, 60, 80):
        narrow = trueval(*words, columns=width)
        text = narrow.out + narrow.err
        assert "…" not in text
        assert max(map(len, wrapped(narrow.out))) <= width
        for name in NAMES:
            assert (name in text) == (name in wide.out + wide.err)
        for verdict in ("cannot tell", "not worse", "failed"):
            assert (verdict in text) == (verdict in wide.out + wide.err)
        if "No room for" not in text:
            missing = {number for number in NUMBER.findall(wide.out) if "." in number} - set(NUMBER.findall(text))
            assert not missing - set(NUMBER.findall(" ".join(text.split())))


def test_a_pipe_has_room(trueval: Callable[..., Outcome], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = COMMANDS["evaluate"].format(*(f"{name}.trec" for name in NAMES)).split()
    monkeypatch.delenv("COLUMNS", raising=False)  # which a process of pytest-xdist has
    monkeypatch.setattr("tests.cli.conftest.pytest.MonkeyPatch.setenv", lambda *_: None)
    out = trueval(*words).out
    assert "No room" not in out
    assert all(re.search(rf"^ {name} +0\.\d{{4}} \[", out, re.MULTILINE) for name in NAMES)


def test_more_queries_than_anybody_can_judge_are_said_to_be_so(trueval: Callable[..., Outcome], folder: Path) -> None:
    words = COMMANDS["power"].format(*(f"{name}.trec" for name in NAMES)).split()
    out = " ".join(trueval(*words, columns=80).out.split())
    assert ">1 million more than a million queries; --format json has the number." in out
    assert attainable(1_000_000) == "1,000,000"
    assert attainable(1_000_001) == ">1 million"
