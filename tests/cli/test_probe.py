"""`trueval probe`: a group whose commands are imported when they are asked for."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Outcome
from tests.cli.test_main import loaded_by

from trueval.cli.probe.group import COMMANDS

Command = Callable[..., Outcome]
GIVEN = ("--bm25", "--queries", 6, "--runs", 2, "--seed", 3, "--ablations", "hard_name_mask,initials_form")


def test_names_prints_and_saves_what_the_library_finds(trueval: Command, tmp_path: Path) -> None:
    pytest.importorskip("bm25s", reason="bm25s, of the extra retrieval, is not installed")
    from trueval.probes.probe import probe_names
    from trueval.probes.scorer_request import ScorerRequest

    done = trueval("probe", "names", *GIVEN, "--language", "en,fr", "--format", "json", "--out", tmp_path)
    found = probe_names(
        ScorerRequest(bm25=True),
        languages=("en", "fr"),
        queries=6,
        runs=2,
        seed=3,
        ablations=["initials_form", "hard_name_mask"],
    )
    expected = json.loads(json.dumps(found.to_dict()))
    assert done.status == 0
    assert json.loads(done.out) == {**expected, "files": []}
    saved = json.loads((tmp_path / "probe-names.json").read_text(encoding="utf-8"))
    assert {name: saved[name] for name in expected} == expected
    assert "BM25, fr (BM25)" in (tmp_path / "probe-names.md").read_text(encoding="utf-8")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "As published, for context" in page
    assert "initials_form" in page


def test_a_table_of_the_user_takes_the_place_of_the_sample(trueval: Command, tmp_path: Path) -> None:
    pytest.importorskip("bm25s", reason="bm25s, of the extra retrieval, is not installed")
    table = tmp_path / "people.csv"
    rows = ["author,title,topic", *(f"Ann{at} Lee{at},Title {at},topic{at}" for at in range(6))]
    table.write_text("\n".join(rows), encoding="utf-8")
    done = trueval("probe", "names", "--table", table, *GIVEN, "--format", "csv")
    assert done.status == 0
    assert done.out.splitlines()[0].startswith("scorer,language,condition,delta_name,delta_name_run_sd")
    assert len(done.out.splitlines()) == 4
    done = trueval("probe", "names", "--table", table, *GIVEN, "--format", "json")
    (read,) = json.loads(done.out)["files"]
    assert (read["role"], read["path"], read["bytes"]) == ("people", "people.csv", table.stat().st_size)
    table.write_text("\n".join([*rows, ",Title,topic"]), encoding="utf-8")
    done = trueval("probe", "names", "--table", table, *GIVEN)
    assert done.status == 1
    assert f"{table}:8: no author." in done.err.replace("\n", "")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((), "A probe needs a scorer"),
        (("--hybrid", "--bm25"), "hybrid needs an embedder"),
        (("--bm25", "--language", "de"), "languages must be among en, fr. Got de."),
        (("--bm25", "--ablations", "initial_form"), "Did you mean initials_form?"),
    ],
)
def test_what_cannot_be_is_misuse(given: tuple[str, ...], message: str, trueval: Command) -> None:
    done = trueval("probe", "names", *given, "--queries", 4, "--runs", 1)
    assert done.status == 2
    assert message in " ".join(done.err.split())


def test_the_group_imports_no_command_for_its_help() -> None:
    modules = [*(f"trueval.cli.probe.{name}" for name in COMMANDS), "numpy", "trueval.probes.names"]
    assert loaded_by(["probe", "--help"], ["trueval.probes.names", "scipy", "polars"]) == "[]"
    assert loaded_by(["probe", "names", "--help"], modules) == "['trueval.cli.probe.names']"
