"""Model folders that name code of their own: it does not run unless it is trusted."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from trueval.errors import InputError
from trueval.models import load_embedder, load_reranker

HOSTILE = """
from pathlib import Path
Path(__file__).with_name("ran").touch()
class Hostile: pass
"""


@pytest.fixture
def folder(folder_of, tmp_path):
    """A model folder with a module beside it that leaves a file where it is imported."""
    copy = tmp_path / "model"
    shutil.copytree(folder_of("sentence-transformer"), copy)
    (copy / "hostile.py").write_text(HOSTILE)
    return copy


@pytest.fixture
def careless(monkeypatch, folder):
    """Sentence-transformers as it was: it imports what the model names."""
    sentence_transformers = pytest.importorskip("sentence_transformers")

    def load(path, **options):
        monkeypatch.syspath_prepend(path)
        import hostile  # noqa: F401

        raise ValueError("it ran")

    monkeypatch.setattr(sentence_transformers, "SentenceTransformer", load)
    yield
    sys.modules.pop("hostile", None)


def name_a_module(folder: Path, kind: object) -> None:
    """Have modules.json name one more module, in the folder `part`."""
    modules = json.loads((folder / "modules.json").read_text())
    modules.append({"idx": len(modules), "name": "last", "path": "part", "type": kind})
    (folder / "modules.json").write_text(json.dumps(modules))


def write(folder: Path, name: str, content: object) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(content))


@pytest.mark.usefixtures("careless")
class TestNoCodeRuns:
    def test_of_a_module(self, folder: Path) -> None:
        name_a_module(folder, "hostile.Hostile")
        with pytest.raises(
            InputError, match=r"modules\.json names the class 'hostile\.Hostile'.*trust_remote_code=True"
        ):
            load_embedder(str(folder))
        assert not (folder / "ran").exists()

    @pytest.mark.parametrize(
        "kind",
        ["hostile", "sentence_transformers_hostile.Hostile", "sentence_transformers.", ["hostile.Hostile"], None],
    )
    def test_of_a_module_with_a_name_that_only_looks_right(self, folder: Path, kind: object) -> None:
        name_a_module(folder, kind)
        with pytest.raises(InputError, match="not part of sentence-transformers"):
            load_embedder(str(folder))
        assert not (folder / "ran").exists()

    @pytest.mark.parametrize("name", ["router_config.json", "config.json"])
    def test_of_a_route_within_a_route(self, folder: Path, name: str) -> None:
        name_a_module(folder, "sentence_transformers.models.Router")
        write(folder, f"part/{name}", {"types": {"route": "sentence_transformers.models.Router"}})
        write(folder, f"part/route/{name}", {"types": {"inner": "hostile.Hostile"}})
        with pytest.raises(InputError, match=f"part/route/{name} names the class 'hostile.Hostile'"):
            load_embedder(str(folder))
        assert not (folder / "ran").exists()

    def test_of_a_tokenizer_of_words(self, folder: Path) -> None:
        name_a_module(folder, "sentence_transformers.models.WordEmbeddings")
        write(folder, "part/wordembedding_config.json", {"tokenizer_class": "hostile.Hostile"})
        with pytest.raises(InputError, match=r"wordembedding_config\.json names the class 'hostile\.Hostile'"):
            load_embedder(str(folder))
        assert not (folder / "ran").exists()

    @pytest.mark.parametrize("text", ['{"types": 1}', "[[", "[" * 100_000, '[{"path": "."}', "[1]"])
    def test_of_files_that_cannot_be_read(self, folder: Path, text: str) -> None:
        (folder / "modules.json").write_text(text)
        with pytest.raises(InputError, match=r"modules\.json"):
            load_embedder(f"sentence-transformer:{folder}")
        assert not (folder / "ran").exists()

    def test_unless_it_is_trusted(self, folder: Path) -> None:
        name_a_module(folder, "hostile.Hostile")
        with pytest.raises(InputError, match="it ran"):
            load_embedder(str(folder), trust_remote_code=True)
        assert (folder / "ran").exists()


def test_the_library_itself_refuses_a_module(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The release that we require; should it import such classes again, this says so."""
    monkeypatch.setattr("trueval.models.local_model.refuse_foreign_code", lambda path: None)
    name_a_module(folder, "hostile.Hostile")
    with pytest.raises(InputError, match="trust_remote_code"):
        load_embedder(str(folder))
    assert not (folder / "ran").exists()


def test_transformers_refuses_what_auto_map_names(folder_of, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(folder_of("bge-reranker-v2-m3"), folder)
    (folder / "hostile.py").write_text(HOSTILE)
    config = json.loads((folder / "config.json").read_text())
    names = dict.fromkeys(("AutoConfig", "AutoModelForSequenceClassification", "AutoTokenizer"), "hostile.Hostile")
    write(folder, "config.json", config | {"model_type": "hostile", "auto_map": names})
    with pytest.raises(InputError, match="trust_remote_code"):
        load_reranker(f"bge-reranker-v2-m3:{folder}")
    assert not (folder / "ran").exists()
