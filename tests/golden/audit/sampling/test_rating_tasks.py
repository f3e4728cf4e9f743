"""The tasks beside grades: neighbors of ranked lists, and answers."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from trueval.collection import Collection
from trueval.errors import InputError
from trueval.golden.audit.sampling.rating_tasks import answer_items, neighbors_of, order_items, read_answers
from trueval.golden.audit.store.text_table import TextTable
from trueval.run import Run


def texts() -> TextTable:
    documents = {f"d{at}": f"text {at}" for at in range(60)}
    return TextTable(lambda: Collection("c", "c", documents, {f"q{at}": f"question {at}" for at in range(30)}), {})


def test_neighbors_are_those_of_the_first_twenty_in_order_of_scores() -> None:
    run = Run.from_dict({"q0": {f"d{at}": 100 - at for at in range(40)}, "q1": {"d1": 1}, "q2": {"d1": 1, "d2": 1}})
    found = neighbors_of(run)
    assert list(found) == ["q0"]  # one document has no neighbor, and equal scores no order
    assert [(each.upper, each.lower, each.rank) for each in found["q0"]] == [
        (f"d{at}", f"d{at + 1}", at + 1) for at in range(19)
    ]


def test_lists_are_drawn_whole_and_a_larger_sample_begins_with_the_smaller_one() -> None:
    lists = neighbors_of(Run.from_dict({f"q{at}": {"d1": 3, "d2": 2, f"d{at + 3}": 1} for at in range(20)}))
    few = order_items(lists, 4, 0, texts())
    more = order_items(lists, 9, 0, texts(), few)
    assert more[:8] == few
    assert Counter(each.query for each in more) == dict.fromkeys(dict.fromkeys(each.query for each in more), 2)
    assert len({each.query for each in more}) == 9
    assert {each.query for each in order_items(lists, 4, 1, texts())} != {each.query for each in few}
    every = order_items(lists, 50, 0, texts())
    assert {frozenset(each.documents) for each in every} == {
        frozenset((pair.upper, pair.lower)) for pairs in lists.values() for pair in pairs
    }
    # About half of them the lower one first; and the ranks go with the documents.
    assert 10 < sum(each.sign == 1 for each in every) < 30
    for each in every:
        assert each.documents[:: each.sign] == tuple(each.subject["documents"])
        (pair,) = [pair for pair in lists[each.query] if {pair.upper, pair.lower} == set(each.documents)]
        assert each.subject["documents"] == [pair.upper, pair.lower]


def written(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_answers_of_several_systems_come_in_one_random_order(tmp_path: Path) -> None:
    rows = [{"query_id": f"q{at}", "system": name, "answer": f"{name} {at}"} for name in ("a", "b") for at in range(20)]
    source = texts()
    answers = read_answers(written(tmp_path / "a.jsonl", *rows), source.collection.queries)
    items = answer_items(answers, 0, source)
    assert len({each.item for each in items}) == 40
    assert 5 < sum(each.system == "a" for each in items[:20]) < 15
    assert all(source.found[each.texts[1]] == f"{each.system} {each.query[1:]}" for each in items)
    assert all(each.subject == {"system": each.system} for each in items)
    assert [each.item for each in answer_items(answers[::-1], 0, source)] == [each.item for each in items]


def test_answers_are_read_as_logs_of_other_tools_name_them(tmp_path: Path) -> None:
    rows = [{"user_input": "how?", "response": "so"}, {"qid": 7, "question": "why?", "prediction": "because"}]
    found = read_answers(written(tmp_path / "a.jsonl", *rows), {})
    assert [tuple(each) for each in found] == [("how?", "", "how?", "so"), ("7", "", "why?", "because")]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"query_id": "q1"}, r'a\.jsonl:2: a line must be an object with "query_id"'),
        ({"query_id": "q1", "answer": " "}, r"a\.jsonl:2: a line must be"),
        ({"query_id": "q0", "answer": "again"}, r"a\.jsonl:2: query 'q0' is answered twice"),
        ({"query_id": "q77", "answer": "x"}, r"a\.jsonl:2: query 'q77' has no text in the collection"),
        ({"query_id": "q1", "answer": "x", "system": ["a"]}, r"a\.jsonl:2: a line must be"),
    ],
)
def test_bad_answers_are_refused_with_their_line(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    path = written(tmp_path / "a.jsonl", {"query_id": "q0", "answer": "first"}, row)
    with pytest.raises(InputError, match=message):
        read_answers(path, {"q0": "zero?", "q1": "one?"})


def test_no_answers_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("\n\n")
    with pytest.raises(InputError, match="no answer"):
        read_answers(tmp_path / "a.jsonl", {})


def test_a_document_must_have_the_text_that_was_judged() -> None:
    source = TextTable(lambda: Collection("c", "c", {"d": "now", "e": ""}, {"q": "what"}), {("q", "d"): "another hash"})
    with pytest.raises(InputError, match="document 'd' of query 'q' has another text there than"):
        source.document("q", "d")
    with pytest.raises(InputError, match="document 'e' of query 'q' has no text there"):
        source.document("q", "e")
    with pytest.raises(InputError, match="query 'r' has no text there"):
        source.query("r")
    assert source.document("r", "d") == source.document("s", "d")
