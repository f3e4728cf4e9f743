"""`trueval check`: files whose numbers would mean nothing are found, and no other file is blamed."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Outcome

Command = Callable[..., Outcome]
ROOT = Path(__file__).resolve().parents[2]
RUNS = {
    "good": "q1 Q0 a 1 2 x\nq1 Q0 c 2 1 x\nq2 Q0 b 1 2 x\n",
    "copy": "q2 Q0 b 1 2 other\nq1 Q0 c 2 1 other\nq1 Q0 a 1 2 other\n",
    "strange": "q1 Q0 z 1 2 x\nq2 Q0 y 1 2 x\n",
    "queries": "p1 Q0 a 1 2 x\n",
    "twice": "q1 Q0 a 1 2 x\nq1 Q0 a 2 1 x\n",
    "short": "q1 Q0 a 1 2 x\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """qrels.trec, the runs, and the corpus of both of its documents and one more."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.trec").write_text("q1 0 a 1\nq2 0 b 1\n", encoding="utf-8")
    for name, text in RUNS.items():
        (tmp_path / f"{name}.trec").write_text(text, encoding="utf-8")
    (tmp_path / "corpus.jsonl").write_text(
        "".join(f'{{"_id": "{each}", "text": "t"}}\n' for each in "abc"), encoding="utf-8"
    )
    return tmp_path


def test_good_files_pass_in_silence(trueval: Command, folder: Path) -> None:
    status, out, err = trueval("check", "qrels.trec", "good.trec", "-m", "RR nDCG@10", "--collection", folder)
    assert (status, out, err) == (0, "", "1 run checked, 0 problems\n")


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ("good strange", "strange: no retrieved document is judged."),
        ("good queries", "queries: no query of the run is judged"),
        ("good twice", "twice.trec:2: document 'a' is in query 'q1' twice"),
        ("good copy", "copy: holds the same rows as good."),
        ("absent.trec good", "absent.trec: "),
    ],
)
def test_what_means_nothing_is_one_problem_and_the_others_are_checked(
    trueval: Command, folder: Path, runs: str, said: str
) -> None:
    named = [each if "." in each else f"{each}.trec" for each in runs.split()]
    status, out, err = trueval("check", "qrels.trec", *named, "-m", "RR")
    assert (status, err) == (1, "2 runs checked, 1 problem\n")
    assert [line.partition(said)[0] for line in out.splitlines()] == ["problem: "]


def test_a_remark_of_evaluate_is_a_note_and_no_problem(trueval: Command, folder: Path) -> None:
    status, out, _ = trueval("check", "qrels.trec", "short.trec", "-m", "RR")
    assert (status, out) == (0, "note: short: judged and missing from the run: 1 query, 'q2'.\n")


@pytest.mark.parametrize(("options", "status"), [(("--rel", "2"), 1), (("--rel", "1"), 0), (("--grades", "1:2"), 0)])
def test_a_grade_that_nobody_gave_is_a_problem(
    trueval: Command, folder: Path, options: tuple[str, ...], status: int
) -> None:
    outcome = trueval("check", "qrels.trec", "good.trec", "-m", "RR", *options)
    assert outcome.status == status
    assert ("RR finds nothing relevant in any run: it counts grades from 2 on" in outcome.out) == bool(status)


def test_ids_that_the_corpus_lacks_are_named_file_by_file(trueval: Command, folder: Path) -> None:
    arguments = ("check", "qrels.trec", "good.trec", "strange.trec", "-m", "RR", "--collection", folder)
    (folder / "corpus.jsonl").write_text('{"_id": "a", "text": "t"}\n{"_id": "c", "text": "t"}\n', encoding="utf-8")
    status, out, _ = trueval(*arguments)
    about = [line for line in out.splitlines() if "another version" in line]
    counted = [re.sub(r" in \S*corpus.jsonl, which lacks", ":", line).partition(". Are")[0] for line in about]
    assert counted == [
        "problem: judgments: 1 of 2 documents are: 'b'",
        "problem: good: 2 of 3 documents are: 'b'",
        "problem: strange: none of 2 documents are: 'y', 'z'",
    ]
    (folder / "corpus.jsonl").unlink()
    status, out, _ = trueval(*arguments)
    assert (status, "corpus.jsonl" in out.splitlines()[-1]) == (1, True)


def test_judgments_that_cannot_be_read_are_the_only_problem(trueval: Command, folder: Path) -> None:
    (folder / "qrels.trec").write_text("q1 0 a good\n", encoding="utf-8")
    status, out, _ = trueval("check", "qrels.trec", "good.trec", "strange.trec")
    assert (status, len(out.splitlines())) == (1, 1)
    assert out.startswith("problem: qrels.trec:1: ")


def test_the_hook_of_pre_commit_is_this_command(trueval: Command, folder: Path) -> None:
    """pre-commit adds the arguments of the user, then the files that changed and match."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert hook["language"] == "python"
    changed = [name for name in ("good.trec", "copy.trec", "a.run.gz", "qrels.py") if re.search(hook["files"], name)]
    assert changed == ["good.trec", "copy.trec", "a.run.gz"]
    program, *arguments = shlex.split(hook["entry"])
    assert program == "trueval"
    assert trueval(*arguments, "qrels.trec", "-m", "RR", *changed[:1]).status == 0
    assert trueval(*arguments, "qrels.trec", "-m", "RR", *changed[:2]).status == 1
