"""Judges that a plan names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trueval.collection import Collection
from trueval.errors import TruevalWarning
from trueval.golden.build.golden_plan import read_judge
from trueval.golden.build.judge_choice import make_judge
from trueval.golden.judge.judge import Question
from trueval.models.hosted.account import Account


@pytest.mark.parametrize(("grades", "taken"), [((2, 5), 2), ((5, 2, 4), 4)])
def test_one_text_with_several_labels_has_their_median(tmp_path: Path, grades: tuple[int, ...], taken: int) -> None:
    rows = [{"_id": f"d{number}", "text": "the same words"} for number in range(len(grades))]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "query"}\n')
    lines = [f"q 0 d{number} {grade}\n" for number, grade in enumerate(grades)]
    (tmp_path / "qrels.trec").write_text("".join(lines))
    collection = Collection.read(str(tmp_path))
    with pytest.warns(TruevalWarning, match="1 passages are the text of several documents with different grades"):
        judge = make_judge(read_judge(f"labels:{tmp_path / 'qrels.trec'}", {}), collection, Account())
    (label,) = judge.ask(Question("grade", "query", (collection.documents["d0"],))).labels
    assert label is not None
    assert label.grade == taken
