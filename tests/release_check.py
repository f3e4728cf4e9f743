"""Tries what is to be released: the built wheel in an environment of its own for each extra, every command, the demo.

Run by `make release-check`, or for some extras alone:

    python tests/release_check.py report judge
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
OF_CHECKOUTS: Final = ("dev", "docs", "mutants")  # extras of people who work on trueval
COMMANDS: Final = """
import subprocess, sys
from trueval.cli.main import COMMANDS, LazyCommands, as_command, command_function
for name in COMMANDS:
    command = as_command(name, command_function(name))
    inside = command.panel_of if isinstance(command, LazyCommands) else ()
    for words in [[name], *([name, each] for each in inside)]:
        for option in ("--help", "--help-all"):
            done = subprocess.run([sys.executable, "-m", "trueval", *words, option], capture_output=True, text=True)
            assert done.returncode == 0 and "Usage" in done.stdout, (words, done.stderr)
            assert "Traceback" not in done.stderr, (words, done.stderr)
"""


def call(*words: object, folder: Path, **variables: str) -> str:
    """Run a command; what it printed is shown where it fails.

    Raises:
        SystemExit: it failed.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables
    done = subprocess.run(
        list(map(str, words)),
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def build(folder: Path) -> Path:
    """Build sdist and wheel, and check how an index of packages would show them.

    Returns:
        The wheel.
    """
    call(sys.executable, "-m", "build", "--outdir", folder, ROOT, folder=ROOT)
    call(sys.executable, "-m", "twine", "check", "--strict", *sorted(folder.iterdir()), folder=ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


def try_extra(wheel: Path, extra: str, folder: Path) -> None:
    """Install the wheel with an extra, and run what it has, away from the checkout.

    Args:
        extra: name of the extra; "" for none.
    """
    uv = [sys.executable, "-m", "uv"]
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    call(*uv, "venv", "--quiet", folder, folder=folder.parent)
    wanted = f"{wheel}[{extra}]" if extra else str(wheel)
    links = os.environ.get("PIP_FIND_LINKS", "")
    install = [*uv, "pip", "install", "--quiet", "--python", python, "-c", ROOT / "constraints.txt", wanted]
    call(*install, folder=folder, UV_FIND_LINKS=links)
    call(python, ROOT / "tests" / "smoke.py", "compiled", folder=folder)
    call(python, "-c", COMMANDS, folder=folder)
    call(python, "-m", "trueval", "doctor", folder=folder)
    if extra == "demo":
        told = call(python, "-m", "trueval", "demo", "--out", folder / "demo", folder=folder, HF_HUB_OFFLINE="1")
        assert re.search(r"\.\d{4}", told), told
        assert (folder / "demo" / "report.html").exists()


def main(extras: Sequence[str]) -> None:
    """Try some extras, or all of them and none."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = [each for each in project["optional-dependencies"] if each not in OF_CHECKOUTS]
    if unknown := [each for each in extras if each not in known]:
        sys.exit(f"There is no extra {unknown[0]!r}. Extras are {', '.join(known)}.")
    with TemporaryDirectory() as name:
        began = time.monotonic()
        wheel = build(Path(name, "dist"))
        print(f"{wheel.name} in {time.monotonic() - began:.0f} s", flush=True)
        for extra in extras or ["", *known]:
            began = time.monotonic()
            try_extra(wheel, extra, Path(name, extra or "core"))
            print(f"{extra or 'no extra'} in {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
