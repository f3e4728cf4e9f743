import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Outcome

from trueval.report import kinds

Command = Callable[..., Outcome]


@pytest.fixture
def folder(trueval: Command, files: Path) -> Path:
    """What --out of evaluate holds for two small runs."""
    paths = (files / "qrels.trec", files / "tied.trec", files / "clear.trec")
    outcome = trueval("evaluate", *paths, "-m", "RR@10 P@2", "--out", files / "out")
    assert outcome.status == 0, outcome.err
    return files / "out"


def test_the_page_and_the_figures_are_written(trueval: Command, folder: Path) -> None:
    status, out, err = trueval("report", folder)
    assert (status, out) == (0, "")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Equal scores decide who leads in RR@10" in page
    assert (folder / "figures" / "tie-ranges.svg").is_file()
    assert "report.html" in err
    assert "tie-ranges.svg" in err


def test_the_place_of_the_page_can_be_chosen(trueval: Command, folder: Path) -> None:
    assert trueval("report", folder, "--out", folder / "a.html", "--no-figures").status == 0
    assert (folder / "a.html").is_file()
    assert not (folder / "report.html").exists()
    assert not (folder / "figures").exists()


def test_details_hold_what_the_page_needs(folder: Path, files: Path) -> None:
    details = json.loads((folder / "details.json").read_text(encoding="utf-8"))
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert (details["kind"], details["format"]) == ("evaluate-details", 3)
    assert details["policy"] == results["policy"]
    assert [file["role"] for file in details["files"]] == ["judgments", "run", "run"]
    assert details["files"][0]["bytes"] == (files / "qrels.trec").stat().st_size
    tied = details["runs"][0]
    assert [row["expected"] for row in tied["per_query"] if row["measure"] == "RR@10"] == [0.75]
    assert {document["document"] for document in tied["worst"][0]["groups"][0]["documents"]} == {"a", "b"}


def test_a_collection_gives_the_texts(trueval: Command, files: Path) -> None:
    (files / "corpus.jsonl").write_text('{"_id": "a", "title": "", "text": "A < B"}\n', encoding="utf-8")
    paths = (files / "qrels.trec", files / "tied.trec")
    assert trueval("evaluate", *paths, "-m", "RR@10", "--collection", files, "--out", files / "out").status == 0
    assert trueval("report", files / "out", "--no-figures").status == 0
    assert "A &lt; B" in (files / "out" / "report.html").read_text(encoding="utf-8")


def test_a_collection_without_out_is_misuse(trueval: Command, files: Path) -> None:
    status, out, err = trueval("evaluate", files / "qrels.trec", files / "tied.trec", "--collection", files)
    assert (status, out) == (2, "")
    assert "--out" in err


def test_a_folder_without_results_is_bad_input(trueval: Command, tmp_path: Path) -> None:
    status, out, err = trueval("report", tmp_path)
    assert (status, out) == (1, "")
    assert "no result to report" in err


def test_both_commands_share_a_page(trueval: Command, folder: Path, files: Path) -> None:
    paths = (files / "qrels.trec", files / "tied.trec", files / "clear.trec")
    outcome = trueval("compare", *paths, "-m", "RR@10 P@2", "--out", folder)
    assert outcome.status == 0, outcome.err
    assert trueval("report", folder, "--no-figures").status == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert 'id="differences"' in page
    assert 'id="values"' in page
    assert "trueval compare tells" not in page


PLUGIN = Path(__file__).parents[1] / "plugin"
ENERGY = {"kind": "energy", "format": 1, "runs": [{"name": "tied", "joules": 12.5}]}


@pytest.fixture
def with_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(PLUGIN)
    monkeypatch.setattr(
        kinds, "_load_entry_points", kinds._load_entry_points.__wrapped__
    )  # what was found before is forgotten


@pytest.mark.usefixtures("with_plugin")
def test_a_kind_of_another_package_has_its_part_of_the_page(trueval: Command, folder: Path) -> None:
    (folder / "energy.json").write_text(json.dumps(ENERGY), encoding="utf-8")
    outcome = trueval("report", folder, "--no-figures")
    assert outcome.status == 0, outcome.err
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert '<data value="12.5" data-source="energy.json#/runs/0/joules">12.5</data>' in page
    assert page.index('id="values"') < page.index('id="energy"')
    assert "Files of the directory that this page does not show" not in page


def test_a_file_whose_kind_nobody_declares_is_named_at_the_end(trueval: Command, folder: Path) -> None:
    (folder / "energy.json").write_text(json.dumps(ENERGY), encoding="utf-8")
    assert trueval("report", folder, "--no-figures").status == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert 'id="energy"' not in page
    assert "does not show: energy.json." in page


def test_an_evaluation_and_an_explanation_share_a_page(trueval: Command, folder: Path, files: Path) -> None:
    explained = trueval("explain", files / "qrels.trec", files / "tied.trec", "-m", "RR", "--format", "json")
    (folder / "explanation.json").write_text(explained.out, encoding="utf-8")
    assert trueval("report", folder, "--no-figures").status == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert 'id="values"' in page
    assert "RR of tied under each convention" in page
    assert 'data-source="/conventions/0"' in page
