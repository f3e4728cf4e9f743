"""What a cache holds: entries of models and pipelines, what is somebody else's, and what removing leaves."""

import os
import time
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import numpy as np
import pytest

from trueval.collection import Collection
from trueval.errors import InputError, PolicyError
from trueval.models.outputs import OutputPart, part_outputs
from trueval.retrieval.cache import age_of, cache_for, read_cache, remove, select_entries, select_evictions, user_cache
from trueval.retrieval.pipeline.pipeline import Pipeline

NOW = datetime.now(UTC)


class Model:
    """Numbers from the length of a text; it can be interrupted."""

    batch_size = 1

    def __init__(self, fails_at: int = 1000) -> None:
        self.left = fails_at

    def embed(self, texts: list[str], called: list[str]) -> np.ndarray:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)


def embed(cache: Path, name: str, texts: int = 3, fails_at: int = 1000) -> None:
    pytest.importorskip("safetensors", reason='needs the extra "models"')
    model = Model(fails_at)
    part = OutputPart("documents", ["x" * (at + 1) for at in range(texts)], ["?"] * texts, model.embed, len)
    part_outputs(model, part, {"model": name, "dtype": "float32"}, folder=cache / "outputs")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Embeddings of two models, one of them interrupted; an index and a stage; and what others left there."""
    pytest.importorskip("bm25s", reason='needs the extra "retrieval"')
    place = tmp_path / "cache"
    embed(place, "org/whole")
    with pytest.raises(KeyboardInterrupt):
        embed(place, "halfway", texts=40, fails_at=1)
    settings = {"sparse": {"index": "bm25", "depth": 2}}
    from trueval.retrieval.pipeline.config import settings_of_tables

    collection = Collection("c", "c", {"a": "wings lift", "b": "a wing"}, {"q": "wing"})
    Pipeline(settings_of_tables(settings, "here"), "p").retrieve(collection, cache=place)
    (place / "notes.txt").write_text("mine")
    (place / "outputs" / "mine-0123456789ab").mkdir()
    (place / "outputs" / "mine-0123456789ab" / "part.json").write_text('{"kind": "other"}')
    (place / "indexes" / "notes.txt").write_text("mine")
    return place


def test_everything_that_is_kept_is_found_and_nothing_else(cache: Path) -> None:
    found = read_cache(cache)
    kinds = [(each.kind, each.about.partition("(")[0], each.items, each.state) for each in found.entries]
    assert kinds == [
        ("indexes", "bm25", 2, "complete"),
        ("outputs", "halfway float32 documents", 40, "interrupted"),
        ("outputs", "org/whole float32 documents", 3, "complete"),
        ("stages", "candidates", None, "complete"),
    ]
    assert found.others == 3
    held = sum(file.stat().st_size for file in cache.rglob("*") if file.is_file())
    strange = sum((cache / name).stat().st_size for name in STRANGE)
    assert sum(each.bytes for each in found.entries) == held - strange


STRANGE = ("notes.txt", "outputs/mine-0123456789ab/part.json", "indexes/notes.txt")


def test_removing_all_leaves_what_is_not_ours(cache: Path) -> None:
    found = read_cache(cache)
    remove(select_entries(found, ["all"], None, NOW))
    assert sorted(str(file.relative_to(cache)) for file in cache.rglob("*") if file.is_file()) == sorted(STRANGE)
    assert read_cache(cache).entries == ()


def test_what_was_removed_is_made_again(cache: Path) -> None:
    before = read_cache(cache)
    remove(select_entries(before, ["outputs"], None, NOW))
    assert {each.kind for each in read_cache(cache).entries} == {"indexes", "stages"}
    embed(cache, "org/whole")
    assert {each.name for each in read_cache(cache).entries} < {each.name for each in before.entries}


def test_entries_are_chosen_by_kind_beginning_and_age(cache: Path) -> None:
    found = read_cache(cache)
    assert {each.kind for each in select_entries(found, ["stages", "indexes"], None, NOW)} == {"stages", "indexes"}
    assert [each.about for each in select_entries(found, ["org-whole"], None, NOW)] == ["org/whole float32 documents"]
    old = next(each for each in found.entries if each.about.startswith("org"))
    for file in (*old.paths, *old.paths[0].rglob("*")):
        os.utime(file, (NOW.timestamp() - 7200,) * 2)
    found = read_cache(cache)
    assert [each.name for each in select_entries(found, [], age_of("1h"), NOW)] == [old.name]
    assert select_entries(found, [], age_of("1d"), NOW) == ()
    with pytest.raises(PolicyError, match=r"nothing there is called 'stage5'\. Did you mean stages\?"):
        select_entries(found, ["stage5"], None, NOW)


def test_what_is_not_complete_and_new_may_be_at_work(cache: Path) -> None:
    for each in read_cache(cache).entries:
        assert each.is_busy(NOW) == (each.state == "interrupted")
        assert not each.is_busy(NOW + timedelta(hours=2))


def test_what_ended_processes_began_is_a_leftover(tmp_path: Path) -> None:
    stages, indexes = tmp_path / "stages", tmp_path / "indexes"
    stages.mkdir()
    (indexes / ".bm25-0123456789abcdef.x7_q").mkdir(parents=True)
    (stages / ".sparse-0123456789abcdef.parquet.ab12").write_bytes(b"")
    (stages / "sparse-0123456789abcdef.json").write_text("{}")  # the remarks, without the candidates
    found = read_cache(tmp_path)
    assert [each.state for each in found.entries] == ["leftover"] * 3
    remove(found.entries)
    assert not list(stages.iterdir())
    assert not list(indexes.iterdir())


def test_links_are_left_alone(cache: Path, tmp_path: Path) -> None:
    (whole,) = (each for each in read_cache(cache).entries if each.about.startswith("org"))
    whole.paths[0].rename(tmp_path / "elsewhere")
    whole.paths[0].symlink_to(tmp_path / "elsewhere")
    found = read_cache(cache)
    assert found.others == 4
    remove(found.entries)
    assert (whole.paths[0] / "rows.npy").is_file()


def test_a_folder_that_is_not_there_holds_nothing_and_a_file_is_refused(tmp_path: Path) -> None:
    assert read_cache(tmp_path / "absent").entries == ()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="this is a file"):
        read_cache(tmp_path / "file")


@pytest.mark.parametrize("text", ["30", "d", "1.5d", "-1d", "1m", ""])
def test_an_age_has_a_unit(text: str) -> None:
    with pytest.raises(PolicyError, match="such as 12h, 30d or 4w"):
        age_of(text)


def test_the_cache_of_the_user_is_where_the_system_has_it() -> None:
    home = Path.home()
    assert user_cache({}, "linux") == home / ".cache" / "trueval"
    assert user_cache({"XDG_CACHE_HOME": "relative"}, "linux") == home / ".cache" / "trueval"
    assert user_cache({}, "darwin") == home / "Library" / "Caches" / "trueval"
    assert user_cache({"LOCALAPPDATA": "/local"}, "win32") == Path("/local/trueval/Cache")
    assert user_cache({"TRUEVAL_CACHE": "here", "XDG_CACHE_HOME": "/big"}, "linux") == Path("here")


def test_files_that_are_moved_meanwhile_are_no_fault(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, inside = read_cache(cache), Path.rglob
    monkeypatch.setattr(Path, "rglob", lambda path, pattern: [*inside(path, pattern), path / ".shard.half"])
    assert read_cache(cache) == before


def test_entries_leave_by_when_they_were_last_used(cache: Path) -> None:
    long_ago = NOW.timestamp() - 90 * 86400
    for place in [*(cache / "outputs").glob("*-*"), *(cache / "indexes").glob("*-*"), *(cache / "stages").iterdir()]:
        for file in [place, *place.rglob("*")]:
            os.utime(file, (long_ago, long_ago))
    found = read_cache(cache).entries
    whole = next(each for each in found if each.about.startswith("org/whole"))
    embed(cache, "org/whole")  # it is read
    size = sum(each.bytes for each in found)
    assert select_evictions(read_cache(cache), size, NOW) == ()
    (first,) = select_evictions(read_cache(cache), size - 1, NOW)
    assert first.used < NOW - timedelta(days=89)
    gone = select_evictions(read_cache(cache), 0, NOW)
    assert whole.name not in {each.name for each in gone}  # in use within the hour
    assert len(gone) == len(found) - 1
    assert [each.used for each in gone] == sorted(each.used for each in gone)


@pytest.mark.parametrize("days", [-1, 1])
def test_a_clock_that_is_wrong_by_a_day_removes_nothing_in_use(
    days: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ages in a cache are by the clock that dates its files, not by that of the machine that looks."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Clock":
            return cls.fromtimestamp(datetime.now(UTC).timestamp() + 86_400 * days, tz)

    monkeypatch.setattr("trueval.retrieval.cache.datetime", Clock)
    monkeypatch.setenv("TRUEVAL_CACHE", str(tmp_path))
    monkeypatch.setenv("TRUEVAL_CACHE_LIMIT", "1")
    embed(tmp_path, "org/fresh")
    embed(tmp_path, "org/stale")
    for each in read_cache(tmp_path).entries:
        if each.about.startswith("org/stale"):
            for path in (file for top in each.paths for file in (top, *top.rglob("*"))):
                os.utime(path, (time.time() - 7_200,) * 2)
    (note,) = cache_for(None, None).notes
    assert note.startswith("1 entry that was not used since")
    assert [each.about.split()[0].rstrip(",") for each in read_cache(tmp_path).entries] == ["org/fresh"]
