import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from trueval.collection import Collection, candidate_lists, text_hash
from trueval.errors import InputError
from trueval.judgments import Judgments
from trueval.run import Run

DOCS = [
    {"_id": "d1", "title": "Wings", "text": "Lift.", "authors": ["A", "B"]},
    {"_id": "d2", "title": "", "text": "Drag."},
    {"_id": "d3", "text": ""},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in DOCS), encoding="utf-8")
    queries = [{"_id": "q1", "text": "What lifts?"}, {"_id": "q2", "text": "What drags?"}]
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)), encoding="utf-8")
    (tmp_path / "qrels.trec").write_text("q1 0 d2 0\nq1 0 d1 1\nq2 0 d2 2\nq2 0 d3 -1\n", encoding="utf-8")
    return tmp_path


def test_a_folder_gives_texts_and_judgments(folder: Path) -> None:
    found = Collection.read(str(folder))
    assert found.documents == {"d1": "Wings Lift.", "d2": "Drag.", "d3": ""}
    assert found.queries == {"q1": "What lifts?", "q2": "What drags?"}
    assert Collection.read(str(folder), fields=["authors", "text"]).documents["d1"] == "A, B Lift."
    assert Collection.read(str(folder), fields=["text"]).documents["d1"] == "Lift."


def test_judged_candidates_keep_the_order_of_the_judgments(folder: Path) -> None:
    found = candidate_lists(Collection.read(str(folder)))
    assert (found.kind, found.query_ids, found.doc_ids) == ("judged", ("q1", "q2"), ("d1", "d2"))
    assert [each.tolist() for each in found.lists] == [[1, 0], [1]]
    assert found.pairs == 3


def test_the_whole_corpus_is_one_list_shared_by_all_queries(folder: Path) -> None:
    found = candidate_lists(Collection.read(str(folder)), "corpus")
    assert found.doc_ids == ("d1", "d2", "d3")
    assert found.lists[0].tolist() == [0, 1, 2]
    assert found.lists[0] is found.lists[1]


def test_candidates_of_a_run_keep_its_order_and_name_what_is_missing(folder: Path) -> None:
    run = Run.from_dict({"q1": {"d3": 1.0, "d9": 0.9, "d1": 0.5}}, name="bm25")
    found = candidate_lists(Collection.read(str(folder)), run)
    assert [[found.doc_ids[i] for i in each] for each in found.lists] == [["d3", "d1"]]
    assert any("1 candidates have no text" in note for note in found.notes)
    assert any("1 judged queries have no candidate" in note for note in found.notes)


def test_judgments_are_missed_only_by_who_needs_them(folder: Path) -> None:
    (folder / "qrels.trec").unlink()
    found = Collection.read(str(folder))
    assert found.judgments is None
    assert len(found.documents) == 3
    needs: list[Callable[[], object]] = [
        lambda: found.graded,
        lambda: found.restrict({"q1"}),
        lambda: candidate_lists(found),
        lambda: candidate_lists(found, "corpus"),
    ]
    for need in needs:
        with pytest.raises(InputError, match=r"there are no judgments, and this needs some. Add one of qrels.trec, "):
            need()
    (folder / "other.trec").write_text("q1 0 d1 1\n", encoding="utf-8")
    named = Collection.read(str(folder), qrels=str(folder / "other.trec"))
    assert named.graded.frame.rows() == [("q1", "d1", 1.0)]


def test_queries_may_come_from_another_file(folder: Path) -> None:
    (folder / "queries.jsonl").unlink()
    (folder / "asked.jsonl").write_text('{"id": 3, "text": "Who flies?"}\n', encoding="utf-8")
    found = Collection.read(str(folder), queries=str(folder / "asked.jsonl"))
    assert found.queries == {"3": "Who flies?"}
    with pytest.raises(InputError, match=r"absent.jsonl: no such file"):
        Collection.read(str(folder), queries=str(folder / "absent.jsonl"))


