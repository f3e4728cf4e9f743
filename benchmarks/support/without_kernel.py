"""The command `trueval` as an installation without a compiler has it."""

import sys

sys.modules["trueval.files.trec.kernel._scan"] = None  # type: ignore[assignment]  # importing it fails, as if it were not there

from trueval.__main__ import run  # noqa: E402

if __name__ == "__main__":
    run()
