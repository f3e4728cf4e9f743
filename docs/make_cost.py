"""Writes into docs/cost.md what the dry runs that it shows print today.

Run it with: python docs/make_cost.py. The files that the page shows are written beside a corpus, the embedded sample.
Nothing is sent: the keys are none.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).parent / "cost.md"
FILE: Final = re.compile(r"^```toml\n# (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SHOWN: Final = re.compile(r"^```console\n\$ (trueval [^\n]*)\n.*?^```$", re.DOTALL | re.MULTILINE)


def filled(page: str, folder: Path) -> str:
    """The page with what each command prints.

    Args:
        page: its text.
        folder: of the project, with `corpus`; the page's files are written there.

    Raises:
        CalledProcessError: a command fails.
    """
    for name, text in FILE.findall(page):
        (folder / name).write_text(text, encoding="utf-8")
    keys = {"OPENAI_API_KEY": "none", "VOYAGE_API_KEY": "none"}
    environment = os.environ | keys | {"PYTHONIOENCODING": "utf-8", "XDG_CACHE_HOME": str(folder / "cache")}

    def shown(found: re.Match[str]) -> str:
        command = [sys.executable, "-m", *shlex.split(found[1])]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=True)
        return f"```console\n$ {found[1]}\n{done.stdout.strip()}\n```"

    return SHOWN.sub(shown, page)


def main() -> None:
    """Write the page anew."""
    from trueval.sample import sample_path

    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(sample_path(), Path(folder) / "corpus")
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
