import json
import shlex
from collections.abc import Callable
from pathlib import Path

from examples.make_sample_runs import make_runs
from tests.cli.conftest import Outcome

from trueval.cli.demo import RUNS, SAMPLE

Command = Callable[..., Outcome]


def test_the_runs_of_the_sample_are_what_the_script_makes() -> None:
    made = make_runs()
    assert sorted(made) == sorted(f"{name}.trec" for name in RUNS)
    for name, text in made.items():
        kept = (SAMPLE / "runs" / name).read_text(encoding="utf-8")
        assert kept == text, f"{name} is old. Run: python examples/make_sample_runs.py"


def test_the_demo_shows_that_ties_decide(trueval: Command, tmp_path: Path) -> None:
    status, out, err = trueval("demo", "--out", tmp_path)
    assert status == 0, err
    assert "cannot be told apart" in out
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    clear, tied = (run["measures"]["RR@10"] for run in results["runs"])
    assert clear["range"] < 1e-12
    assert tied["lowest"] < clear["expected"] < tied["expected"] < tied["oblivious"] <= tied["highest"]
    words = " ".join(out.split())
    leads = [
        tied["oblivious"] - clear["oblivious"],
        tied["expected"] - clear["expected"],
        tied["lowest"] - clear["highest"],
    ]
    assert "is {:+.4f} in that order, {:+.4f} on average, and {:+.4f} in the order".format(*leads) in words
    assert f"gives it {tied['oblivious']:.4f} RR@10; the mean over all orders is {tied['expected']:.4f}" in words


def test_the_demo_prints_a_command_that_gives_the_same(trueval: Command) -> None:
    out = trueval("demo").out
    line = out.strip().splitlines()[-1]
    again = trueval(*shlex.split(line)[1:])
    assert again.status == 0, again.err
    assert out.startswith(again.out)
