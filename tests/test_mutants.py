"""The list of changes that no test can notice, and what finds them in it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from mutants.equivalents import (
    Change,
    Equivalent,
    annotations,
    explanation,
    function_at,
    read_equivalents,
    run_with,
)

ROOT = Path(__file__).resolve().parents[1]
CODE = """class A:
    @property
    def b(self) -> int | None:
        if 1 + 1:
            return 2 - 1
        return None


def c(d: str | bytes = "x") -> str:
    e: int | str = 1 | 2
    return d
"""


def test_every_equivalent_is_about_a_line_that_is_there() -> None:
    """A line that was changed or moved to another function leaves its reason behind."""
    entries = read_equivalents()
    assert entries
    for entry in entries:
        source = (ROOT / entry.file).read_text(encoding="utf-8")
        rows = [row for row, line in enumerate(source.splitlines(), 1) if " ".join(line.split()) == entry.line]
        assert any(function_at(source, row) == entry.function for row in rows), (entry.file, entry.line)
        assert entry.mutants
        assert entry.line not in entry.mutants
        assert len(entry.reason) > 20


def test_no_equivalent_is_there_twice() -> None:
    keys = [entry[:3] for entry in read_equivalents()]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("old", "new", "function", "line", "mutant"),
    [
        ("2 - 1", "2 + 1", "A.b", "return 2 - 1", "return 2 + 1"),
        ("    @property\n", "", "A.b", "@property", ""),
        ("1 | 2", "1  &  2", "c", "e: int | str = 1 | 2", "e: int | str = 1 & 2"),
        ("class A", "class B", "A", "class A:", "class B:"),
    ],
)
def test_a_change_is_known_by_its_line_wherever_it_is(
    old: str, new: str, function: str, line: str, mutant: str
) -> None:
    for before in ("", "\n# a comment\n"):
        change = Change.between(Path("src/a.py"), before + CODE, before + CODE.replace(old, new))
        assert change[:4] == ("src/a.py", function, line, mutant)
        known = Equivalent("src/a.py", function, line, (mutant,), "because")
        assert explanation(change, [known]) == "because"
        assert explanation(change, [known._replace(function="other")]) == ""
        assert explanation(change, [known._replace(mutants=("another",))]) == ""


def test_types_are_no_place_for_a_mutant() -> None:
    spans = annotations(CODE)
    places = {(row + 1, line.index("|")) for row, line in enumerate(CODE.splitlines()) if "|" in line}
    assert {place for place in places if any(place in span for span in spans)} == places
    value = (10, CODE.splitlines()[9].rindex("|"))
    assert not any(value in span for span in spans)


def test_a_decorator_is_tried_with_what_runs_what_it_decorates() -> None:
    assert list(run_with(CODE, 2, 2)) == [4, 5, 6]
    assert list(run_with(CODE, 2, 3)) == [4, 5, 6]  # removed, it ends where the next row begins
    assert list(run_with(CODE, 5, 5)) == [5]
    assert list(run_with(CODE, 4, 5)) == [4, 5]


def test_the_decorator_of_a_class_is_tried_with_what_looks_at_imports() -> None:
    assert not run_with("@dataclass(frozen=True)\n" + CODE, 1, 1)


def test_an_exception_of_a_dotted_name_among_others_cannot_be_replaced(tmp_path: Path) -> None:
    """cosmic-ray fails at it; the change counts as one that changes nothing, and the run goes on."""
    pytest.importorskip("cosmic_ray")
    from cosmic_ray.work_item import MutationSpec, WorkItem
    from mutants.trial import Mutant

    file = tmp_path / "one.py"
    operator = "core/ExceptionReplacer"
    spec = MutationSpec(file, operator, 0, (3, 7), (3, 20))
    for name, changed in (("(sqlite3.Error, OSError)", False), ("ValueError", True)):
        file.write_text(f"try:\n    pass\nexcept {name}:\n    pass\n", encoding="utf-8")
        assert (Mutant(file, WorkItem("one", [spec])).code() is not None) is changed


SHARED = """import made
import pytest


@pytest.fixture(scope="module")
def world():
    return made.world()


@pytest.fixture
def own():
    return made.own()


def test_first(world, own):
    assert world + own == 3


def test_second(world):
    assert world == 1


def test_other():
    assert made.other() == 3
"""


def test_what_a_shared_fixture_runs_counts_for_each_test_that_uses_it(tmp_path: Path) -> None:
    coverage = pytest.importorskip("coverage", reason='needs the group "mutants"')
    code, tests = tmp_path / "src" / "trueval", tmp_path / "tests"
    code.mkdir(parents=True)
    tests.mkdir()
    functions = [f"def {name}():\n    return {value}\n" for value, name in enumerate(("world", "own", "other"), 1)]
    (code / "made.py").write_text("".join(functions), encoding="utf-8")
    (tests / "test_made.py").write_text(SHARED, encoding="utf-8")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(code), str(ROOT)]),
        "COVERING": str(tmp_path / "map"),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "mutants.covering", "tests"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    data = coverage.CoverageData(str(tmp_path / "map.sqlite"))
    data.read()
    found = data.contexts_by_lineno("src/trueval/made.py")
    first, second, other = (f"tests/test_made.py::test_{name}" for name in ("first", "second", "other"))
    assert {first, second} <= set(found[2])
    assert other not in found[2]
    assert (found[4], found[6]) == ([first], [other])
    assert set(json.loads((tmp_path / "map.json").read_text(encoding="utf-8"))) == {first, second, other}


def test_tests_of_the_same_name_are_tried_however_long_all_of_them_take() -> None:
    pytest.importorskip("coverage", reason='needs the group "mutants"')
    from mutants.selection import BUDGET, Selection
    from mutants.tree import TREE

    class Mapped(Selection):
        def __init__(self) -> None:
            self.changed: set[str] = set()
            self.seconds = {"tests/a/test_b.py::test_1": BUDGET, "tests/a/test_c.py::test_2": BUDGET + 1}

        def _by_row(self, file: Path) -> dict[int, set[str]]:
            return {1: set(self.seconds)}

    first, last = Mapped().seconds
    assert Mapped().of(TREE / "src/trueval/golden/c.py", [1]) == ([first, last], 2 * BUDGET + 1)
    assert Mapped().of(TREE / "src/trueval/golden/d.py", [1]) == ([first], BUDGET)


def test_slow_tests_of_a_file_that_changed_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is tried as a whole, for the map does not know its tests."""
    pytest.importorskip("cosmic_ray", reason='needs the group "mutants"')
    from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkItem
    from mutants import trial

    file, seen = tmp_path / "a.py", []
    file.write_text("A = 1\n", encoding="utf-8")

    def status(arguments: list[str], seconds: float) -> int:
        seen.append((arguments, file.read_text(encoding="utf-8")))
        return 0

    selection = SimpleNamespace(of=lambda file, rows: (["tests/test_a.py"], 1.0), state="now")
    monkeypatch.setattr(trial, "FOLDER", tmp_path)
    mutant = trial.Mutant(file, WorkItem.single("job", MutationSpec(file, "core/NumberReplacer", 0, (1, 4), (1, 5))))
    result = trial.trial(mutant, selection, SimpleNamespace(status=status))
    ((arguments, changed),) = seen
    assert arguments[arguments.index("-m") + 1] == "not evidence and not slow"
    assert changed != file.read_text(encoding="utf-8") == "A = 1\n"
    assert result.test_outcome is TestOutcome.SURVIVED
