"""Ground for trials of Ray: a network of its own, in which there is nothing but this machine."""

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

Trial = Callable[..., str]


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


@pytest.fixture
def trial(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    """Runs a script in a network namespace with loopback alone, and returns what it printed."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip('ray, of the extra scale, is not installed: pip install "trueval[scale]"')
    alone = ["unshare", "--map-root-user", "--net"]
    if not (shutil.which("unshare") and shutil.which("ip")) or subprocess.run([*alone, "true"], check=False).returncode:
        pytest.skip("unshare cannot give a network namespace here")
    folder = Path(tmp_path_factory.mktemp("r"))  # sockets of Ray have names of at most 107 bytes

    def run(script: str, *arguments: object, ends: int | None = 0) -> str:
        command = [sys.executable, "-c", script, *map(str, arguments)]
        done = subprocess.run(
            [*alone, "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *command],
            env=environment(folder),
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        assert ends is None or done.returncode == ends, done.stderr[-4000:]
        return done.stdout

    return run
