"""Which tests a mutant is tried with: those that run the changed line, quickest first."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final

from coverage import CoverageData

from mutants.tree import FOLDER, QUICK, ROOMS, TESTS, TREE, digest, record

MAP: Final = FOLDER / "covering"
# The files of tests that the map is about, by their hash.
STATE: Final = MAP / "state.json"
# What holds lines that run at import, which no test is recorded to run: classes that are frozen.
OF_IMPORTS: Final = "tests/test_floors.py::test_what_a_room_gives_cannot_be_changed"
# The rooms that it looks at: pytest refuses a test that is not there, which would pass for a mutant that was noticed.
FROZEN: Final = ("standings", "evaluation", "comparison", "measures", "tradeoff", "golden")
# Of tests that run a line the quickest are tried, so many seconds of them.
BUDGET: Final = 60.0


def map_tests(rooms: Iterable[str], *, anew: bool) -> None:
    """Runs the tests of some rooms once and records what they run, folder by folder, unless that is known.

    Args:
        rooms: of `ROOMS`.
        anew: also where it is known.
    """
    MAP.mkdir(exist_ok=True)
    if anew:
        STATE.unlink(missing_ok=True)
    known: dict[str, str] = json.loads(STATE.read_text(encoding="utf-8")) if STATE.exists() else {}
    for room in _folders(rooms):
        if any(name.startswith(f"tests/{room}/") for name in known):
            continue
        places = [f"tests/{room}", *([f"src/trueval/{room}"] if room in ROOMS else [])]
        record([*QUICK, *places], MAP / room)
        known |= {name: found for name, found in _hashes().items() if name.startswith(f"tests/{room}/")}
        STATE.write_text(json.dumps(known, indent=0), encoding="utf-8")


class Selection:
    """Which tests run which lines."""

    def __init__(self) -> None:
        self.maps = [
            (MAP / room).with_suffix(".sqlite")
            for room in _folders(ROOMS)
            if (MAP / room).with_suffix(".json").exists()
        ]
        self.seconds: dict[str, float] = {}
        for each in self.maps:
            self.seconds |= json.loads(each.with_suffix(".json").read_text(encoding="utf-8"))
        then = json.loads(STATE.read_text(encoding="utf-8"))
        folders = {Path(name).parts[1] for name in then}
        now = {name: found for name, found in _hashes().items() if Path(name).parts[1] in folders}
        self.changed = {name for name, found in now.items() if then.get(name) != found}
        self.state = digest(TREE / name for name in now)

    def is_newer(self, state: str | None) -> bool:
        """Whether tests changed since a survivor was tried."""
        return state != self.state

    def of(self, file: Path, rows: Iterable[int]) -> tuple[list[str], float]:
        """The tests of some lines of a file, and what they took; of a line that runs at import, those of the file.

        Files of tests that changed since the map was made come first, and as a whole. The tests of a file of the same
        name, test_rules.py for rules.py, are tried however long all of them take.
        """
        by_row, budget = self._by_row(file), BUDGET
        covering = {test for row in rows for test in by_row.get(row, ())}
        room, first = file.relative_to(TREE / "src/trueval").parts[0], []
        if not covering:
            covering = {test for tests in by_row.values() for test in tests}
            first = [f"{OF_IMPORTS}[{room}]"] if room in FROZEN else []
        of_files = {test.partition("::")[0] for test in covering}
        changed = sorted(name for name in self.changed if name in of_files or name.startswith(f"tests/{room}/"))
        chosen: list[str] = []
        for test in sorted(covering, key=lambda test: (self.seconds[test], test)):
            of_file = test.partition("::")[0]
            if of_file not in changed and (budget > 0 or of_file.endswith(f"/test_{file.stem}.py")):
                chosen.append(test)
                budget -= self.seconds[test]
        return [*first, *changed, *chosen], BUDGET - budget + 10.0 * len([*first, *changed])

    @lru_cache(maxsize=8)  # noqa: B019 -- there is one selection
    def _by_row(self, file: Path) -> dict[int, set[str]]:
        """Tests that pass, by the row that they run."""
        found: dict[int, set[str]] = {}
        for each in self.maps:
            data = CoverageData(str(each))
            data.read()
            for row, tests in data.contexts_by_lineno(file.relative_to(TREE).as_posix()).items():
                found.setdefault(row, set()).update(test for test in tests if test in self.seconds)
        return found


def _folders(rooms: Iterable[str]) -> list[str]:
    """The folders of tests that look at some rooms, each once."""
    return list(dict.fromkeys(folder for room in rooms for folder in TESTS[room]))


def _hashes() -> dict[str, str]:
    """The hash of every file of tests."""
    paths = sorted(path for room in _folders(ROOMS) for path in (TREE / "tests" / room).rglob("*.py"))
    return {path.relative_to(TREE).as_posix(): digest([path]) for path in paths}
