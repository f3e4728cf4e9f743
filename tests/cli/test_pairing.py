"""Every command that evaluates refuses what names no query as the judgments do, and shows how both name them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import QRELS, Outcome

COMMANDS = {
    "evaluate": "evaluate qrels.trec one.trec -m AP",
    "evaluate json": "evaluate qrels.trec one.trec -m AP --format json",
    "compare": "compare qrels.trec one.trec two.trec -m AP",
    "power": "power qrels.trec one.trec two.trec -m AP",
    "cuts": "cuts --runs one.trec --qrels qrels.trec -k 1",
    "cuts of calls": "cuts --runs one.trec two.trec --qrels qrels.trec -k 1",
    "explain": "explain qrels.trec one.trec -m AP",
    "precision": "precision audit . --logits logits.npz -m AP",
    "log": "evaluate qrels.trec log.jsonl -m AP",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_query_in_common_is_an_error_that_shows_the_ids_of_both(
    trueval: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    files = {
        "qrels.trec": QRELS,
        "one.trec": "x Q0 a 1 2.0 x\nx Q0 b 2 2.0 x\n",
        "two.trec": "x Q0 b 1 2.0 x\nx Q0 a 2 1.0 x\n",
        "log.jsonl": '{"query": "what is x?", "contexts": ["a", "b"]}\n',
        "corpus.jsonl": '{"_id": "a", "text": "t"}\n{"_id": "b", "text": "u"}\n',
        "queries.jsonl": '{"_id": "x", "text": "t"}\n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    np.savez(tmp_path / "logits.npz", query=["x", "x"], doc=["a", "b"], float32=np.zeros((2, 2), np.float32))
    monkeypatch.chdir(tmp_path)
    status, out, err = trueval(*COMMANDS[command].split())
    said = " ".join(err.split())
    assert (status, out) == (1, "")
    assert "'q'" in said
    assert ("'what is x?'" if command == "log" else "'x'") in said
    assert ("the texts of queries: give their ids" in said) == (command == "log")
