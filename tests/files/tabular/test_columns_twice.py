"""Two columns that can only be the same id are refused: which of them matches the judgments nobody knows."""

from __future__ import annotations

import io

import polars as pl
import pytest

from trueval import Judgments, Run
from trueval.errors import InputError


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("query_id,qid,docid,score", "'query_id' and 'qid' both name the query_id"),
        ("qid,doc_id,docno,score", "'doc_id' and 'docno' both name the doc_id"),
        ("qid,topic_no,docid,score", "'qid' and 'topic_no'"),
    ],
)
def test_two_ids_of_one_kind_are_refused(header: str, said: str) -> None:
    names = header.split(",")
    row = ["a", "b", "c", "1"]
    text = f"{header}\n{','.join(row)}\n".encode()
    for call in (
        lambda: Run.read(io.BytesIO(text)),
        lambda: Judgments.read(io.BytesIO(text)),
        lambda: Run.from_frame(pl.DataFrame(dict(zip(names, [["a"], ["b"], ["c"], [1.0]], strict=True)))),
    ):
        with pytest.raises(InputError, match=said):
            call()
    with pytest.raises(InputError, match=":1: "):
        Run.read(io.BytesIO(text))


@pytest.mark.parametrize("other", ["query", "topic", "text", "document"])
def test_a_column_that_may_be_the_text_is_none(other: str) -> None:
    text = f"{other},qid,docid,score\nwhat is it,q1,d1,0.5\n".encode()
    assert Run.read(io.BytesIO(text)).frame.rows() == [("q1", "d1", 0.5)]


def test_frames_of_pyterrier_have_their_documents_in_docno() -> None:
    frame = pl.DataFrame({"qid": ["q"], "docid": [17], "docno": ["d1"], "rank": [0], "score": [0.5], "query": ["what"]})
    assert Run.from_frame(frame).frame["doc_id"].to_list() == ["d1"]
    text = b"qid,docid,docno,rank,score,query\nq,17,d1,0,0.5,what\n"
    assert Run.read(io.BytesIO(text)).frame["doc_id"].to_list() == ["d1"]
