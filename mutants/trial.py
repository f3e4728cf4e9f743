"""Change the code a little, in many places, and see whether a test notices: python -m mutants --sample 100.

The changes are those of cosmic-ray: other operators, other numbers, `and` for `or`, loops that end at once, decorators
left out. Each is made in a copy of the working tree (.mutants/tree) and tried with the tests that run the changed line,
quickest first. What was tried is kept by the content of the file, in sessions of cosmic-ray (.mutants/sessions), so the
same command goes on where it was interrupted. What survives must be in equivalents.toml, with a reason.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable
from itertools import chain, zip_longest
from pathlib import Path
from typing import NamedTuple

import cosmic_ray.plugins
from cosmic_ray.commands.init import init
from cosmic_ray.mutating import mutate_code
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkerOutcome, WorkItem, WorkResult

from mutants.equivalents import Change, Equivalent, annotations, explanation, read_equivalents, run_with
from mutants.selection import Selection, map_tests
from mutants.tree import FOLDER, QUICK, ROOMS, TREE, Tester, copy_tree, digest, sources

# What a mutant may take beside the time that its tests took when they were mapped, and how many times that.
START_SECONDS, TIMES_AS_LONG = 60.0, 5.0
# pytest: all passed; no test ran.
PASSED, NO_TESTS = 0, 5


class Mutant(NamedTuple):
    """A change to one file.

    Attributes:
        file: in the copy.
        item: of the session of the file.
    """

    file: Path
    item: WorkItem

    @property
    def spec(self) -> MutationSpec:
        """Which change it is."""
        return self.item.mutations[0]

    @property
    def site(self) -> tuple[str, tuple[int, int], str]:
        """Where it is, and what kind: + has eleven other operators, of which one is tried."""
        return self.file.relative_to(TREE).as_posix(), self.spec.start_pos, self.spec.operator_name.partition("_")[0]

    def rank(self, seed: int) -> tuple[bytes, bytes]:
        """Where it is in the order of a seed: its site, and then itself among those of the site."""
        first, second = (repr((seed, *self.site, *more)).encode() for more in ((), _order(self.spec)))
        return hashlib.sha256(first).digest(), hashlib.sha256(second).digest()

    def code(self) -> str | None:
        """The file with the change; None where there is nothing to change."""
        operator = cosmic_ray.plugins.get_operator(self.spec.operator_name)(**self.spec.operator_args)
        try:
            found: str | None = mutate_code(self.file.read_text(encoding="utf-8"), operator, self.spec.occurrence)
        except AttributeError:  # cosmic-ray cannot replace an exception of a dotted name among others
            return None
        return found

    def change(self) -> Change | None:
        """The change as lines."""
        code = self.code()
        return None if code is None else Change.between(self.file, self.file.read_text(encoding="utf-8"), code)


def main() -> int:
    """Tries mutants, says what was found; 1 where one survives without an explanation."""
    asked = _arguments()
    os.nice(10)
    FOLDER.mkdir(exist_ok=True)
    copy_tree()
    map_tests(asked.rooms, anew=asked.map)
    by_room = {room: [_session(file) for file in sources([room])] for room in asked.rooms}
    chosen = tried(by_room) if asked.tried else sample(by_room, asked.sample, asked.seed)
    equivalents, selection, tester = read_equivalents(), Selection(), Tester()
    until = time.monotonic() + 60 * asked.minutes
    _say(f"{len(chosen)} mutants of {sum(len(items) for each in by_room.values() for _, items in each)}")
    for number, mutant in enumerate([] if asked.tried else chosen, 1):
        if time.monotonic() > until:
            _say(f"stopped after {asked.minutes} minutes; the same command goes on")
            break
        with use_db(_database(mutant.file)) as session:
            if is_open(mutant, dict(session.results).get(mutant.item.job_id), selection, equivalents):
                start, result = time.monotonic(), trial(mutant, selection, tester)
                session.set_result(mutant.item.job_id, result)
                outcome = result.test_outcome or result.worker_outcome
                row = mutant.spec.start_pos[0]
                where = f"{mutant.file.relative_to(TREE)}:{row} {mutant.spec.operator_name.rpartition('/')[2]}"
                _say(f"{number:5} {outcome.value:11} {time.monotonic() - start:5.0f} s  {where}")
    return report(chosen, equivalents)


def sample(by_room: dict[str, list[tuple[Path, list[WorkItem]]]], count: int | None, seed: int) -> list[Mutant]:
    """Mutants of every room in turn, one of each site; None for every mutant.

    Their order is by a hash with the seed, so that a change to one file leaves the sample of the others as it was.
    """
    rooms = []
    for each in by_room.values():
        mutants = sorted((Mutant(file, item) for file, items in each for item in items), key=lambda one: one.rank(seed))
        of_site = {mutant.site: mutant for mutant in reversed(mutants)}  # the first of each stays
        rooms.append(mutants if count is None else list(of_site.values())[::-1])
    mixed = [mutant for mutant in chain.from_iterable(zip_longest(*rooms)) if mutant is not None]
    return mixed[:count]


def tried(by_room: dict[str, list[tuple[Path, list[WorkItem]]]]) -> list[Mutant]:
    """Every mutant that was tried, as the files are now."""
    found = []
    for file, items in chain.from_iterable(by_room.values()):
        with use_db(_database(file)) as session:
            known = dict(session.results)
        found += [Mutant(file, item) for item in items if item.job_id in known]
    return found


def is_open(mutant: Mutant, known: WorkResult | None, selection: Selection, equivalents: list[Equivalent]) -> bool:
    """Whether a mutant was not tried yet, or survived other tests without an explanation."""
    if known is None:
        return True
    if known.test_outcome is not TestOutcome.SURVIVED or not selection.is_newer(known.output):
        return False
    change = mutant.change()
    return change is not None and not explanation(change, equivalents)


def trial(mutant: Mutant, selection: Selection, tester: Tester) -> WorkResult:
    """Runs the tests of a mutant in the copy, and puts the file back."""
    original, change = mutant.file.read_text(encoding="utf-8"), mutant.change()
    if change is None:
        return WorkResult(WorkerOutcome.NO_TEST)
    first, last = mutant.spec.start_pos[0], mutant.spec.end_pos[0]
    tests, seconds = selection.of(mutant.file, run_with(original, first, last))
    if not tests:
        return WorkResult(WorkerOutcome.NORMAL, selection.state, TestOutcome.SURVIVED, change.diff)
    listed = FOLDER / "tests.txt"
    listed.write_text("".join(f"{test}\n" for test in tests), encoding="utf-8")
    try:
        mutant.file.write_text(mutant.code() or original, encoding="utf-8")
        status = tester.status(["-x", *QUICK, f"@{listed}"], START_SECONDS + TIMES_AS_LONG * seconds)
    finally:
        mutant.file.write_text(original, encoding="utf-8")
    if status == NO_TESTS:
        raise SystemExit(f"No test ran for {mutant.file}: map them anew with --map.")
    survived = TestOutcome.SURVIVED if status == PASSED else TestOutcome.KILLED
    return WorkResult(WorkerOutcome.NORMAL, "timeout" if status is None else selection.state, survived, change.diff)


def report(chosen: Iterable[Mutant], equivalents: list[Equivalent]) -> int:
    """Says how many there are of each outcome, by room, and the change of every survivor without an explanation."""
    counts: dict[str, Counter[str]] = {}
    unexplained = 0
    for mutant in chosen:
        with use_db(_database(mutant.file)) as session:
            result = dict(session.results).get(mutant.item.job_id)
        if result is None or result.worker_outcome is not WorkerOutcome.NORMAL:
            continue
        outcome = "killed"
        if result.test_outcome is TestOutcome.SURVIVED and (change := mutant.change()) is not None:
            reason = explanation(change, equivalents)
            outcome = "equivalent" if reason else "survived"
            unexplained += not reason
            _say("" if reason else f"\n{change.function}\n{change.diff}")
        elif result.output == "timeout":
            outcome = "timed out"
        counts.setdefault(mutant.file.relative_to(TREE / "src/trueval").parts[0], Counter())[outcome] += 1
    total: Counter[str] = sum(counts.values(), Counter())
    names = ("killed", "timed out", "equivalent", "survived")
    _say(f"\n{'room':12}{'mutants':>10}" + "".join(f"{name:>12}" for name in names))
    for room, found in [*counts.items(), ("all", total)]:
        _say(f"{room:12}{found.total():10}" + "".join(f"{found[name]:12}" for name in names))
    return 1 if unexplained else 0


def _session(file: Path) -> tuple[Path, list[WorkItem]]:
    """Every change to a file, those of types left out: annotations are read by nobody when the program runs."""
    place = _database(file)
    new = not place.exists()
    place.parent.mkdir(exist_ok=True)
    with use_db(place, WorkDB.Mode.create) as session:
        if new:
            init([file], session, {})
        items = sorted(session.work_items, key=lambda item: _order(item.mutations[0]))
    types = annotations(file.read_text(encoding="utf-8"))
    return file, [item for item in items if not any(item.mutations[0].start_pos in each for each in types)]


def _order(spec: MutationSpec) -> tuple[str, str, int]:
    return spec.operator_name, str(spec.operator_args), spec.occurrence


def _database(file: Path) -> Path:
    """The session of a file as it is now."""
    name = "-".join(file.relative_to(TREE / "src/trueval").with_suffix("").parts)
    return FOLDER / "sessions" / f"{name}-{digest([file])[:12]}.sqlite"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m mutants", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sample", type=int, metavar="N", help="try N, one of each site; else all")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS), choices=ROOMS)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument(
        "--tried", action="store_true", help="say what is known of all that were tried, and try nothing"
    )
    parser.add_argument("--map", action="store_true", help="see anew which test runs which line")
    return parser.parse_args()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
