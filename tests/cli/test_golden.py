"""`trueval golden`: a group whose commands are imported when they are asked for."""

from collections.abc import Callable

from tests.cli.conftest import Outcome
from tests.cli.test_main import loaded_by

from trueval.cli.golden.group import COMMANDS

Command = Callable[..., Outcome]


def test_unknown_commands_are_misuse(trueval: Command) -> None:
    assert trueval("golden", "frobnicate").status == 2


def test_the_group_imports_no_command_for_its_help() -> None:
    modules = [*(f"trueval.cli.golden.{name}" for name in COMMANDS), "numpy", "trueval.golden.validation.correct_runs"]
    assert loaded_by(["golden", "--help"], [*modules[-1:], "scipy", "polars"]) == "[]"
    assert loaded_by(["golden", "correct", "--help"], modules) == "['trueval.cli.golden.correct']"
