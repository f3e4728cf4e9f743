"""A copy of the working tree in which code may be changed while others read the original."""

from __future__ import annotations

import compileall
import hashlib
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / ".mutants"
TREE: Final = FOLDER / "tree"
# The rooms whose numbers people decide by, and the tests that look at what they give.
TESTS: Final = {
    "standings": ("standings", "evaluation", "measures", "truth"),
    "evaluation": ("evaluation", "comparison", "policy", "rag", "truth"),
    "comparison": ("comparison",),
    "measures": ("measures", "evaluation", "rag", "truth"),
    "tradeoff": ("tradeoff",),
    "golden": ("golden", "research"),
}
ROOMS: Final = tuple(TESTS)
# One processor, so that others can be used beside.
ALONE: Final = dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
# What most tests import, two thirds of the time of a short one. Nothing of polars runs before the processes part.
LIBRARIES: Final = ("numpy", "polars", "scipy.stats", "scipy.special", "pytest")
QUIET: Final = ("-q", "-p", "no:cacheprovider")
# The tests that mutants are tried with.
QUICK: Final = ("-m", "not evidence and not slow")
OUTPUT: Final = FOLDER / "output.txt"


def copy_tree() -> None:
    """Copies every file that git knows or would add, and the compiled kernels."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.split(b"\0")
    names = [os.fsdecode(name) for name in listed if name]
    names += [str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.abi3.so")]
    shutil.rmtree(TREE, ignore_errors=True)
    for name in names:
        source, target = ROOT / name, TREE / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    # Checked by their hash: a mutant of the same size, written in the same second, would pass for the original.
    compileall.compile_dir(str(TREE), quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)


def sources(rooms: Iterable[str]) -> list[Path]:
    """The files of some rooms in the copy, views left out: what they show is held by gold files."""
    found = [path for room in rooms for path in sorted((TREE / "src/trueval" / room).rglob("*.py"))]
    return [path for path in found if path.name != "__init__.py" and "views" not in path.parts]


def digest(paths: Iterable[Path]) -> str:
    """The hash of files and their names."""
    found = hashlib.sha256()
    for path in sorted(paths):
        found.update(str(path.relative_to(TREE)).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def record(arguments: Sequence[str], covering: Path) -> None:
    """Runs tests in the copy with the plugin mutants.covering, which writes what they run.

    Args:
        arguments: of pytest.
        covering: where it writes.
    """
    paths = os.pathsep.join([*_paths(), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {
        **os.environ,
        **ALONE,
        "PYTHONPATH": paths,
        "PYTHONDONTWRITEBYTECODE": "1",
        "COVERING": str(covering),
    }
    command = [sys.executable, "-m", "pytest", *QUIET, "-p", "mutants.covering", *arguments]
    with OUTPUT.open("wb") as output:
        subprocess.run(command, cwd=TREE, env=environment, stdout=output, stderr=output, check=False)


class Tester:
    """Runs tests in the copy again and again, each time in a new process that holds libraries, but no trueval yet."""

    def __init__(self) -> None:
        os.environ |= {**ALONE, "PYTHONDONTWRITEBYTECODE": "1"}
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(list(LIBRARIES))

    def status(self, arguments: Sequence[str], seconds: float) -> int | None:
        """The exit status of pytest; None where it took longer than it may.

        Args:
            arguments: of pytest.
            seconds: that it may take.
        """
        process = self.context.Process(target=_pytest, args=(list(arguments),))
        process.start()
        try:
            process.join(seconds)
            return process.exitcode  # None while it runs
        finally:
            if process.is_alive() and process.pid is not None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # a test may have started others
                process.join()


def _pytest(arguments: list[str]) -> None:
    """What a process does: its own session, so that all of it can be ended."""
    os.setsid()
    with OUTPUT.open("wb") as output:
        for stream in (1, 2):
            os.dup2(output.fileno(), stream)
    os.chdir(TREE)
    sys.path[:0] = _paths()
    import pytest

    status = int(pytest.main([*QUIET, *arguments]))
    sys.stdout.flush()
    os._exit(status)  # at once: threads of a mutant may never end


def _paths() -> list[str]:
    return [str(TREE / "src"), str(TREE)]
