"""Ground for trials of Ray and others: a network of their own, in which there is nothing but this machine."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

LIMIT = 300  # seconds
ALONE = ["unshare", "--map-root-user", "--net"]
ENDING = ["--pid", "--fork", "--kill-child", "--mount-proc"]  # nothing outlives the trial


def environment(folder: Path) -> dict[str, str]:
    """Ray writes to the folder alone, and reports nothing."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LANG", "VIRTUAL_ENV") if name in os.environ}
    home = folder / "home"
    home.mkdir(exist_ok=True)
    return {
        **kept,
        "HOME": str(home),
        "TRUEVAL_CACHE": str(folder / "cache"),
        "RAY_TMPDIR": str(folder / "r"),
        "RAY_USAGE_STATS_ENABLED": "0",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }


@pytest.fixture(scope="session")
def start(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.Popen[str]]:
    """Starts Python with some arguments in a network namespace with loopback alone."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip('ray, of the extra scale, is not installed: pip install "trueval[scale]"')
    tools = shutil.which("unshare") and shutil.which("ip")
    if not tools or subprocess.run([*ALONE, *ENDING, "true"], check=False).returncode:
        pytest.skip("unshare cannot give a network namespace here")
    folder = Path(tmp_path_factory.mktemp("r"))  # sockets of Ray have names of at most 107 bytes

    def run(*arguments: object, pids: bool = True) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [
                *(*ALONE, *(ENDING if pids else ())),
                *("sh", "-c", 'ip link set lo up && exec "$@"', "sh", sys.executable, *map(str, arguments)),
            ],
            env=environment(folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return run


@pytest.fixture
def trial(start: Callable[..., subprocess.Popen[str]]) -> Callable[..., str]:
    """Runs a script there, and returns what it printed."""

    def run(script: str, *arguments: object) -> str:
        done = start("-c", script, *arguments)
        out, err = done.communicate(timeout=LIMIT)
        assert done.returncode == 0, err[-4000:]
        return out

    return run
