"""A damaged entry of the cache is made again, with a note; no damage gives another run."""

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import need
from tests.retrieval.test_changed_documents import Model, collection, use  # noqa: F401 - use is a fixture

from trueval.errors import TruevalWarning
from trueval.files import digests
from trueval.models.output_reuse import reuse_part
from trueval.models.outputs import OutputPart, part_outputs
from trueval.retrieval.pipeline.config import settings_of_tables
from trueval.retrieval.pipeline.pipeline import Pipeline

need("faiss", "bm25s", extra="retrieval")
need("safetensors", extra="models")

TABLES = {
    "embed": {"model": "embedder", "dtype": "float32"},
    "index": {"depth": 30},
    "sparse": {"index": "bm25(language=None)"},
    "rerank": {"model": "reranker", "dtype": "float32", "depth": 20},
}


def run(cache: Path) -> tuple[Any, list[str]]:
    """The run of the pipeline, and what was remarked meanwhile."""
    digests.forget()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", TruevalWarning)
        found = Pipeline(settings_of_tables(TABLES, "test"), "mine").retrieve(collection(), cache=cache)
    frames = [stage.run.frame for stage in found.stages]
    return frames, [str(each.message) for each in told]


@pytest.fixture
def clean(use: Any, tmp_path: Path) -> tuple[Path, Any, list[str]]:  # noqa: F811 - the fixture
    """A cache, the run that it was made by, and what models are given from then on."""
    log = use("float32")
    cache = tmp_path / "clean"
    frames, told = run(cache)
    assert told == []
    log.clear()
    return cache, frames, log


def flipped(at: float) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        data = bytearray(file.read_bytes())
        data[int(at * (len(data) - 1))] ^= 0x10
        file.write_bytes(data)

    return damage


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def of_another(file: Path) -> None:
    """The file of the same kind that belongs to another entry."""
    places = (
        file.parent.glob(f"*{file.suffix}")
        if file.parent.name == "stages"
        else file.parent.parent.glob(f"*/{file.name}")
    )
    others = [each for each in sorted(places) if each.read_bytes() != file.read_bytes()]
    if others:
        file.write_bytes(others[0].read_bytes())
    else:
        file.write_bytes(b"another " + file.read_bytes())


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "the first byte": flipped(0),
    "a byte at a third": flipped(1 / 3),
    "a byte at two thirds": flipped(2 / 3),
    "the last byte": flipped(1),
    "half of it": cut,
    "nothing left": lambda file: file.write_bytes(b""),
    "more at the end": lambda file: file.write_bytes(file.read_bytes() + b" "),
    "that of another entry": of_another,
    "removed": Path.unlink,
}


def same(found: Any, frames: Any) -> bool:
    return all(one.equals(other) for one, other in zip(found, frames, strict=True))


@pytest.mark.slow
def test_no_damage_gives_another_run_and_each_is_told(clean: tuple[Path, Any, list[str]], tmp_path: Path) -> None:
    cache, frames, log = clean
    files = [each.relative_to(cache) for each in sorted(cache.rglob("*")) if each.is_file()]
    assert {file.name for file in files} >= {"rows.npy", "keys.npy", "vectors.faiss", "indptr.npy", "part.json"}
    tried = 0
    for file in files:
        for name, damage in DAMAGES.items():
            copy = tmp_path / "copy"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(cache, copy)
            for above in ("outputs", "indexes", "stages")[("outputs", "indexes", "stages").index(file.parts[0]) + 1 :]:
                shutil.rmtree(copy / above)  # so that the entry is read
            damage(copy / file)
            found, told = run(copy)
            assert same(found, frames), (file, name)
            entry = file.parts[1].removesuffix(".json").removesuffix(".parquet")
            blank = name == "more at the end" and (file.name == digests.DIGESTS or file.parts[0] == "stages")
            if name != "removed" and not (blank and file.suffix == ".json"):  # JSON may end in blanks
                assert any(entry in each and "It is made again." in each for each in told), (file, name, told)
            log.clear()
            again, told = run(copy)
            assert (same(again, frames), told, log) == (True, [], []), (file, name)
            tried += 1
    assert tried == len(files) * len(DAMAGES) > 200


@pytest.mark.parametrize("kind", ["outputs", "indexes", "stages"])
def test_whole_entries_that_are_swapped_are_noticed(
    clean: tuple[Path, Any, list[str]], tmp_path: Path, kind: str
) -> None:
    cache, frames, _ = clean
    for above in ("outputs", "indexes", "stages")[("outputs", "indexes", "stages").index(kind) + 1 :]:
        shutil.rmtree(cache / above)
    names = sorted({each.name.split(".")[0] if kind == "stages" else each.name for each in (cache / kind).iterdir()})
    one, other = (names[0], names[1]) if kind != "indexes" else names
    for suffix in (".json", ".parquet") if kind == "stages" else ("",):
        first, second, aside = (
            cache / kind / f"{one}{suffix}",
            cache / kind / f"{other}{suffix}",
            tmp_path / f"aside{suffix}",
        )
        first.rename(aside)
        second.rename(first)
        aside.rename(second)
    found, told = run(cache)
    assert same(found, frames)
    assert len([each for each in told if "It is made again." in each]) == 2


def embedded(folder: Path, fails_at: int = 100, text: str = "x", items: int = 200) -> Any:
    """What a model gave for some texts, or what it gave before it was stopped."""
    left = [fails_at]

    def forward(texts: Any, called: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return np.array([[len(each), 1.0] for each in texts], dtype=np.float32)

    model = Model("float32", "product", [])
    model.batch_size = 1
    texts = [text * (at + 1) for at in range(items)]
    return reuse_part(model, OutputPart("documents", texts, texts, forward, len), model.settings(), folder)


@pytest.mark.parametrize("items", [200, 201])
def test_what_a_stopped_pass_left_is_checked_too(tmp_path: Path, items: int) -> None:
    with pytest.raises(KeyboardInterrupt):
        embedded(tmp_path / "stopped", fails_at=3)
    with pytest.raises(KeyboardInterrupt):
        embedded(tmp_path / "other", fails_at=2, text="é")
    (shard, *_), (other, *_) = (sorted((tmp_path / name).rglob("shard-*")) for name in ("stopped", "other"))
    for name, damage in {**DAMAGES, "that of another entry": lambda file: file.write_bytes(other.read_bytes())}.items():
        copy = tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(tmp_path / "stopped", copy)
        damage(copy / shard.relative_to(tmp_path / "stopped"))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", TruevalWarning)
            found = embedded(copy, items=items)
        assert np.asarray(found.rows)[:, 0].tolist() == [float(at + 1) for at in range(items)], name
        if name != "removed":
            assert "shard-00000" in str(told[0].message), name


def test_a_damaged_pass_is_made_again_in_its_place(tmp_path: Path) -> None:
    model = Model("float32", "product", [])
    part = OutputPart("documents", ["a b"], ["a"], model.embed_documents, len)
    first = np.array(part_outputs(model, part, model.settings(), folder=tmp_path).rows)  # not as the file has them
    (place,) = tmp_path.iterdir()
    flipped(1)(place / "rows.npy")
    digests.forget()
    with pytest.warns(TruevalWarning, match=r"rows.npy .*It is made again"):
        again = part_outputs(model, part, model.settings(), folder=tmp_path)
    assert np.array_equal(first, np.asarray(again.rows))
