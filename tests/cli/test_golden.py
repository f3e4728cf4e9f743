"""`trueval golden`: a group whose commands are imported when they are asked for."""

import json
from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Outcome
from tests.cli.test_main import loaded_by

from trueval.cli.golden.group import COMMANDS

Command = Callable[..., Outcome]


def test_simulate_prints_and_saves_what_the_library_finds(trueval: Command, tmp_path: Path) -> None:
    from trueval.golden.simulate import simulate

    given = ("--worlds", "usual,flat", "--methods", "grades,setwise", "--pools", "2", "--seed", "5")
    done = trueval("golden", "simulate", *given, "--format", "json", "--out", str(tmp_path))
    expected = json.loads(json.dumps(simulate(["usual", "flat"], ["grades", "setwise"], pools=2, seed=5).to_dict()))
    assert done.status == 0
    assert json.loads(done.out) == expected
    saved = json.loads((tmp_path / "simulate.json").read_text(encoding="utf-8"))
    assert {name: saved[name] for name in expected} == expected


def test_unknown_names_are_misuse_and_offer_the_nearest(trueval: Command) -> None:
    done = trueval("golden", "simulate", "--worlds", "usal")
    assert done.status == 2
    assert "Did you mean usual?" in done.err
    assert trueval("golden", "simulate", "--methods", "papper").status == 2
    assert trueval("golden", "frobnicate").status == 2


def test_the_group_imports_no_command_for_its_help() -> None:
    modules = [*(f"trueval.cli.golden.{name}" for name in COMMANDS), "numpy", "trueval.golden.simulate"]
    assert loaded_by(["golden", "--help"], ["trueval.golden.simulate", "scipy", "polars"]) == "[]"
    assert loaded_by(["golden", "simulate", "--help"], modules) == "['trueval.cli.golden.simulate']"
