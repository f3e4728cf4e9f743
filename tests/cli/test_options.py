"""Options that commands share: declared once, the same everywhere, helped by the words of the policy."""

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from docs.make_commands import help_of
from tests.cli.conftest import Outcome
from typer.testing import CliRunner

from trueval.cli.main import COMMANDS, command_function
from trueval.cli.options import DEFAULT_MEASURES, with_groups
from trueval.policy.conventions import CONVENTIONS
from trueval.policy.policy import CHOICES, OPTIONS

Command = Callable[..., Outcome]
SHARED = (
    "--measures",
    "--tie-order",
    "--tie-precision",
    "--rel",
    "--grades",
    "--empty",
    "--missing",
    "--depth",
    "--seed",
    "--percent",
)
SHARING = ("evaluate", "compare", "explain", "precision audit")


def options_of(command: str) -> dict[str, str]:
    """The lines about each option in the help of a command, without the frame."""
    found: dict[str, str] = {}
    name = ""
    for line in help_of(command).splitlines():
        words = line.strip("│ ").split()
        if line.startswith("│") and words and words[0].startswith("--"):
            name = words[0]
            words = words[1:]
        if line.startswith("│") and name:
            found[name] = " ".join([found.get(name, ""), *words]).strip()
    return found


def test_shared_options_say_the_same_in_every_command() -> None:
    pages = {command: options_of(command) for command in SHARING}
    for name in SHARED:
        assert len({pages[command][name] for command in SHARING}) == 1, name
    assert len({pages[command]["--convention"] for command in SHARING if command != "explain"}) == 1


def test_help_is_made_of_the_words_of_the_policy() -> None:
    shown = options_of("evaluate")
    for name in ("empty", "missing"):
        for value, meaning in OPTIONS[name].words.items():
            assert f"{value} ({meaning})" in shown[f"--{name}"]
    for order in CHOICES:
        assert f"{order} ({OPTIONS['tie_order'].words[order]})" in shown["--tie-order"]
    assert "average" not in shown["--tie-order"]
    assert all(name in shown["--convention"] for name in CONVENTIONS)
    assert DEFAULT_MEASURES in shown["--measures"]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_fewer_than_twelve_parameters(command: str) -> None:
    function = command_function(command)
    assert len(inspect.signature(inspect.unwrap(function), follow_wrapped=False).parameters) < 12


@pytest.mark.parametrize("command", SHARING)
@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--grades", "0:0,1:inf", "each grade once"),
        ("--empty", "ignore", "zero, one, skip, error"),
        ("--missing", "ignore", "worst, skip, error"),
        ("--tie-order", "alphabetical", "docid-desc"),
        ("--tie-precision", "float12", "float16"),
        ("--depth", "0", "--depth"),
    ],
)
def test_a_bad_value_is_misuse_in_every_command(
    trueval: Command, files: Path, command: str, option: str, value: str, said: str
) -> None:
    paths = [files / "qrels.trec", files / "tied.trec", files / "clear.trec"]
    arguments: list[object] = {"evaluate": paths, "compare": paths, "explain": paths[:2]}.get(command, [files])
    if command == "precision audit":
        arguments += ["--logits", stored(files)]
    status, out, err = trueval(*command.split(), *arguments, "-m", "RR", option, value)
    assert (status, out) == (2, ""), err
    assert said in " ".join(err.replace("│", " ").split())


def stored(folder: Path) -> Path:
    """A collection of one query with two documents, and logits that tie in bfloat16 after a sigmoid."""
    import numpy as np

    documents = [{"_id": name, "text": name} for name in "ab"]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "q"}', encoding="utf-8")
    (folder / "qrels.trec").write_text("q 0 a 1\nq 0 b 0\n", encoding="utf-8")
    path = folder / "logits.npz"
    np.savez(path, query=["q", "q"], doc=["a", "b"], float32=np.array([[1.0], [0.5]], dtype=np.float32))
    return path


