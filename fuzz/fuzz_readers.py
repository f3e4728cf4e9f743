"""Fuzz one reader: python fuzz/fuzz_readers.py trec -atheris_runs=200000 (needs: pip install atheris).

The first byte says whether the rest are decisions that build a file (build.py), pieces of text (checks.PIECES), or
the file itself.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("POLARS_MAX_THREADS", "1")  # inputs are small, and threads cost more than they give
sys.path[:0] = [str(Path(__file__).parents[1] / "src"), str(Path(__file__).parents[1])]

import atheris  # type: ignore[import-not-found]  # noqa: E402 -- after the environment is set

with atheris.instrument_imports(include=["trueval.files"]):
    from fuzz.build import build
    from fuzz.checks import CHECKS, SPELLS, spell


def main() -> None:
    """Run the target that the first argument names."""
    name = sys.argv.pop(1)
    check = CHECKS[name]

    def target(data: bytes) -> None:
        kind = data[0] % 8 if data and name in SPELLS else 7
        check(build(name, data[1:]) if kind < 5 else spell(data[1:]) if kind < 7 else data[1:])

    atheris.Setup(sys.argv, target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
