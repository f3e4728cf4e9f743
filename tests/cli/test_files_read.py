"""What --out says of the files that were read: the bytes that were measured, and of pipes too."""

import gzip
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.cli.conftest import CLEAR, QRELS, TIED, Outcome

from trueval.evaluation.details_result import RunEvidence
from trueval.evaluation.views import details as views

Command = Callable[..., Outcome]
needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")


def files_of(folder: Path) -> list[dict[str, Any]]:
    files: list[dict[str, Any]] = json.loads((folder / "details.json").read_text(encoding="utf-8"))["files"]
    return files


def entry(role: str, path: str, data: bytes) -> dict[str, Any]:
    return {"role": role, "path": path, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def pipe(path: Path, data: bytes) -> Path:
    os.mkfifo(path)
    Thread(target=path.write_bytes, args=(data,), daemon=True).start()
    return path


def test_a_file_replaced_during_the_run_has_the_hash_of_what_was_measured(
    trueval: Command, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = views.run_evidence

    def replacing(*arguments: Any) -> RunEvidence:
        (files / "tied.trec").write_text(CLEAR, encoding="utf-8")
        return given(*arguments)

    monkeypatch.setattr(views, "run_evidence", replacing)
    out = files / "out"
    assert trueval("evaluate", files / "qrels.trec", files / "tied.trec", "--out", out).status == 0
    assert files_of(out) == [
        entry("judgments", "qrels.trec", QRELS.encode()),
        entry("run", "tied.trec", TIED.encode()),
    ]


@needs_pipes
def test_pipes_and_standard_input_are_read_once_and_hashed(trueval: Command, files: Path) -> None:
    packed = gzip.compress(CLEAR.encode())
    qrels, run, out = pipe(files / "q", QRELS.encode()), pipe(files / "r", packed), files / "out"
    assert trueval("evaluate", qrels, run, "-", "--out", out, stdin=TIED).status == 0
    expected = [("judgments", "q", QRELS.encode()), ("run", "r", packed), ("run", "-", TIED.encode())]
    assert files_of(out) == [entry(*each) for each in expected]


@needs_pipes
@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("evaluate", ()),
        ("evaluate", ("--max-drop", "1", "--baseline", "base")),
        ("compare", ("--baseline", "base")),
        ("power", ("--baseline", "base")),
        ("compare", ("--clusters", "clusters")),
        ("explain", ()),
    ],
)
def test_every_command_reads_pipes(
    command: str, option: tuple[str, str], trueval: Command, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    wide = [text.replace("q ", f"{query} ") for query in ("q", "p", "o") for text in (QRELS, TIED, CLEAR)]
    for name, text in zip(("qrels", "tied", "clear"), ("".join(wide[at::3]) for at in range(3)), strict=True):
        pipe(files / name, text.encode())
    pipe(files / "base", "".join(wide[2::3]).encode())
    pipe(files / "clusters", b"q a\np b\no c\n")
    runs = ["tied"] if command == "explain" or "base" in option else ["tied", "clear"]
    found = trueval(command, "qrels", *runs, *option, "-m", "RR")
    # So few queries decide no gate; what is asked here is that all of them are read.
    assert found.status == 0 or (option[0] == "--max-drop" and "not worse" in found.err), found.err


@needs_pipes
def test_what_must_be_read_twice_cannot_be_a_pipe(trueval: Command, files: Path) -> None:
    log = pipe(files / "log", b'{"query": "q", "ids": ["a"], "gold": ["a"]}\n')
    status, _, err = trueval("evaluate", log, log, "-m", "RR")
    assert status == 2
    assert "can be read once only: save it to a file" in " ".join(err.replace("│", " ").split())


def test_everything_that_is_read_is_listed_with_its_role(
    trueval: Command, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {
        "sources.tsv": "a\tx\n",
        "clusters.tsv": "q\tc\n",
        "answers.tsv": "q\t1\n",
        "texts/corpus.jsonl": '{"_id": "a", "text": "A"}\n',
        "texts/queries.jsonl": '{"_id": "q", "text": "Q"}\n',
    }
    (files / "texts").mkdir()
    for name, text in texts.items():
        (files / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(files)
    measures = ["-m", "RR AllGold@2"]
    assert trueval("evaluate", "qrels.trec", "clear.trec", *measures, "--out", "old").status == 0
    options = ["--sources=sources.tsv", "--correct=answers.tsv", "--clusters=clusters.tsv", "--collection=texts"]
    gates = ["--max-drop", "RR=1", "--baseline", "old", "--out", "out"]
    trueval("evaluate", "qrels.trec", "tied.trec", *measures, *options, *gates)  # one query decides no gate
    roles = {
        "qrels.trec": "judgments", "tied.trec": "run", "sources.tsv": "sources", "clusters.tsv": "clusters",
        "answers.tsv": "answers", "texts/corpus.jsonl": "collection", "texts/queries.jsonl": "collection",
        "old/results.json": "baseline", "old/details.json": "baseline", "old/queries.parquet": "baseline",
    }  # fmt: skip
    listed = {file["path"]: file for file in files_of(files / "out")}
    assert listed == {path: entry(role, path, Path(path).read_bytes()) for path, role in roles.items()}


def test_file_names_that_are_not_utf_8_are_written_out_in_results(
    trueval: Command, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(files)
    qrels, run, texts, out = (os.fsdecode(name) for name in (b"q\xe9", b"r\xe9.trec", b"t\xe9", b"o\xe9"))
    try:
        Path(qrels).write_text(QRELS, encoding="utf-8")
    except OSError:
        pytest.skip("the file system takes names in UTF-8 alone")
    Path(run).write_text(TIED, encoding="utf-8")
    Path(texts).mkdir()
    (Path(texts) / "corpus.jsonl").write_text('{"_id": "a"}\n', encoding="utf-8")
    for form in ("table", "json", "csv", "markdown", "latex", "trec"):
        found = trueval("evaluate", qrels, run, "clear.trec", "-m", "RR", "--format", form)
        assert (found.status, found.out.isascii()) == (0, True), found.err  # halves of surrogates are no output
    arguments = ("-m", "RR", "--collection", texts, "--max-drop", "1", "--baseline", run, "--out", out)
    assert trueval("evaluate", qrels, "clear.trec", *arguments).status <= 1
    paths = [file["path"] for file in files_of(Path(out))]
    assert paths == [r"q\udce9", "clear.trec", r"r\udce9.trec", r"t\udce9/corpus.jsonl"]
    stored = ("--max-drop", "1", "--baseline", f"{out}#clear", "--format", "json")
    assert r"o\\udce9#clear" in trueval("evaluate", qrels, run, "-m", "RR", *stored).out
    assert trueval("compare", qrels, run, "clear.trec", "-m", "RR", "--out", out).status == 0
    assert rb"r\udce9" in (Path(out) / "comparison.json").read_bytes().replace(b"\\\\", b"\\")
    assert trueval("evaluate", f"x{qrels}", run).err.startswith(r"trueval: xq\udce9: there is no such file")
