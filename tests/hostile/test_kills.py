"""Commands that are killed while they write results: the folder holds the old ones or the new ones, bit for bit."""

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.hostile.small import COMMANDS, write_inputs

from trueval.report.atomic_folders import DECIDED, UNFINISHED
from trueval.report.generation import generations

pytestmark = [
    pytest.mark.evidence,
    pytest.mark.skipif(os.name == "nt", reason="only POSIX systems kill without a word"),
]

KILLED = ("evaluate", "compare", "precision", "report")
TRIALS = 75  # of each command
AIMED = 3  # of so many trials one waits for the moment in which files are written
LAST = 0.03  # s in which they are written, after which an aimed kill comes too late


def tree(folder: Path) -> dict[str, bytes]:
    """The files of a folder, without what is hidden in it."""
    names = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {name.as_posix(): (folder / name).read_bytes() for name in names if not name.parts[0].startswith(".")}


def start(command: str, inputs: Path, out: Path) -> subprocess.Popen[bytes]:
    words = [word.format(out=out) for word in COMMANDS[command]]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "0"}
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-m", "trueval", *words], cwd=inputs, env=environment, **pipes)


def finish(command: str, inputs: Path, out: Path) -> float:
    """Runs a command to its end; returns the seconds that it took."""
    began = time.monotonic()
    process = start(command, inputs, out)
    _, said = process.communicate()
    assert process.returncode == 0, said
    return time.monotonic() - began


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folders = [tmp_path_factory.mktemp("inputs") / str(version) for version in range(2)]
    for version, folder in enumerate(folders):
        write_inputs(folder, version)
    return folders


@pytest.mark.parametrize("with_old", [True, False], ids=["over old results", "into a new folder"])
@pytest.mark.parametrize("command", KILLED)
def test_a_killed_command_leaves_the_old_results_or_the_new_ones(
    command: str, with_old: bool, inputs: list[Path], tmp_path: Path
) -> None:
    # Of one name, which pages and commands in provenance hold.
    old, new, out = (tmp_path / name / "out" for name in ("old", "new", "now"))
    for each in KILLED if with_old else ["evaluate"] if command == "report" else []:
        finish(each, inputs[0], old)
    if command == "report":  # which shows other results than the page that is there
        finish("evaluate", inputs[1], old)
    if old.exists():
        shutil.copytree(old, new)
    seconds = finish(command, inputs[1], new)
    before, after = (tree(folder) if folder.exists() else {} for folder in (old, new))
    assert before != after
    rng, seen = random.Random(command), {"old": 0, "new": 0, "undecided": 0, "decided": 0}
    for trial in range(TRIALS if with_old else TRIALS // 3):
        shutil.rmtree(out, ignore_errors=True)
        if old.exists():
            shutil.copytree(old, out)
        process = start(command, inputs[1], out)
        if trial % AIMED:
            time.sleep(rng.uniform(0.0, seconds))
        else:
            while process.poll() is None and not list(tmp_path.glob(f"**/{UNFINISHED}*")):
                time.sleep(0.0005)
            time.sleep(rng.uniform(0.0, LAST if command in ("evaluate", "compare") else seconds / 2))
        process.kill()
        process.communicate()
        stopped = (out / DECIDED).exists()
        seen["decided"] += stopped
        seen["undecided"] += bool(list(tmp_path.glob(f"**/{UNFINISHED}*")))
        found = tree(out) if out.exists() else {}
        assert stopped or found in (before, after), "as it lies there, before anybody of ours looks"
        if out.exists():
            with generations(out):
                found = tree(out)
        assert found in (before, after)
        seen["new" if found == after else "old"] += 1
    finish(command, inputs[1], out)
    assert tree(out) == after
    assert not [path for path in tmp_path.rglob(".*") if path.name.startswith(".trueval")]
    print(f"{command}: {seen}")
