"""What results say of what was measured: hashes of content, whatever holds it."""

import gzip
import hashlib
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import trueval as tv
from trueval.collection import text_hash
from trueval.errors import InputError
from trueval.evaluation.content_hashes import (
    ContentHashes,
    choices_that_matter,
    collection_hashes,
    judgments_hash,
    policy_hash,
    queries_hash,
    rows_hash,
    run_hash,
)
from trueval.policy.policy import Policy

ROWS = [("q1", "a", 2), ("q1", "b", 0), ("q2", "é", 1), ("q10", "c", -1)]
AS_READ = {"q1": {"a": 2, "b": 0}, "q2": {"é": 1}, "q10": {"c": -1}}


def as_trec(folder: Path) -> Path:
    path = folder / "qrels.trec"
    path.write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in ROWS), encoding="utf-8")
    return path


def as_trec_in_another_order(folder: Path) -> Path:
    path = folder / "backwards.txt"
    path.write_text("".join(f"{q}\tQ0\t{d}\t{g}\n" for q, d, g in reversed(ROWS)), encoding="utf-8")
    return path


def as_gzip(folder: Path) -> Path:
    path = folder / "qrels.gz"
    path.write_bytes(gzip.compress(as_trec(folder).read_bytes()))
    return path


def as_csv(folder: Path) -> Path:
    path = folder / "qrels.csv"
    lines = ["query_id,doc_id,grade", *(f"{q},{d},{g}.0" for q, d, g in ROWS)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("write", [as_trec, as_trec_in_another_order, as_gzip, as_csv])
def test_judgments_hash_alike_in_any_form(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    assert judgments_hash(tv.Judgments.read(write(tmp_path))) == judgments_hash(tv.Judgments.from_dict(AS_READ))


def test_a_hash_stays_the_same_from_version_to_version() -> None:
    """Results are compared with those of older versions: a hash that changes is a new FORMAT_VERSION."""
    digest = judgments_hash(tv.Judgments.from_dict({"q": {"a": 1, "b": 0}}))
    # By hand: "query_id doc_id grade", then 2 lengths and texts of each column, then 2 doubles.
    by_hand = b"query_id doc_id grade" + b"\x01\0\0\0\x01\0\0\0qq" + b"\x01\0\0\0\x01\0\0\0ab"
    by_hand += bytes.fromhex("000000000000f03f") + bytes(8)
    assert digest == hashlib.sha256(by_hand).hexdigest()


def test_many_rows_are_hashed_in_blocks_of_2_to_the_20() -> None:
    """The first 2^20 rows column by column, then the last one: the blocks are part of what the hash means."""
    first, second = np.arange(2.0**20 + 1), np.arange(2.0**20 + 1) % 7
    by_hand = b"a b" + first[:-1].tobytes() + second[:-1].tobytes() + first[-1:].tobytes() + second[-1:].tobytes()
    assert rows_hash(pl.DataFrame({"a": first, "b": second})) == hashlib.sha256(by_hand).hexdigest()


@pytest.mark.parametrize(
    "other",
    [
        {"q1": {"a": 1, "b": 0}, "q2": {"é": 1}, "q10": {"c": -1}},
        {"q1": {"a": 2}, "q2": {"é": 1}, "q10": {"c": -1}},
        {"q1": {"a": 2, "b": 0}, "q2": {"e": 1}, "q10": {"c": -1}},
        {"q1": {"a": 2, "b": 0}, "q2": {"é": 1}, "q1c": {"0": -1}},
    ],
)
def test_other_judgments_hash_otherwise(other: dict[str, dict[str, int]]) -> None:
    assert judgments_hash(tv.Judgments.from_dict(other)) != judgments_hash(tv.Judgments.from_dict(AS_READ))


def test_facets_are_of_the_content() -> None:
    rows = {"query_id": ["q", "q"], "facet": ["1", "2"], "doc_id": ["a", "a"], "grade": [1, 1]}
    one = tv.Judgments.from_frame(pl.DataFrame(rows), facets=True)
    other = tv.Judgments.from_frame(pl.DataFrame(rows | {"facet": ["1", "3"]}), facets=True)
    assert judgments_hash(one) != judgments_hash(other)


def test_equal_policies_hash_alike() -> None:
    """A golden set has rel 4, and --rel 4 is 4.0."""
    assert Policy(rel=4) == Policy(rel=4.0)
    assert policy_hash(Policy(rel=4)) == policy_hash(Policy(rel=4.0)) != policy_hash(Policy(rel=4.5))
    assert policy_hash(Policy(tie_precision=1)) == policy_hash(Policy(tie_precision=1.0))


def test_a_run_is_its_scores_and_not_its_order_or_name() -> None:
    one = tv.Run.from_dict({"q1": {"a": 2.0, "b": -0.0}, "q2": {"a": 1.0}}, name="one")
    other = tv.Run.from_dict({"q2": {"a": 1.0}, "q1": {"b": 0.0, "a": 2.0}}, name="other")
    changed = tv.Run.from_dict({"q2": {"a": 1.0}, "q1": {"b": 0.0, "a": 2.000001}})
    assert run_hash(one) == run_hash(other) != run_hash(changed)
    rows = {"q1": {"a": 2.0, "b": 0.0}, "q2": {"a": 1.0}}
    empty = [tv.Run.from_dict(rows | {name: {} for name in names}) for names in ("yz", "zy", "y")]
    assert run_hash(one) != run_hash(empty[0]) == run_hash(empty[1]) != run_hash(empty[2])


IDS = {
    "short": lambda number: f"d{number}",
    "of eight bytes and one more": lambda number: f"{number % 7:08}{number // 7 or ''}",
    "that begin alike": lambda number: f"https://example.org/{number}",
    "that differ late": lambda number: f"{number % 3}{'0' * 20}{number}",
    "of more bytes than letters": lambda number: "é" * (number % 5) + chr(0x20AC + number),
    "with zeros at the end": lambda number: f"{number % 40}" + "\0" * (number // 40),
}


@pytest.mark.parametrize("kind", IDS)
def test_a_run_hashes_as_its_sorted_rows(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of many lengths, in an order of queries and documents that is nobody's."""
    monkeypatch.setattr("trueval.evaluation.content_hashes.BLOCK", 16)
    rng = np.random.default_rng(3)
    sizes = {f"q{number}": int(rng.integers(1, 12)) for number in rng.permutation(30).tolist()}
    given = {
        query: {IDS[kind](number): float(rng.integers(3)) for number in rng.permutation(80)[:size].tolist()}
        for query, size in sizes.items()
    }
    run = tv.Run.from_dict(given)
    assert run_hash(run) == rows_hash(run.frame.select("query_id", "doc_id", "score"))


def test_a_run_without_rows_has_a_hash() -> None:
    run = tv.Run.from_dict({"q": {"a": 1.0}})
    nothing = replace(run, documents=run.documents.clear(), query_ids=run.query_ids.clear(), offsets=np.zeros(1, int))
    assert run_hash(nothing) == hashlib.sha256(b"query_id doc_id score").hexdigest()


def test_policies_hash_by_what_they_choose() -> None:
    named = Policy(convention="own")
    assert policy_hash(named) == policy_hash(Policy()) == policy_hash(Policy(seed=3))
    assert policy_hash(Policy(tie_order="random", seed=3)) != policy_hash(Policy(tie_order="random"))
    assert policy_hash(Policy(rel=2)) != policy_hash(Policy())
    assert "convention" not in choices_that_matter(named)
    choices = choices_that_matter(named)
    by_name = ", ".join(f'"{name}": {json.dumps(choices[name])}' for name in sorted(choices))
    assert policy_hash(named) == text_hash([f"{{{by_name}}}"])


def test_queries_are_a_set() -> None:
    assert queries_hash(["b", "a"]) == queries_hash(("a", "b")) != queries_hash(["ab"])


def test_a_corpus_is_its_documents(tmp_path: Path) -> None:
    rows = [{"_id": "1", "title": "t", "text": "x"}, {"_id": "2", "text": "y"}]
    for name, written in (
        ("one", rows),
        ("other", [{"text": "y", "_id": "2", "title": ""}, {"_id": "1", "title": "t", "text": "x", "url": "u"}]),
        ("changed", [{"_id": "1", "title": "t", "text": "x"}, {"_id": "2", "text": "z"}]),
    ):
        (tmp_path / name).mkdir()
        lines = "".join(f"{json.dumps(row)}\n\n" for row in written)
        (tmp_path / name / "corpus.jsonl").write_text(lines, encoding="utf-8")
    one, other, changed = (collection_hashes(tmp_path / name) for name in ("one", "other", "changed"))
    assert one == other != changed
    assert set(one) == {"corpus"}
    (tmp_path / "one" / "queries.jsonl").write_text('{"_id": "q", "text": "?"}\n', encoding="utf-8")
    assert collection_hashes(tmp_path / "one")["query_texts"] not in one.values()
    (tmp_path / "one" / "corpus.jsonl").write_text('{"_id": "1"}\n[]\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"corpus.jsonl:2: '\[\]'. Each line must be one object"):
        collection_hashes(tmp_path / "one")
    with pytest.raises(InputError, match=r"no such file. A collection holds"):
        collection_hashes(tmp_path)


def test_scores_know_their_judgments_and_make_the_hash_when_asked() -> None:
    judgments = tv.Judgments.from_dict(AS_READ)
    with pytest.warns(tv.errors.TruevalWarning):
        scores = tv.evaluate(tv.Run.from_dict({"q1": {"a": 1.0}}), judgments, "RR")
    assert scores.content is not None
    assert scores.content.all == {"judgments": judgments_hash(judgments)}
    assert scores.content.but(unjudged=None, corpus="c").all == {"judgments": judgments_hash(judgments), "corpus": "c"}


def test_a_pickle_holds_hashes_and_no_judgments() -> None:
    content = ContentHashes({"run": "r"}, tv.Judgments.from_dict(AS_READ))
    again = pickle.loads(pickle.dumps(content))
    assert (again.source, again.all) == (None, content.all)
