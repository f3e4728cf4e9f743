"""Runs that are written are read back as they were, or not written at all."""

from pathlib import Path

import numpy as np
import pytest

from trueval import Run
from trueval.errors import InputError

SCORES = {"q2": {"a": 0.1, "b": 1 / 3, "c": -2.5e-300}, "q1": {"é": 1e300, "b#": 7.0, "d": float("inf")}}


@pytest.mark.parametrize("name", ["run.trec", "run.parquet", "run.jsonl", "run.csv"])
def test_what_is_written_is_read_back(tmp_path: Path, name: str):
    scores = SCORES if name in ("run.trec", "run.parquet") else {"q2": SCORES["q2"], "q1": {"é": 1e300, "b#": 7.0}}
    run = Run.from_dict(scores, name="my run")
    run.write(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    again = Run.read(tmp_path / name)
    assert again.frame.select("query_id", "doc_id", "score").rows() == run.frame.rows()
    assert not again.notes


def test_ranks_follow_the_scores(tmp_path: Path):
    Run.from_dict({"q": {"a": 1.0, "b": 2.0, "c": 2.0}}, name="x").write(tmp_path / "r", tag="t")
    assert (tmp_path / "r").read_text().splitlines() == ["q Q0 a 3 1.0 t", "q Q0 b 1 2.0 t", "q Q0 c 2 2.0 t"]


def test_every_float_keeps_its_digits(tmp_path: Path):
    values = np.random.default_rng(1).normal(size=2000) * 10.0 ** np.random.default_rng(2).integers(-300, 300, 2000)
    run = Run.from_arrays([values])
    run.write(tmp_path / "run.trec")
    assert Run.read(tmp_path / "run.trec").documents["score"].to_list() == values.tolist()


def test_ids_with_blanks_are_refused_and_nothing_is_left(tmp_path: Path):
    for scores in ({"q": {"a b": 1.0}}, {"q\t": {"a": 1.0}}):
        with pytest.raises(InputError, match="separated by white space"):
            Run.from_dict(scores).write(tmp_path / "run.trec")
    with pytest.raises(InputError, match="separated by white space"):
        Run.from_dict({"q": {"a": 1.0}}).write(tmp_path / "run.trec", tag="my run")
    assert not list(tmp_path.iterdir())
    Run.from_dict({"q": {"a b": 1.0}}).write(tmp_path / "run.jsonl")
    assert Run.read(tmp_path / "run.jsonl").documents["doc_id"].to_list() == ["a b"]
