"""Time and peak memory of a process of its own."""

from __future__ import annotations

import compileall
import json
import os
import platform
import resource
import runpy
import subprocess
import sys
import tempfile
import time
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple


class Cost(NamedTuple):
    """What a process took, and what it wrote.

    Attributes:
        seconds: wall time from its start to its end.
        mebibytes: its peak memory.
        output: its standard output.
    """

    seconds: float
    mebibytes: float
    output: str


@cache
def compile_package() -> None:
    """Compile trueval to bytecode where that is out of date, whatever PYTHONDONTWRITEBYTECODE says."""
    found = find_spec("trueval")
    if found is not None and found.origin is not None:
        compileall.compile_dir(Path(found.origin).parent, quiet=1)


def whole_process(program: str, *arguments: str) -> Cost:
    """Run a module (or a script, by its path) with Python, start and imports included.

    The package is compiled before, as pip compiles what it installs.
    """
    compile_package()
    with tempfile.NamedTemporaryFile("r") as memory:
        command = [sys.executable, __file__, memory.name, program, *arguments]
        begin = time.perf_counter()
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        seconds = time.perf_counter() - begin
        if done.returncode:
            raise RuntimeError(f"{program} ended with {done.returncode}: {done.stderr[-2000:]}")
        return Cost(seconds, float(memory.read()), done.stdout)


def peak_mebibytes() -> float:
    """Return the peak resident memory of this program; on Linux without that of the process that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        peak = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(peak.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1 << 20)


def machine(*packages: str) -> str:
    """Say in a line where a benchmark runs, how busy that is, and with which versions."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "polars", *packages))
    load = f"load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}, {load}; {versions}"


def as_json(output: str) -> dict[str, float]:
    """Read the last line of an output as JSON."""
    found: dict[str, float] = json.loads(output.splitlines()[-1])
    return found


def _run_and_note_memory(note: Path, program: str, arguments: list[str]) -> None:
    sys.argv = [program, *arguments]
    try:
        if program.endswith(".py"):
            sys.path[0] = str(Path(program).parent)
            runpy.run_path(program, run_name="__main__")
        else:
            sys.path.pop(0)
            runpy.run_module(program, run_name="__main__", alter_sys=True)
    finally:
        note.write_text(str(peak_mebibytes()))


if __name__ == "__main__":
    _run_and_note_memory(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
