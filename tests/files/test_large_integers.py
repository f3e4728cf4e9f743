"""Integers beyond 2^53: two that differ and are the same double are refused wherever they come from, and never tie."""

from __future__ import annotations

import io
import json
from typing import Any

import polars as pl
import pytest

from trueval import Judgments, Run
from trueval.errors import InputError

ONE, TWO = 1700000000000000001, 1700000000000000002
FAR = 1700000000000001000
QUERIES, DOCS = ["q", "q", "p"], ["a", "b", "a"]


def trec(*scores: object) -> bytes:
    rows = zip(QUERIES, DOCS, scores, strict=False)
    return "".join(f"{query} Q0 {doc} 1 {score} t\n" for query, doc, score in rows).encode()


def delimited(*scores: object) -> bytes:
    rows = zip(QUERIES, DOCS, scores, strict=False)
    return ("qid,docid,score\n" + "".join(f"{query},{doc},{score}\n" for query, doc, score in rows)).encode()


def jsonl(*scores: int) -> bytes:
    rows = zip(QUERIES, DOCS, scores, strict=False)
    return "".join(json.dumps({"qid": q, "docid": d, "score": s}) + "\n" for q, d, s in rows).encode()


def nested(*scores: int) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for query, doc, score in zip(QUERIES, DOCS, scores, strict=False):
        found.setdefault(query, {})[doc] = score
    return found


def frame(*scores: int) -> pl.DataFrame:
    return pl.DataFrame({"qid": QUERIES[: len(scores)], "docid": DOCS[: len(scores)], "score": scores})


def parquet(*scores: int) -> bytes:
    frame(*scores).write_parquet(file := io.BytesIO())
    return file.getvalue()


def read(data: bytes) -> Run:
    return Run.read(io.BytesIO(data))


WAYS: dict[str, tuple[Any, str]] = {
    "trec": (lambda *s: read(trec(*s)), r":2: .*line 1"),
    "trec with comments": (lambda *s: read(b"# made by hand\n" + trec(*s)), r":3: .*line 2"),
    "csv": (lambda *s: read(delimited(*s)), r":3: .*line 2"),
    "jsonl": (lambda *s: read(jsonl(*s)), r":2: .*line 1"),
    "json": (lambda *s: read(json.dumps(nested(*s), indent=1).encode()), r":4: .*line 3"),
    "records in json": (
        lambda *s: read(json.dumps(frame(*s).to_dicts(), indent=1).encode()),
        r":7: .*line 2",
    ),
    "parquet": (lambda *s: read(parquet(*s)), "row 2"),
    "frame": (lambda *s: Run.from_frame(frame(*s)), "row 2"),
    "dict": (lambda *s: Run.from_dict(nested(*s)), "row 2"),
    "triples": (lambda *s: Run.of(list(zip(QUERIES, DOCS, s, strict=False))), "row 2"),
    "records": (lambda *s: Run.of(frame(*s).to_dicts()), "row 2"),
    "log": (
        lambda *s: Run.of([{"query": "q", "ids": [{"id": d, "score": n} for d, n in zip(DOCS, s[:2], strict=False)]}]),
        "rows",
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_integers_that_would_tie_are_refused_with_place_and_cure(way: str) -> None:
    make, place = WAYS[way]
    with pytest.raises(InputError, match=rf"{place}.*") as caught:
        make(ONE, TWO)
    message = str(caught.value)
    assert str(ONE) in message
    assert str(TWO) in message
    assert "Subtract" in message


@pytest.mark.parametrize("way", WAYS)
def test_integers_that_stay_apart_or_are_equal_are_read(way: str) -> None:
    make, _ = WAYS[way]
    for scores in ((FAR, ONE), (ONE, ONE)):  # falling, as a log of contexts has them
        assert make(*scores).documents["score"].to_list() == [float(score) for score in scores]


@pytest.mark.parametrize("way", [way for way in WAYS if way != "log"])
def test_scores_of_different_queries_are_never_compared(way: str) -> None:
    make, _ = WAYS[way]
    assert make(ONE, FAR, TWO).documents.height == 3


def test_negative_padded_and_decimal_integers() -> None:
    for pair in ((-ONE, -TWO), (f"+{ONE}", f"00{TWO}"), (f"{ONE}.0", TWO)):
        with pytest.raises(InputError, match="same double"):
            read(trec(*pair))
    for pair in ((ONE, f"+0{ONE}.00"), (ONE, -TWO), ("1e300", "1e300"), ("inf", "inf"), (2**53, 2**53 - 1)):
        assert read(trec(*pair)).documents.height == 2


def test_queries_that_are_not_adjacent_are_looked_at_together() -> None:
    text = f"q Q0 a 1 {ONE} t\np Q0 a 1 5 t\nq Q0 b 2 {TWO} t\n"
    with pytest.raises(InputError, match=r":3: .*line 1"):
        read(text.encode())


def test_the_same_far_into_a_large_file() -> None:
    """A part of a file that is read at once is a mebibyte; the two integers are in the last one."""
    rows = "".join(f"q Q0 d{row} 1 {row / 3:.6f} t\n" for row in range(120_000))
    with pytest.raises(InputError, match=r":120002: .*line 120001"):
        read((rows + trec(ONE, TWO).decode()).encode())


def test_grades_are_held_to_the_same() -> None:
    with pytest.raises(InputError, match="grades"):
        Judgments.from_dict({"q": {"a": ONE, "b": TWO}})