def test_texts_read_from_the_wrong_fields_are_refused_and_some_that_are_empty_noted(folder: Path) -> None:
    assert Collection.read(str(folder)).notes == (
        f"{folder / 'corpus.jsonl'}: 1 of 3 documents have no text, such as 'd3'.",
    )
    with pytest.raises(
        InputError,
        match=r"corpus.jsonl: no document has a text. It must be in 'body'. The first one has '_id', 'title', 'text'",
    ):
        Collection.read(str(folder), fields=["body"])
    (folder / "queries.jsonl").write_text('{"_id": "q1", "query": "x"}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"queries.jsonl: no query has a text. It must be in 'text'"):
        Collection.read(str(folder))


def test_a_choice_of_queries(folder: Path) -> None:
    found = Collection.read(str(folder)).restrict({"q2"})
    assert found.graded.query_ids.to_list() == ["q2"]
    with pytest.raises(InputError, match="no judged query is left"):
        found.restrict(set())
    with pytest.raises(InputError, match=r"no judged query is left: judged are 'q2', and those to keep are 'x1'"):
        found.restrict({"x1"})


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("corpus.jsonl", '{"_id": "d1"}\nnot json\n', r"corpus\.jsonl:2: not JSON"),
        ("corpus.jsonl", '{"title": "no id"}\n', r"corpus\.jsonl:1: not a text with an id"),
        ("corpus.jsonl", '{"_id": "d1"}\n\n{"_id": "d1"}\n', r"corpus\.jsonl:3: the id 'd1' appears twice"),
        ("queries.jsonl", None, r"queries\.jsonl: no such file.* trueval golden questions"),
        ("qrels.trec", "q1 0 d1 x\n", r"qrels\.trec:1: "),
    ],
)
def test_bad_files_are_named_with_their_line(folder: Path, file: str, text: str | None, message: str) -> None:
    (folder / file).unlink()
    if text is not None:
        (folder / file).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        Collection.read(str(folder))


def test_what_cannot_be_scored_is_refused(folder: Path) -> None:
    collection = Collection.read(str(folder))
    with pytest.raises(InputError, match="no such folder"):
        Collection.read(str(folder / "absent"))
    with pytest.raises(InputError, match='must be "judged", "corpus" or a run'):
        candidate_lists(collection, "everything")
    with pytest.raises(InputError, match="no candidate of run has a text"):
        candidate_lists(collection, Run.from_dict({"q1": {"x": 1.0}}))
    (folder / "queries.jsonl").write_text('{"_id": "q1", "text": "a"}\n', encoding="utf-8")
    with pytest.raises(InputError, match="1 judged queries have no text, the first 'q2'"):
        candidate_lists(Collection.read(str(folder)))


def test_ir_datasets_names_are_loaded_through_the_library(tmp_path: Path) -> None:
    library = pytest.importorskip("ir_datasets")
    (tmp_path / "docs.tsv").write_text("d1\tLift.\nd2\tDrag.\n", encoding="utf-8")
    (tmp_path / "queries.tsv").write_text("q1\tWhat lifts?\n", encoding="utf-8")
    (tmp_path / "qrels").write_text("q1 0 d2 0\nq1 0 d1 1\n", encoding="utf-8")
    made = library.create_dataset(
        docs_tsv=str(tmp_path / "docs.tsv"),
        queries_tsv=str(tmp_path / "queries.tsv"),
        qrels_trec=str(tmp_path / "qrels"),
    )
    library.registry.register("trueval-test", made)
    found = Collection.read("ir_datasets:trueval-test")
    assert found.documents == {"d1": "Lift.", "d2": "Drag."}
    assert found.queries == {"q1": "What lifts?"}
    assert found.graded.frame.rows() == [("q1", "d2", 0.0), ("q1", "d1", 1.0)]
    made = library.create_dataset(docs_tsv=str(tmp_path / "docs.tsv"), queries_tsv=str(tmp_path / "queries.tsv"))
    library.registry.register("trueval-test-bare", made)
    assert Collection.read("ir_datasets:trueval-test-bare").judgments is None
    (tmp_path / "more").write_text('{"_id": "q9", "text": "Why?"}', encoding="utf-8")
    named = Collection.read("ir_datasets:trueval-test", queries=str(tmp_path / "more"), qrels=str(tmp_path / "qrels"))
    assert (named.queries, named.graded.source) == ({"q9": "Why?"}, str(tmp_path / "qrels"))
    (tmp_path / "docs.tsv").write_text("d1\tLift.\nd1\tDrag.\n", encoding="utf-8")
    library.registry.register("trueval-test-twice", made)
    with pytest.raises(InputError, match=r"^ir_datasets:trueval-test-twice: row 2: the id 'd1' appears twice"):
        Collection.read("ir_datasets:trueval-test-twice")
    with pytest.raises(InputError, match="ir_datasets:no-such-name cannot be loaded"):
        Collection.read("ir_datasets:no-such-name")


class FakeMteb:
    """Tasks as mteb 2.26 has them: subset → split → data, of which only what is asked for is loaded."""

    def __init__(self, tasks: dict[str, dict[str, dict[str, Any]]]) -> None:
        self.tasks, self.loaded = tasks, list[tuple[str, str]]()

    def get_task(self, name: str, eval_splits: list[str] | None = None, hf_subsets: list[str] | None = None) -> Any:
        own = self.tasks[name]
        splits = list(next(iter(own.values())))
        task = SimpleNamespace(metadata=SimpleNamespace(hf_subsets=list(own), eval_splits=splits), dataset={})

        def load_data() -> None:
            for subset in hf_subsets or own:
                self.loaded += [(subset, split) for split in eval_splits or splits]
                task.dataset[subset] = {split: own[subset][split] for split in eval_splits or splits}

        task.load_data = load_data
        return task


