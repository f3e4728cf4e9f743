import os
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from docs.make_commands import PAGE, commands, help_of, page
from rich.text import Text
from tests.cli.conftest import Outcome

from trueval import __version__
from trueval.cli.main import PANELS, as_command, command_function

Command = Callable[..., Outcome]
ALL = [name for name in commands() if name]  # of groups too


def made(name: str) -> Any:
    """The command of a name, such as "golden build"."""
    home, _, own = name.rpartition(" ")
    package = f"trueval.cli.{home}" if home else "trueval.cli"
    return as_command(own, command_function(own, package))


def test_version(trueval: Command) -> None:
    assert trueval("--version")[:2] == (0, f"trueval {__version__}\n")


@pytest.mark.parametrize("arguments", [("frobnicate",), ("evaluate",), ("evaluate", "--frobnicate"), ()])
def test_misuse_leaves_with_two(trueval: Command, arguments: tuple[str, ...]) -> None:
    assert trueval(*arguments).status == 2


def test_a_misspelt_command_is_offered_the_nearest(trueval: Command) -> None:
    assert "Did you mean 'evaluate'?" in trueval("evaluat").err


def test_every_command_has_an_example_in_its_help() -> None:
    for name in ALL:
        assert f"Example: trueval {name}" in made(name).help


@pytest.mark.parametrize("name", ALL)
def test_help_says_all_that_is_written_there(name: str) -> None:
    """Brackets that are not escaped are markup, which nobody sees."""
    command = made(name)
    for text in [command.help, *(parameter.help for parameter in command.params if getattr(parameter, "help", None))]:
        assert Text.from_markup(text).plain == text.replace("\\[", "[")


@pytest.mark.slow
def test_docs_show_the_help_of_every_command() -> None:
    shown = PAGE.read_text(encoding="utf-8")
    assert " ".join(shown.split()) == " ".join(page().split())
    for name in ALL:
        assert f"## trueval {name}" in shown


def loaded_by(arguments: list[str], modules: list[str]) -> str:
    """Which of some modules a command has loaded when it ends, as Python prints the list."""
    code = (
        f"import sys; sys.argv = {['trueval', *arguments]}\n"
        "from trueval.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print([name for name in {modules} if name in sys.modules])"
    )
    return last_line(code)


def last_line(code: str) -> str:
    """What a program prints last; `make coverage` does not follow it, for that loads modules."""
    alone = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True, env=alone)
    return done.stdout.splitlines()[-1]


def test_a_command_does_not_load_the_others() -> None:
    commands = [f"trueval.cli.{name}" for name in ("evaluate", "compare", "power", "explain", "precision", "demo")]
    assert loaded_by(["evaluate", "nowhere", "neither"], commands) == "['trueval.cli.evaluate']"


def test_an_evaluation_loads_nothing_that_it_was_not_asked_for(tmp_path: Path) -> None:
    """Every millisecond of it would come before the first line is read."""
    (tmp_path / "qrels").write_text("q 0 a 1\n", encoding="utf-8")
    (tmp_path / "run").write_text("q Q0 a 1 2.0 r\n", encoding="utf-8")
    both, stored = "comparison.labels.both_labels", "evaluation.stored_scores"
    for_others = [f"trueval.{name}" for name in (both, stored, "evaluation.query_values", "evaluation.views.details")]
    assert all(map(find_spec, for_others))
    modules = ["multiprocessing", "scipy", *for_others]
    asked = ["evaluate", str(tmp_path / "qrels"), str(tmp_path / "run")]
    assert loaded_by([*asked, "--format", "json"], modules) == "[]"
    assert loaded_by([*asked, "--per-query", "--format", "json"], modules) == "['trueval.evaluation.query_values']"


def test_help_loads_no_heavy_library() -> None:
    assert loaded_by(["evaluate", "--help"], ["numpy", "polars", "scipy", "torch", "sklearn"]) == "[]"


def test_help_loads_few_modules() -> None:
    """What decides how soon help is there, and the same on every machine: 449, of which 88 are ours, one a command."""
    code = (
        "import sys; sys.argv = ['trueval', '--help']\n"
        "from trueval.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(len(sys.modules), sum(name.startswith('trueval') for name in sys.modules))"
    )
    every, ours = map(int, last_line(code).split())
    assert (every < 500, ours < 90) == (True, True)


def test_the_module_is_the_command(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "trueval", "--version"], capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stdout) == (0, f"trueval {__version__}\n")


@pytest.mark.parametrize(("argument", "status"), [("--version", 0), ("--versoin", 2)])
def test_a_process_joins_threads_runs_exit_handlers_and_leaves_the_rest_to_the_system(
    argument: str, status: int
) -> None:
    code = (
        f"import atexit, sys, threading, time; sys.argv = ['trueval', {argument!r}]\n"
        "from trueval.__main__ import run\n"
        "import trueval.cli.main as kept\n"
        "class Late:\n"
        "    def __del__(self): print('taken apart')\n"
        "kept.late = Late()\n"
        "sys.stdout.reconfigure(line_buffering=False)\n"
        "def work():\n"
        "    time.sleep(0.1); atexit.register(print, 'handler'); print('thread')\n"
        "threading.Thread(target=work).start()\n"
        "run()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8")
    assert done.returncode == status
    assert done.stdout.splitlines()[-2:] == ["thread", "handler"]


def test_a_closed_pipe_is_no_error() -> None:
    program = f"{sys.executable} -m trueval measures --format json | head -n 1"
    done = subprocess.run(["bash", "-c", program], capture_output=True, encoding="utf-8")
    assert done.stdout == "{\n"
    assert done.stderr == ""


def test_help_puts_every_command_in_a_panel() -> None:
    shown = help_of("")
    places = [shown.index(f"─ {panel} ─") for panel in PANELS]
    assert places == sorted(places)
    assert "─ Commands ─" not in shown  # plugins alone come there
    for place, names in zip(places, PANELS.values(), strict=True):
        panel = shown[place : shown.index("╰", place)]
        assert list(dict.fromkeys(re.findall(r"^│ (\w+) ", panel, flags=re.MULTILINE))) == list(names)


def test_a_shell_completes_commands_and_options() -> None:
    def completed(words: str) -> list[str]:
        code = "import sys; sys.argv = ['trueval']\nfrom trueval.cli.main import main\nmain()"
        asked = {"_TRUEVAL_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        command = [sys.executable, "-c", code]
        return subprocess.run(command, env=os.environ | asked, capture_output=True, encoding="utf-8").stdout.split()

    assert completed("trueval ev") == ["evaluate"]
    assert completed("trueval evaluate --tie") == ["--tie-order", "--tie-precision"]


def test_help_names_exit_statuses() -> None:
    assert "1 a gate failed or the input is bad" in " ".join(help_of("").split())


@pytest.mark.parametrize("words", [(), ("golden",), ("probe",), ("precision",)])
def test_a_group_has_one_help_by_both_names(trueval: Command, words: tuple[str, ...]) -> None:
    both = [trueval(*words, option) for option in ("--help", "--help-all")]
    assert [each.status for each in both] == [0, 0]
    assert both[0].out == both[1].out
