"""The command line, called as a person calls it but inside the test's own process."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from trueval.cli.main import main


class Outcome(NamedTuple):
    status: int
    out: str
    err: str


def wrapped(out: str) -> list[str]:
    """The lines of an output but the next command, which is one line so that it can be copied."""
    return [line.rstrip() for line in out.splitlines() if not line.startswith("Next: ")]


@pytest.fixture
def trueval(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., Outcome]:
    monkeypatch.setenv("TRUEVAL_CACHE", str(tmp_path / "cache of the user"))

    def call(*arguments: object, stdin: str = "", columns: int = 80) -> Outcome:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys, "argv", ["trueval", *map(str, arguments)])
        monkeypatch.setattr(sys.modules["__main__"], "__package__", "", raising=False)  # of pytest: usage would name it
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
        with pytest.raises(SystemExit) as leaving:
            main()
        status = leaving.value.code
        return Outcome(status if isinstance(status, int) else 0 if status is None else 1, *capsys.readouterr())

    return call


# One query, relevant documents a and c. b ties with a, so a takes rank 1 or rank 2 with the same chance; docid-desc
# puts b first. RR: expected 3/4, lowest 1/2, highest 1, tie-broken 1/2, sd 1/4.
QRELS = "q 0 a 1\nq 0 b 0\nq 0 c 1\n"
TIED = "q Q0 a 1 2.0 x\nq Q0 b 2 2.0 x\nq Q0 d 3 1.0 x\n"
CLEAR = "q Q0 b 1 4.0 y\nq Q0 a 2 3.0 y\nq Q0 c 3 1.0 y\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with qrels.trec, tied.trec and clear.trec."""
    for name, text in {"qrels": QRELS, "tied": TIED, "clear": CLEAR}.items():
        (tmp_path / f"{name}.trec").write_text(text, encoding="utf-8")
    return tmp_path
