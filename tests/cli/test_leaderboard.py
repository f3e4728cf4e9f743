"""`trueval leaderboard` of folders of tasks, of files, and of results of mteb: what it prints, writes and refuses."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import CLEAR, QRELS, TIED, Outcome

Command = Callable[..., Outcome]


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """Two tasks of two systems; the second has its runs in a table."""
    folder = tmp_path / "tasks"
    for name in ("alpha", "beta"):
        (folder / name).mkdir(parents=True)
        (folder / name / "qrels.trec").write_text(QRELS)
    (folder / "alpha" / "tied.trec").write_text(TIED)
    (folder / "alpha" / "clear.trec").write_text(CLEAR)
    (folder / "beta" / "runs").mkdir()
    rows = ["tied,q,a,2", "tied,q,b,2", "tied,q,d,1", "clear,q,b,4", "clear,q,a,3", "clear,q,c,1"]
    (folder / "beta" / "runs" / "all.csv").write_text("\n".join(["run,query,document,score", *rows]))
    return folder


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """Results of three models on seven tasks."""
    for place, model in enumerate(("org__large", "org__base", "org__small")):
        folder = tmp_path / "results" / model / "0123abc"
        folder.mkdir(parents=True)
        (folder / "model_meta.json").write_text("{}")
        for task in range(7):
            value = 0.6 - 0.1 * place + 0.01 * task
            entry = {"hf_subset": "default", "languages": ["eng-Latn"], "main_score": value, "ndcg_at_10": value / 2}
            result: dict[str, Any] = {"task_name": f"Task{task}", "scores": {"test": [entry]}}
            (folder / f"Task{task}.json").write_text(json.dumps(result))
    return tmp_path / "results"


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_folder_of_tasks(trueval: Command, tasks: Path, tmp_path: Path) -> None:
    found = trueval("leaderboard", tasks, "-m", "RR P@1", "--out", tmp_path / "out", "--format", "csv")
    assert found.status == 0
    rows = rows_of(found.out)
    first = [row for row in rows if (row["measure"], row["task"]) == ("RR", "")]
    assert [(row["system"], row["value"], row["lowest"], row["highest"]) for row in first] == [
        ("tied", "0.75", "0.5", "1.0"),
        ("clear", "0.5", "0.5", "0.5"),
    ]
    assert [row["borda"] for row in first] == ["2.0", "0.0"]
    assert {row["task"] for row in rows} == {"", "alpha", "beta"}
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "tied has the best RR" in page
    again = trueval("report", tmp_path / "out")
    assert again.status == 0


@pytest.mark.parametrize("form", ["table", "markdown", "latex", "json"])
def test_every_format(form: str, trueval: Command, tasks: Path) -> None:
    found = trueval("leaderboard", tasks, "-m", "RR", "--format", form)
    assert found.status == 0
    assert "tied" in found.out


def test_one_task_of_several_and_files(trueval: Command, tasks: Path) -> None:
    one = trueval("leaderboard", tasks, "--task", "alpha", "-m", "RR", "--format", "csv")
    folder = tasks / "alpha"
    same = trueval("leaderboard", folder, "-m", "RR", "--format", "csv")
    files = trueval(
        "leaderboard", folder / "qrels.trec", folder / "clear.trec", folder / "tied.trec", "-m", "RR", "--format", "csv"
    )
    assert one.out == same.out == files.out


def test_results_of_mteb(trueval: Command, published: Path) -> None:
    found = trueval("leaderboard", published, "--format", "csv")
    assert found.status == 0
    first = [row for row in rows_of(found.out) if row["task"] == ""]
    assert [(row["system"], row["best_rank"], row["worst_rank"]) for row in first] == [
        ("org/large", "1", "1"),
        ("org/base", "2", "2"),
        ("org/small", "3", "3"),
    ]
    assert float(first[0]["value"]) == pytest.approx(0.63)
    assert first[0]["lowest"] == ""
    assert "ties may have decided any of them" in found.err
    named = trueval("leaderboard", published, "-m", "nDCG@10", "--format", "csv")
    assert float(rows_of(named.out)[0]["value"]) == pytest.approx(0.315)


def test_few_tasks_of_published_values_separate_nothing(trueval: Command, published: Path) -> None:
    found = trueval("leaderboard", published, "--task", "Task0", "--task", "Task1", "--format", "csv")
    assert {(row["best_rank"], row["worst_rank"]) for row in rows_of(found.out) if row["task"] == ""} == {("1", "3")}


def test_a_model_without_a_task_has_no_mean(trueval: Command, published: Path) -> None:
    (published / "org__base" / "0123abc" / "Task3.json").unlink()
    found = trueval("leaderboard", published)
    assert found.status == 0
    assert "since means over different tasks are not compared: org/base lacks Task3." in found.err


def remove_judgments(tasks: Path) -> None:
    (tasks / "beta" / "qrels.trec").unlink()


def name_twice(tasks: Path) -> None:
    (tasks / "alpha" / "clear.run").write_text(CLEAR)


def judge_twice(tasks: Path) -> None:
    (tasks / "alpha" / "qrels.tsv").write_text(QRELS)


def remove_runs(tasks: Path) -> None:
    (tasks / "alpha" / "clear.trec").unlink()
    (tasks / "alpha" / "tied.trec").unlink()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (remove_judgments, "beta: a task needs one file of judgments, called qrels with any suffix. Got none."),
        (name_twice, "alpha: 2 runs are called 'clear': clear.run, clear.trec. A name is a system. Rename one"),
        (judge_twice, "a task needs one file of judgments, called qrels with any suffix. Got qrels.trec, qrels.tsv."),
        (remove_runs, "alpha: a task needs runs beside its judgments"),
    ],
)
def test_what_is_refused(change: Callable[[Path], None], said: str, trueval: Command, tasks: Path) -> None:
    change(tasks)
    found = trueval("leaderboard", tasks, "-m", "RR", columns=500)
    assert found.status == 1
    assert said in found.err


def test_names_that_are_not_there(trueval: Command, tasks: Path, published: Path) -> None:
    wrong = trueval("leaderboard", tasks, "--task", "alfa", columns=500)
    assert wrong.status == 1
    assert "no task 'alfa'. Tasks are alpha, beta. Did you mean alpha?" in wrong.err
    wrong = trueval("leaderboard", published, "--task", "Task9", columns=500)
    assert "no results of the task 'Task9'" in wrong.err
    wrong = trueval("leaderboard", published, "-m", "map_at_10", columns=500)
    assert wrong.status != 0
    assert "The results have no 'map_at_10'. They have main_score, ndcg_at_10." in wrong.err
    (published / "org__base" / "0123abc" / "Task3.json").write_text('{"scores": ')
    broken = trueval("leaderboard", published, columns=500)
    assert broken.status == 1
    assert "Task3.json: no result of mteb" in broken.err
    empty = tasks / "alpha" / "nothing"
    empty.mkdir()
    assert "no task and no results of mteb" in trueval("leaderboard", empty, columns=500).err
    assert trueval("leaderboard", tasks / "no").status == 2
