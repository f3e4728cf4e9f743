"""Names of ir_datasets wherever a path may be: judgments, runs and, in tests/test_collection.py, collections."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ir_datasets = pytest.importorskip("ir_datasets", reason="ir_datasets is not installed: make integrations")
from trueval.errors import InputError, PolicyError
from trueval.evaluation.evaluate import evaluate
from trueval.judgments import Judgments
from trueval.run import Run

REGISTER = """
import ir_datasets
from ir_datasets.formats import TrecQrels, TrecScoredDocs, TrecSubQrels
from ir_datasets.util import LocalDownload
from pathlib import Path
folder = Path({folder!r})
made = ir_datasets.Dataset(
    TrecQrels(LocalDownload(folder / "qrels"), {{}}), TrecScoredDocs(LocalDownload(folder / "run")),
)
ir_datasets.registry.register("trueval/own/test", made)
facets = ir_datasets.Dataset(TrecSubQrels(LocalDownload(folder / "facets"), {{}}))
ir_datasets.registry.register("trueval/own/facets", facets)
ir_datasets.registry.register("trueval/own/empty", ir_datasets.Dataset(TrecQrels(LocalDownload(folder / "none"), {{}})))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files that are registered under names."""
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b 0\n")
    (tmp_path / "run").write_text("q Q0 a 1 1.5 x\nq Q0 b 2 1.5 x\n")
    (tmp_path / "facets").write_text("q 1 a 1\nq 2 a 1\nq 1 b 1\n")
    (tmp_path / "none").write_text("")
    known = ir_datasets.registry._registered
    for name in [name for name in known if name.startswith("trueval/own")]:
        del known[name]
    exec(REGISTER.format(folder=str(tmp_path)))
    return tmp_path


def test_judgments_and_runs_are_read_by_name(folder: Path) -> None:
    name = "ir_datasets:trueval/own/test"
    for judgments in (Judgments.read(name), Judgments.of(name)):
        assert judgments.frame.rows() == [("q", "a", 1.0), ("q", "b", 0.0)]
        assert judgments.source == name
    run = Run.read(name)
    assert (run.name, run.frame.rows()) == ("trueval/own/test", [("q", "a", 1.5), ("q", "b", 1.5)])
    assert evaluate(name, name, "RR")["RR"].expected == 0.75


def test_facets_are_kept_where_they_are_asked_for(folder: Path) -> None:
    found = Judgments.read("ir_datasets:trueval/own/facets", facets=True)
    assert found.frame.rows() == [("q", "a", 1.0, "1"), ("q", "a", 1.0, "2"), ("q", "b", 1.0, "1")]
    with pytest.raises(InputError, match=r"^ir_datasets:trueval/own/facets: row 2: document 'a' is in query 'q' twice"):
        Judgments.read("ir_datasets:trueval/own/facets")


def test_what_a_name_lacks_is_said_in_one_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"^ir_datasets:trueval/own/facets: there are no scored documents\. Name one"):
        Run.read("ir_datasets:trueval/own/facets")
    with pytest.raises(InputError, match=r"^ir_datasets:trueval/own/empty: no rows\. It must have judgments\.$"):
        Judgments.read("ir_datasets:trueval/own/empty")
    with pytest.raises(InputError, match=r"^ir_datasets:none/such cannot be loaded: .* Correct the name, or"):
        Judgments.read("ir_datasets:none/such")
    with pytest.raises(PolicyError, match=r"has no format, which files have\. Got 'csv'\. Leave it out"):
        Run.read("ir_datasets:trueval/own/test", format="csv")
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(InputError, match=r'^Names that begin with "ir_datasets:" need the package ir_datasets'):
        Run.read("ir_datasets:trueval/own/test")


def test_a_file_of_that_name_is_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    Path("ir_datasets:trueval").write_text("q Q0 c 1 2.0 x\n")
    assert Run.read("ir_datasets:trueval").frame["doc_id"].to_list() == ["c"]


@pytest.mark.slow
def test_commands_take_names_where_they_take_paths(folder: Path) -> None:
    """In a process of its own, which registers the data as a package would."""
    code = REGISTER.format(folder=str(folder)) + "from trueval.cli.main import main; main()"
    name = "ir_datasets:trueval/own/test"
    line = [sys.executable, "-c", code, "evaluate", name, f"own={name}", "-m", "RR", "--out", "found"]
    done = subprocess.run(line, cwd=folder, env=dict(os.environ), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "0.7500" in done.stdout
    details = json.loads((folder / "found" / "details.json").read_text())
    assert name in json.dumps(details)
    for command in ("explain", "compare"):
        runs = [name] if command == "explain" else [f"a={name}", f"b={folder / 'run'}"]
        line = [sys.executable, "-c", code, command, name, *runs, "-m", "RR"]
        done = subprocess.run(line, cwd=folder, env=dict(os.environ), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    line = [sys.executable, "-c", code, "evaluate", "ir_datasets:none", str(folder / "run")]
    done = subprocess.run(line, cwd=folder, env=dict(os.environ), capture_output=True, text=True)
    assert done.returncode == 1
    assert "ir_datasets:none cannot be loaded" in done.stderr
    assert "Traceback" not in done.stderr