@pytest.mark.parametrize("command", SHARING)
def test_percent_prints_points_for_people_and_fractions_for_programs(
    trueval: Command, files: Path, command: str
) -> None:
    """TIED and CLEAR: RR is 3/4 and 1/2; alone in its collection, a is first."""
    paths = [files / "qrels.trec", files / "tied.trec", files / "clear.trec"]
    arguments: list[object] = {"evaluate": paths, "compare": paths, "explain": paths[:2]}.get(command, [files])
    if command == "precision audit":
        arguments += ["--logits", stored(files)]
    value = {"evaluate": 0.75, "compare": 0.5, "explain": 0.75, "precision audit": 1.0}[command]
    plain = trueval(*command.split(), *arguments, "-m", "RR")
    points = trueval(*command.split(), *arguments, "-m", "RR", "--percent")
    assert (plain.status, points.status) == (0, 0), points.err
    assert f"{value:.4f}" in plain.out
    assert f"{100 * value:.2f}" in points.out
    assert f"{value:.4f}" not in points.out
    asked = (*command.split(), *arguments, "-m", "RR", "--format", "json")
    assert trueval(*asked, "--percent").out == trueval(*asked).out


def test_precision_has_the_defaults_of_evaluate(trueval: Command, files: Path) -> None:
    found = json.loads(trueval("precision", "audit", files, "--logits", stored(files), "--format", "json").out)
    assert list(found["measures"]) == DEFAULT_MEASURES.split()
    (files / "run.trec").write_text("q Q0 a 1 1 x\nq Q0 b 2 0.5 x\n", encoding="utf-8")
    other = json.loads(trueval("evaluate", files / "qrels.trec", files / "run.trec", "--format", "json").out)
    assert found["policy"] == other["policy"]
    assert list(other["runs"][0]["measures"]) == found["measures"]


def test_precision_takes_a_whole_policy(trueval: Command, files: Path) -> None:
    options = ("--logits", stored(files), "-m", "RR", "--format", "json")
    grid = json.loads(trueval("precision", "audit", files, *options, "--tie-precision", "1").out)["regimes"][0]
    assert grid["measures"]["RR"]["range"] == 0.5
    assert grid["ties"] == {"tied_fraction": 1.0, "largest_group": 2, "group_sizes": [{"size": 2, "groups": 1}]}
    found = json.loads(trueval("precision", "audit", files, *options, "--convention", "sklearn").out)
    assert (found["policy"]["convention"], found["policy"]["base"]) == ("sklearn", "list")


def panels_of(command: str) -> dict[str, list[str]]:
    """The options under each heading of a command's help."""
    found: dict[str, list[str]] = {}
    heading = ""
    for line in help_of(command).splitlines():
        if line.startswith("╭─"):
            heading = line.strip("╭─╮ ")
        elif line.startswith("│ --"):
            found.setdefault(heading, []).append(line.split()[1])
    return found


@pytest.mark.parametrize("command", SHARING)
def test_help_is_grouped(command: str) -> None:
    panels = panels_of(command)
    assert panels["Options"] == ["--help"]  # every other option says where it belongs
    assert "--measures" in panels["Measures"]
    assert panels["Ties"] == ["--tie-order", "--tie-precision", "--seed"]
    assert {"--rel", "--grades", "--empty", "--missing", "--depth"} <= set(panels["Judgments and queries"])
    assert {"--percent", "--format"} <= set(panels["Output"])


def test_groups_of_other_modules_name_their_heading_once() -> None:
    assert {"--max-range", "--min", "--max-drop", "--baseline"} <= set(panels_of("evaluate")["Gates"])
    assert {"--test", "--family", "--baseline"} <= set(panels_of("compare")["Comparison"])


@pytest.mark.parametrize("command", SHARING)
def test_help_fits_in_eighty_columns(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docs.make_commands.WIDTH", 80)
    lines = help_of(command).splitlines()
    assert max(map(len, lines)) == 80


def test_a_field_of_a_group_without_a_default_is_required() -> None:
    @dataclass(frozen=True)
    class Needed:
        judge: Annotated[str, typer.Option(help="Who.")]

    @with_groups
    def command(*, chosen: Needed) -> None:
        typer.echo(chosen.judge)

    app = typer.Typer()
    app.command()(command)
    assert "[required]" in CliRunner().invoke(app, ["--help"]).output
    assert CliRunner().invoke(app, []).exit_code == 2
    assert CliRunner().invoke(app, ["--judge", "me"]).output == "me\n"
