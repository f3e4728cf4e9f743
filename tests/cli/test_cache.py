"""`trueval cache`, and where `trueval retrieve` keeps things when nobody says so."""

import json
from pathlib import Path

import pytest

from trueval.sample import sample_path

pytest.importorskip("bm25s", reason='needs the extra "retrieval"')


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
    assert "so nothing is kept" in outcome.err
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
