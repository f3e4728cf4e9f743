"""`trueval cache`, and where `trueval retrieve` keeps things when nobody says so."""

import json
import os
from pathlib import Path

import pytest
from tests.extras import need

from trueval.sample import sample_path

need("bm25s", extra="retrieval")


def retrieve(trueval, tmp_path: Path):
    return trueval("retrieve", sample_path(), "--index", "bm25", "--depth", 5, "--run", tmp_path / "r.trec")


def test_without_out_the_users_cache_keeps_what_is_made(trueval, tmp_path: Path) -> None:
    first, second = retrieve(trueval, tmp_path), retrieve(trueval, tmp_path)
    assert (first.status, second.status) == (0, 0), first.err
    assert ("kept: 1 stage" in first.out, "kept: 1 stage" in second.out) == (False, True)
    shown = trueval("cache", columns=200)
    assert shown.status == 0
    assert [line.split()[0] for line in shown.out.splitlines()] == [
        *("kind", "indexes", "stages", "indexes:", "stages:", "in"),
    ]
    assert f"in {tmp_path / 'cache of the user'}" in shown.err


def test_with_out_it_is_the_same_cache_and_nobody_elses_to_read(trueval, tmp_path: Path, monkeypatch) -> None:
    words = ("retrieve", sample_path(), "--index", "bm25", "--depth", 5)
    first, second = (trueval(*words, "--out", tmp_path / name) for name in ("one", "other"))
    assert (first.status, second.status) == (0, 0), first.err
    assert ("kept: 1 stage" in first.out, "kept: 1 stage" in second.out) == (False, True)
    assert not (tmp_path / "one" / "cache").exists()
    assert (tmp_path / "cache of the user").stat().st_mode & 0o777 == 0o700
    named = trueval(*words, "--out", tmp_path / "third", "--cache", tmp_path / "mine")
    assert "kept: 1 stage" not in named.out
    assert sorted(each.name for each in (tmp_path / "mine").iterdir()) == ["indexes", "stages"]


def test_a_home_that_cannot_be_written_falls_back_to_out(trueval, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRUEVAL_CACHE", str(tmp_path / "file" / "cache"))
    out = tmp_path / "out"
    words = ("retrieve", sample_path(), "--index", "bm25", "--depth", 5, "--out", out)
    found = trueval(*words)
    assert found.status == 0
    told = " ".join(found.err.split())
    assert f"cannot be written (Not a directory). What is computed is kept in {out / 'cache'}." in told
    assert "kept: 1 stage" in trueval(*words).out
    monkeypatch.delenv("TRUEVAL_CACHE")
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert "kept: 1 stage" in trueval(*words).out


def no_home() -> Path:
    raise RuntimeError("Could not determine home directory.")


def test_the_oldest_unused_leaves_when_the_cache_is_full(trueval, tmp_path: Path, monkeypatch) -> None:
    cache = tmp_path / "cache of the user"
    for depth in (5, 6, 7):
        index = f"bm25(k1=0.{depth})"
        outcome = trueval("retrieve", sample_path(), "--index", index, "--depth", 5, "--run", tmp_path / "r.trec")
        assert outcome.status == 0, outcome.err
    entries = [*(cache / "indexes").iterdir(), *(cache / "stages").glob("*.json")]
    assert len(entries) == 6
    for number, entry in enumerate(sorted(entries, key=lambda each: each.stat().st_mtime)):
        mark = entry / "digests.json" if entry.is_dir() else entry
        for each in (*([entry, *entry.iterdir()] if entry.is_dir() else [entry, entry.with_suffix(".parquet")]), mark):
            os.utime(each, (1e9 + 3600 * number,) * 2)
    kept = trueval("cache", "--format", "json")
    sizes = {each["name"]: each["bytes"] for each in json.loads(kept.out)["entries"]}
    monkeypatch.setenv("TRUEVAL_CACHE_LIMIT", str(sum(sizes.values()) - 1))
    again = trueval("retrieve", sample_path(), "--index", "bm25(k1=0.7)", "--depth", 4, "--run", tmp_path / "r.trec")
    assert again.status == 0
    assert "1 entry that was not used since" in again.err
    left = {
        each.name.removesuffix(".json") for each in [*(cache / "indexes").iterdir(), *(cache / "stages").glob("*.json")]
    }
    gone = set(sizes) - left
    assert len(gone) == 1
    monkeypatch.setenv("TRUEVAL_CACHE_LIMIT", "much")
    assert trueval("cache").status == 2


def test_removing_shows_first_and_removes_with_yes(trueval, tmp_path: Path) -> None:
    retrieve(trueval, tmp_path)

    def kinds(*words: object) -> list[str]:
        return [each["kind"] for each in json.loads(trueval("cache", *words, "--format", "json").out)["entries"]]

    assert kinds() == ["indexes", "stages"]
    assert kinds("--remove", "stages", "--older-than", "1d", "--yes") == []
    dry = trueval("cache", "--remove", "stages")
    assert "nothing is removed yet; add --yes to remove these 1" in dry.err
    assert kinds() == ["indexes", "stages"]
    assert kinds("--remove", "stages", "--yes") == ["stages"]
    assert kinds() == ["indexes"]


def test_a_cache_that_cannot_be_made_costs_no_run(trueval, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRUEVAL_CACHE", str(tmp_path / "file" / "cache"))
    outcome = retrieve(trueval, tmp_path)
    assert outcome.status == 0
    assert "Nothing is kept." in outcome.err
    assert (tmp_path / "r.trec").is_file()


def test_misuse_is_one_line(trueval, tmp_path: Path) -> None:
    for words, said in {
        ("--yes",): "say what to remove",
        ("--remove", "nothing-here"): "nothing there is called 'nothing-here'",
        ("--remove", "", "--yes"): "A name is empty",
        ("--older-than", "30"): "such as 12h, 30d or 4w",
    }.items():
        outcome = trueval("cache", tmp_path, *words, columns=200)
        assert (outcome.status, said in outcome.err) == (2, True), outcome.err


@pytest.mark.parametrize("word", ["list", "nowhere/cache"])
def test_a_folder_that_is_not_there_is_refused(trueval, word: str) -> None:
    outcome = trueval("cache", word, columns=200)
    assert (outcome.status, outcome.out) == (2, "")
    assert f"{word} is not there. trueval cache alone shows the user's cache" in outcome.err