def test_a_subset_and_a_split_of_mteb_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def data(word: str) -> dict[str, Any]:
        texts = {"corpus": [{"id": "p", "text": word}], "queries": [{"id": "q", "text": word}]}
        return {**texts, "relevant_docs": {"q": {"p": 1}}, "top_ranked": {"q": ["p"]}}

    library = FakeMteb({"Many": {"ar": {"dev": data("ar")}, "en": {"dev": data("en")}}, "One": {"default": {}}})
    library.tasks["One"]["default"] = {"dev": data("dev"), "test": data("test")}
    monkeypatch.setitem(sys.modules, "mteb", library)
    found = Collection.read("mteb:Many/en")
    assert (found.name, found.source, found.documents) == ("Many/en", "mteb:Many/en@dev", {"p": "en"})
    assert library.loaded == [("en", "dev")]  # no other language is downloaded
    assert Collection.read("mteb:Many/ar@dev").documents == {"p": "ar"}
    assert Collection.read("mteb:One").source == "mteb:One@dev"
    assert Collection.read("mteb:One@test").documents == {"p": "test"}
    for name, told in {
        "mteb:Many": "mteb:Many has 2 subsets, and none is named. It has: ar, en. Name one, as in mteb:Many/ar.",
        "mteb:Many/fr": "mteb:Many has no subset 'fr'. It has: ar, en. Name one, as in mteb:Many/ar.",
        "mteb:Many/en@test": "mteb:Many/en has no split 'test'. It has: dev. Name one, as in mteb:Many/en@dev.",
    }.items():
        with pytest.raises(InputError) as error:
            Collection.read(name)
        assert str(error.value) == told


def test_mteb_reranking_tasks_bring_their_own_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    split: dict[str, Any] = {
        "corpus": [{"id": "p", "title": "", "text": "Yes."}, {"id": "n", "text": "No."}],
        "queries": [{"id": "q", "text": "Really?"}],
        "relevant_docs": {"q": {"p": 1, "n": 0}},
        "top_ranked": {"q": ["n", "p"]},
    }
    library = FakeMteb({"Fake": {"default": {"test": split}}})
    monkeypatch.setitem(sys.modules, "mteb", library)
    found = Collection.read("mteb:Fake")
    assert (found.name, found.source) == ("Fake", "mteb:Fake@test")
    assert found.documents == {"p": "Yes.", "n": "No."}
    chosen = candidate_lists(found)
    assert [chosen.doc_ids[i] for i in chosen.lists[0]] == ["n", "p"]
    with pytest.raises(InputError, match="mteb:Other cannot be loaded"):
        Collection.read("mteb:Other")
    split["relevant_docs"] = {}
    assert Collection.read("mteb:Fake").judgments is None
    monkeypatch.setitem(sys.modules, "mteb", None)
    with pytest.raises(InputError, match="need the package mteb"):
        Collection.read("mteb:Fake")


def test_hashes_tell_texts_and_their_order_apart() -> None:
    assert len({text_hash(texts) for texts in (["a", "b"], ["b", "a"], ["ab"], ["ab", ""], [])}) == 5


def test_documents_below_grade_zero_are_no_candidates() -> None:
    judgments = Judgments.from_dict({"q": {"a": -1, "b": 0}})
    found = candidate_lists(Collection("c", "c", {"a": "x", "b": "y"}, {"q": "z"}, judgments))
    assert found.doc_ids == ("b",)


def test_nan_is_no_text_and_its_letters_are(tmp_path: Path) -> None:
    """pandas writes NaN where there is no text: searched, it would be a word."""
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "NaN"}\n')
    (tmp_path / "corpus.jsonl").write_text('{"_id": "a", "text": NaN}\n{"_id": "b", "text": "nan"}\n')
    lines = Collection.read(str(tmp_path))
    assert lines.documents == {"a": "", "b": "nan"}
    assert lines.queries == {"q": "NaN"}
    assert lines.notes == (f"{tmp_path / 'corpus.jsonl'}: 1 of 2 documents have no text, such as 'a'.",)
    (tmp_path / "corpus.jsonl").unlink()
    pl.DataFrame({"_id": ["a", "b"], "text": [float("nan"), 2.5]}).write_parquet(tmp_path / "corpus.parquet")
    assert Collection.read(str(tmp_path)).documents == {"a": "", "b": "2.5"}
