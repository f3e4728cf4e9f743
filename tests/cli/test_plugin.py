"""Commands that other packages add by entry points."""

import importlib.metadata
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Outcome

Command = Callable[..., Outcome]
PLUGIN = Path(__file__).resolve().parents[1] / "plugin"


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PLUGIN))


@pytest.mark.usefixtures("plugin")
def test_a_command_of_a_plugin_runs_and_exits_as_ours_do(trueval: Command, files: Path) -> None:
    assert trueval("relevant", files / "qrels.trec") == (0, "q 2\n", "")
    assert trueval("relevant", files / "qrels.trec", "--rel", "2").out == "q 0\n"
    status, _, err = trueval("relevant", files / "nowhere.trec")
    assert (status, "nowhere.trec" in err, len(err.splitlines())) == (1, True, 1)
    assert trueval("relevant").status == 2


@pytest.mark.usefixtures("plugin")
def test_a_plugin_may_bring_an_application_of_commands(trueval: Command) -> None:
    assert trueval("several", "second") == (0, "two\n", "")


@pytest.mark.usefixtures("plugin")
def test_help_lists_the_commands_of_plugins_and_says_which_cannot_be_loaded(trueval: Command) -> None:
    status, out, err = trueval("--help")
    assert (status, err) == (0, "")
    words = " ".join(out.replace("│", " ").split())
    assert "relevant Counts the relevant documents of each query." in words
    assert "several" in words
    assert "absent The command absent of example-plugin (example_plugin.nowhere:command) cannot be loaded" in words


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("absent", "ModuleNotFoundError: No module named 'example_plugin.nowhere'"),
        ("number", "TypeError: a command must"),
    ],
)
def test_a_plugin_that_cannot_be_loaded_is_one_line(trueval: Command, name: str, said: str) -> None:
    for arguments in ((), ("--some", "option"), ("a", "b")):
        status, out, err = trueval(name, *arguments)
        assert (status, out) == (1, ""), err
        (line,) = err.splitlines()
        assert line.startswith(f"trueval: The command {name} of example-plugin")
        assert said in line
        assert line.endswith("Update or uninstall example-plugin.")


@pytest.mark.usefixtures("plugin")
def test_no_plugin_takes_the_place_of_a_command_of_ours(trueval: Command, files: Path) -> None:
    assert "nowhere" not in trueval("evaluate", files / "qrels.trec", files / "tied.trec", "-m", "RR").err


def test_plugins_are_not_looked_for_where_a_command_is_ours(
    trueval: Command, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: str) -> None:
        raise AssertionError("looked for plugins")

    monkeypatch.setattr(importlib.metadata, "entry_points", refuse)
    assert trueval("evaluate", files / "qrels.trec", files / "tied.trec", "-m", "RR").status == 0
    told = trueval("--help")
    assert told.status == 70
    assert "looked for plugins" in told.err
