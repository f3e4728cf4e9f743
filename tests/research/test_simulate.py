"""The command: what it prints and writes is what the library finds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from research.refinement_trials import simulate
from research.simulate import main

ROOT = Path(__file__).resolve().parents[2]


def test_it_prints_and_saves_what_the_library_finds(tmp_path: Path) -> None:
    given = ("--worlds", "usual,flat", "--methods", "grades,setwise", "--pools", "2", "--seed", "5", "--processes", "1")
    line = [sys.executable, "-m", "research.simulate", *given, "--out", tmp_path]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    expected = json.loads(json.dumps(simulate(["usual", "flat"], ["grades", "setwise"], pools=2, seed=5).to_dict()))
    saved = json.loads((tmp_path / "simulate.json").read_text(encoding="utf-8"))
    assert {name: saved[name] for name in expected} == expected
    assert {path.name for path in tmp_path.glob("simulate.*")} == {
        f"simulate.{end}" for end in ("json", "csv", "md", "tex")
    }
    for world in expected["worlds"]:
        for method in world["methods"]:
            assert f"{method['membership']:.4f}" in done.stdout


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--worlds", "usal"], "Did you mean usual?"),
        (["--methods", "papper"], "Did you mean paper?"),
        (["--pools", "0"], "at least one pool"),
        (["--format", "csv"], "unrecognized arguments"),
    ],
)
def test_what_cannot_be_tried_is_misuse(given: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(given)
    assert left.value.code == 2
    assert says in capsys.readouterr().err
