"""`make evidence`: which parts are due, in which order, and what is kept of a run."""

from pathlib import Path

import pytest
from evidence import runner
from evidence.parts import find_parts, part_digest
from evidence.record import Record, page_of, read_head, write, write_index


def checkout(root: Path) -> Path:
    """A repository with a package, a helper of tests, and two parts; the third file has no long test."""
    for name, text in {
        "src/trueval/__init__.py": "from trueval.top import late\nfrom trueval.other import TWO\n",
        "src/trueval/base.py": "ONE = 1\n",
        "src/trueval/other.py": "TWO = 2\n",
        "src/trueval/top.py": "def late():\n    from trueval import base\n    return base.ONE\n",
        "tests/room/test_long.py": "import pytest\nfrom trueval.top import late\n\npytestmark = pytest.mark.evidence\n",
        "tests/room/test_drawn.py": "from hypothesis import given\nfrom trueval.other import TWO\n",
        "tests/room/test_short.py": "def test_one(): pass\n",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def record(part: str, digest: str, date: str, outcome: str = "1 passed") -> Record:
    return Record(part, date, 1.0, outcome, digest, {})


LONG, DRAWN = "tests/room/test_long.py", "tests/room/test_drawn.py"


def test_parts_are_the_files_with_long_tests(tmp_path: Path) -> None:
    assert find_parts(checkout(tmp_path)) == [DRAWN, LONG]


def test_the_index_says_what_each_part_shows_and_when_it_ran(tmp_path: Path) -> None:
    root, folder = checkout(tmp_path), tmp_path / "pages"
    (root / LONG).write_text('"""Long lists | at last.\n\nMore."""\n' + (root / LONG).read_text(), encoding="utf-8")
    write(record(LONG, "d", "2026-11-26"), folder)
    write_index([DRAWN, LONG], root, folder)
    assert (folder / "README.md").read_text(encoding="utf-8").splitlines()[-2:] == [
        f"| {DRAWN} |  | never run |  |  |",
        r"| [room/test_long](room/test_long.md) | Long lists \| at last. | 2026-11-26 | 1.0 | 1 passed |",
    ]


@pytest.mark.parametrize(
    ("changed", "added", "moves"),
    [
        ("src/trueval/base.py", "THREE = 3\n", True),
        ("src/trueval/base.py", "# A comment.\n", False),
        ("src/trueval/top.py", "def more():\n    return 1\n", True),
        ("src/trueval/other.py", "THREE = 3\n", False),
        ("tests/room/test_long.py", "THREE = 3\n", True),
    ],
)
def test_a_digest_is_of_the_code_of_all_that_a_part_imports(
    tmp_path: Path, changed: str, added: str, moves: bool
) -> None:
    """Also of what is imported inside a function of what it imports, and of nothing else."""
    root = checkout(tmp_path / "a")
    before = part_digest(LONG, root)
    other = checkout(tmp_path / "b")  # another folder: files are read once in a process
    (other / changed).write_text((other / changed).read_text() + added, encoding="utf-8")
    assert (part_digest(LONG, other) != before) == moves


@pytest.mark.parametrize("used", ["from trueval import late\n", "import trueval as tv\ntv.late()\n"])
def test_of_the_face_only_what_is_used_counts(tmp_path: Path, used: str) -> None:
    digests = {}
    for name in ("", "src/trueval/base.py", "src/trueval/other.py", "src/trueval/__init__.py"):
        root = checkout(tmp_path / (name or "before"))
        (root / LONG).write_text(f"import pytest\n{used}pytestmark = pytest.mark.evidence\n", encoding="utf-8")
        if name:
            (root / name).write_text((root / name).read_text() + "THREE = 3\n", encoding="utf-8")
        digests[name] = part_digest(LONG, root)
    assert [name for name, digest in digests.items() if digest != digests[""]] == ["src/trueval/base.py"]


def test_docstrings_are_no_code(tmp_path: Path) -> None:
    digests = []
    for name, words in (("a", '"""One."""'), ("b", '"""Another."""'), ("c", "")):
        root = checkout(tmp_path / name)
        text = f"{words}\ndef late():\n    {words}\n    return 'One.'\n"
        (root / "src/trueval/top.py").write_text(text, encoding="utf-8")
        digests.append(part_digest(LONG, root))
    assert len(set(digests)) == 1


def test_parts_without_a_page_come_first_then_the_oldest(tmp_path: Path) -> None:
    root, folder = checkout(tmp_path), tmp_path / "docs"
    assert runner.due_parts([DRAWN, LONG], root, folder) == [DRAWN, LONG]
    write(record(DRAWN, "changed", "2026-01-01"), folder)
    assert runner.due_parts([DRAWN, LONG], root, folder) == [LONG, DRAWN]
    write(record(LONG, "changed", "2025-01-01"), folder)
    assert runner.due_parts([DRAWN, LONG], root, folder) == [LONG, DRAWN]
    write(record(LONG, part_digest(LONG, root), "2026-02-02"), folder)
    assert runner.due_parts([DRAWN, LONG], root, folder) == [DRAWN]
    write(record(LONG, part_digest(LONG, root), "2026-02-02", "1 failed, 2 passed"), folder)
    assert runner.due_parts([DRAWN, LONG], root, folder) == [DRAWN, LONG]


def test_a_page_holds_what_was_printed(tmp_path: Path) -> None:
    found = record(LONG, "d1", "2026-02-02")._replace(figures={"test_one[a]": "coverage .951\n"})
    write(found, tmp_path)
    assert read_head(LONG, tmp_path)["digest"] == "d1"
    assert page_of(LONG, tmp_path).read_text().endswith("## test_one[a]\n\n```\ncoverage .951\n```\n")


@pytest.mark.parametrize(
    ("outcome", "failed"),
    [("3 passed", False), ("1 failed, 2 passed", True), ("2 skipped", False), ("1 error", True), ("no tests", True)],
)
def test_a_part_that_failed_or_has_no_tests_is_said_to_fail(outcome: str, failed: bool) -> None:
    assert record(LONG, "", "", outcome).failed == failed


@pytest.mark.slow
def test_a_run_keeps_figures_and_stops_at_its_time() -> None:
    """Of this repository, whose plugin, marks and profile it needs."""
    part = "tests/evidence_example.py"
    root = Path(__file__).resolve().parents[1]
    example = root / part
    example.write_text(
        "import pytest\n\n@pytest.mark.evidence\n@pytest.mark.parametrize('at', range(3))\n"
        "def test_prints(at):\n    print('figure', at)\n",
        encoding="utf-8",
    )
    try:
        whole, cut = runner.run_part(part, 1.0, 1), runner.run_part(part, 0.0, 1)
    finally:
        example.unlink()
    assert (whole.outcome, whole.failed) == ("3 passed", False)
    assert whole.figures["test_prints[2]"] == "figure 2\n"
    assert cut.outcome == "1 passed, of 3"


def test_the_index_lists_the_pages_that_people_write(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "cuts.md").write_text("# Cuts: figures\n", encoding="utf-8")
    write_index([], tmp_path, tmp_path)
    assert "- [Cuts: figures](notes/cuts.md)" in (tmp_path / "README.md").read_text(encoding="utf-8").splitlines()
