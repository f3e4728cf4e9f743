"""Judges that a plan names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trueval.collection import Collection
from trueval.errors import InputError, TruevalWarning
from trueval.golden.build.golden_plan import read_judge
from trueval.golden.build.judge_choice import make_judge, model_judge
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


def test_a_judge_has_the_prices_of_its_book_where_its_table_has_none(tmp_path: Path) -> None:
    book = tmp_path / "book.toml"
    head = 'date = "2026-11"\ncurrency = "USD"\nsource = "here"\n[generators.j]\n'
    book.write_text(f"{head}per_million_tokens = 1.5\nper_million_output = 6.0\n")
    (tmp_path / "judge.toml").write_text('[judge]\nmodel = "j"\nbook = "book.toml"\nprice_per_million_input = 2.0\n')
    values = read_judge(str(tmp_path / "judge.toml"), {}).values
    assert tuple(model_judge(values, Account()).use.prices) == (2.0, 6.0)
    assert tuple(model_judge({**values, "price_per_million_input": None}, Account()).use.prices) == (1.5, 6.0)


def test_a_limit_of_what_encloses_a_judge_needs_prices_too(tmp_path: Path) -> None:
    values = read_judge("a model of no book", {"base_url": "http://127.0.0.1:9/v1"}).values
    with pytest.raises(InputError, match="max_cost is 3, and the prices are not known"):
        model_judge(values, Account(within=Account(3.0)))
