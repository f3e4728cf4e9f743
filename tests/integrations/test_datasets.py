"""Data sets of Hugging Face wherever a path may be: from disk, as there is no hub here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

datasets = pytest.importorskip("datasets", reason="datasets is not installed: make integrations")
from trueval.collection import Collection
from trueval.errors import InputError
from trueval.evaluation.evaluate import evaluate
from trueval.judgments import Judgments
from trueval.run import Run

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
QRELS = {"query-id": ["q1", "q1", "q2"], "corpus-id": ["a", "b", "b"], "score": [1, 0, 2]}
SCORED = {"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "b"], "score": [0.5, 0.5, 1.0]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Data sets that were saved: a run, and a collection as BEIR's, with the judgments of two splits."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    make = datasets.Dataset.from_dict
    make(SCORED).save_to_disk("run")
    other = {name: column[:1] for name, column in QRELS.items()}
    datasets.DatasetDict({"train": make(other), "test": make(QRELS)}).save_to_disk("own/qrels")
    datasets.DatasetDict(
        {"corpus": make({"_id": ["a", "b"], "title": ["A", ""], "text": ["one", "two"]})}
    ).save_to_disk("own/corpus")
    make({"_id": ["q1", "q2"], "text": ["first", "second"]}).save_to_disk("own/queries")
    return tmp_path


def test_a_saved_data_set_is_a_run_or_judgments(folder: Path) -> None:
    run = Run.read("hf:run")
    assert (run.name, run.frame["score"].to_list()) == ("run", [0.5, 0.5, 1.0])
    judgments = Judgments.of("hf:own/qrels")
    assert judgments.frame.rows() == [("q1", "a", 1.0), ("q1", "b", 0.0), ("q2", "b", 2.0)]
    assert judgments.source == "hf:own/qrels"
    assert len(Judgments.of(f"hf:{folder}/own/qrels@train").frame) == 1
    assert evaluate("hf:run", "hf:own/qrels@test", "RR")["RR"].expected == (0.75 + 1) / 2


def test_rows_that_were_selected_are_those_that_are_read(folder: Path) -> None:
    """A data set keeps the rows of its file, and which of them are meant."""
    datasets.load_from_disk("run").select([2, 0]).save_to_disk("some")
    assert Run.read("hf:some").frame["doc_id"].to_list() == ["b", "a"]


def test_a_folder_of_files_is_loaded_too(folder: Path) -> None:
    Path("plain").mkdir()
    Path("plain/test.jsonl").write_text('{"query_id": "q1", "doc_id": "a", "relevance": 1}\n')
    assert Judgments.read("hf:plain").frame.rows() == [("q1", "a", 1.0)]


def test_a_collection_has_texts_and_judgments(folder: Path) -> None:
    found = Collection.read("hf:own")
    assert dict(found.documents) == {"a": "A one", "b": "two"}
    assert dict(found.queries) == {"q1": "first", "q2": "second"}
    assert len(found.graded.frame) == 3
    assert len(Collection.read("hf:own@train").graded.frame) == 1
    bare = Collection.read("hf:own", qrels="hf:own/qrels@train")
    assert len(bare.graded.frame) == 1


def test_bad_input_is_one_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = datasets.DatasetDict({name: datasets.Dataset.from_dict(QRELS) for name in ("one", "two")})
    many.save_to_disk("many")
    with pytest.raises(InputError, match=r"^hf:many: the splits are one, two\. Name one of them, hf:many@SPLIT\.$"):
        Judgments.read("hf:many")
    with pytest.raises(InputError, match=r"^hf:own/qrels: the splits are train, test\. Name one"):
        Judgments.read("hf:own/qrels@dev")
    with pytest.raises(InputError, match=r"^hf:own/queries: .*columns?"):
        Judgments.read("hf:own/queries")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match=r"^hf:no-owner/no-name cannot be loaded: .* Correct the name, or give a file"):
        Judgments.read("hf:no-owner/no-name")
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match=r'^Names that begin with "hf:" need the package datasets, which is not inst'):
        Run.read("hf:run")


def test_a_hub_is_asked_for_owner_name_configuration_and_split(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def load(path: str, config: str | None) -> Any:
        asked.append((path, config))
        return datasets.DatasetDict({"test": datasets.Dataset.from_dict(QRELS)})

    monkeypatch.setattr(datasets, "load_dataset", load)
    monkeypatch.setattr(datasets, "get_dataset_config_names", lambda path: ["corpus", "queries", "default"])
    for name in ("hf:BeIR/scifact-qrels", "hf:BeIR/scifact-qrels@test", "hf:mteb/scifact/default"):
        assert len(Judgments.read(name).frame) == 3
    assert asked == [("BeIR/scifact-qrels", None)] * 2 + [("mteb/scifact", "default")]
    asked.clear()
    with pytest.raises(InputError):  # these rows have no texts
        Collection.read("hf:mteb/scifact")
    assert asked == [("mteb/scifact", "corpus")]
