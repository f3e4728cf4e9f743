"""What tables call files: their own names, names that people give, and what tells files of one name apart."""

from pathlib import Path

import pytest

from trueval.files.display_names import name_files, path_of


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        (["a/bm25.trec.gz", "dense.trec"], ["bm25", "dense"]),
        (["a/run.trec", "b/run.trec"], ["a/run", "b/run"]),
        (["x/a/run.trec", "x/b/run.trec", "x/other.trec"], ["a/run", "b/run", "other"]),
        (["2024/out/run.trec", "2025/out/run.trec"], ["2024/out/run", "2025/out/run"]),
        (["x/run.trec", "x/y/run.trec"], ["run", "y/run"]),
        (["run.trec", "b/run.trec"], ["run", "b/run"]),
        (["a/run.trec", "a/run.tsv"], ["run.trec", "run.tsv"]),
        (["a/run.trec", "b/run.tsv", "b/run.trec"], ["a/run.trec", "b/run.tsv", "b/run.trec"]),
        (["new=a/run.trec", "b/run.trec"], ["new", "run"]),
        (["bm25=a/run.trec", "b/bm25.trec"], ["bm25", "b/bm25"]),
        (["./run.trec", "run.trec"], ["./run.trec", "run.trec"]),
        (["-", "mine=-"], ["<stdin>", "mine"]),
        (["a/b=c.trec"], ["b=c"]),  # the name before "=" holds no folder
        (["=x.trec", "x="], ["=x", "x="]),
    ],
)
def test_each_file_has_its_own_name(texts: list[str], names: list[str]) -> None:
    assert [file.name for file in name_files(texts)] == names


def test_a_file_whose_own_name_has_an_equals_sign_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert path_of("k=10.trec") == "10.trec"
    (tmp_path / "k=10.trec").touch()
    assert path_of("k=10.trec") == "k=10.trec"
    assert name_files(["k=10.trec"])[0].name == "k=10"
    assert name_files(["mine=k=10.trec"])[0] == ("mine", "k=10.trec")
