import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from examples.make_sample_runs import make_runs
from tests.cli.conftest import Outcome

from trueval.cli import demo as demo_module
from trueval.cli.demo import RUNS, SAMPLE, demo_results, explanation
from trueval.cli.demo_model import model_is_here

Command = Callable[..., Outcome]


@pytest.fixture
def without_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_module, "model_is_here", lambda: False)


def test_the_runs_of_the_sample_are_what_the_script_makes() -> None:
    made = make_runs()
    assert sorted(made) == sorted(f"{name}.trec" for name in RUNS)
    for name, text in made.items():
        kept = (SAMPLE / "runs" / name).read_text(encoding="utf-8")
        assert kept == text, f"{name} is old. Run: python examples/make_sample_runs.py"


def test_the_demo_shows_that_ties_decide() -> None:
    results = demo_results()
    clear, tied = (run["measures"]["RR@10"] for run in results["runs"])
    assert clear["range"] < 1e-12
    assert tied["lowest"] < clear["expected"] < tied["expected"] < tied["tie_broken"] <= tied["highest"]
    words = " ".join(explanation(results))
    leads = [
        tied["tie_broken"] - clear["tie_broken"],
        tied["expected"] - clear["expected"],
        tied["lowest"] - clear["highest"],
    ]
    assert "is {:+.4f} in that order, {:+.4f} on average, and {:+.4f} in the order".format(*leads) in words
    assert f"gives it {tied['tie_broken']:.4f} RR@10; the mean over all orders is {tied['expected']:.4f}" in words


@pytest.mark.slow
@pytest.mark.usefixtures("without_model")
def test_the_demo_prints_a_command_that_gives_the_same(trueval: Command, tmp_path: Path) -> None:
    status, out, err = trueval("demo", "--out", tmp_path)
    assert status == 0, err
    assert "not separated" in out
    (line,) = (line for line in out.splitlines() if line.startswith("trueval evaluate"))
    again = trueval(*shlex.split(line)[1:])
    assert again.status == 0, again.err
    assert out.startswith(again.out)


@pytest.mark.usefixtures("without_model")
def test_the_page_and_the_terminal_of_the_demo_agree(trueval: Command, tmp_path: Path) -> None:
    out = trueval("demo", "--out", tmp_path).out
    shown = {run["name"]: run["measures"] for run in demo_results()["runs"]}
    kept = read(tmp_path / "results.json")
    for run in kept["runs"]:
        assert {name: run["measures"][name] for name in shown[run["name"]]} == shown[run["name"]]
        for name in shown[run["name"]]:
            assert f"{run['measures'][name]['expected']:.4f}" in out
    assert demo_results()["policy"] == kept["policy"]
    assert "every judged document" not in " ".join(note for run in kept["runs"] for note in run["notes"])
    if (tmp_path / "report.html").is_file():
        page = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert f"{shown['ngrams-bf16']['RR@10']['expected']:.4f}" in page


@pytest.mark.usefixtures("without_model")
def test_without_the_model_the_demo_says_what_to_install(trueval: Command, tmp_path: Path) -> None:
    outcome = trueval("demo", "--out", tmp_path)
    assert 'pip install "trueval[demo]"' in outcome.err
    assert [run["name"] for run in read(tmp_path / "results.json")["runs"]] == list(RUNS)
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
    runs = {run["name"]: run["measures"] for run in read(tmp_path / "results.json")["runs"]}
    assert list(runs) == [*RUNS, "minilm-bf16-bf16", "minilm-bf16-fp32", "minilm-fp32-fp32", "hybrid"]
    for label, name in (("bfloat16_bfloat16", "minilm-bf16-bf16"), ("float32_float32", "minilm-fp32-fp32")):
        audited = next(each for each in (low, reference) if each["label"] == label)["measures"]["RA-nWG@10"]
        assert runs[name]["RA-nWG@10"]["expected"] == pytest.approx(audited["expected"])
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert ">Over cutoffs<" in page
    assert "RA-nWG@10" in page
