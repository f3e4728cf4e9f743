"""Killed with -9 at any moment, a store has every label that it acknowledged, once; nobody else opens it meanwhile."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.golden.audit.small_audit import small_audit

from trueval.errors import InputError
from trueval.golden.audit.store.audit_store import AuditStore

ROOT = Path(__file__).parents[3]
RATERS = ("ann", "bob")
# Two raters in turn; each says on stdout what it got acknowledged, and an event that it did not is sent again first.
PROGRAM = """
import pathlib, sys
from trueval.golden.audit.store.events import Event
from trueval.golden.audit.store.audit_store import AuditStore
folder, unsure = pathlib.Path(sys.argv[1]), sys.argv[2:]
store = AuditStore.open(folder)
print("open", flush=True)
for each in unsure:
    rater, item, grade = each.split()
    store.record(Event(f"{rater} {item}", rater, item, "grade", int(grade)))
    print("ok", each, flush=True)
for number in range(10**6):
    rater = ("ann", "bob")[number % 2]
    shown = store.next_item(rater)
    if shown is None:
        break
    grade = 1 + number % 5
    print("send", rater, shown.item, grade, flush=True)
    store.record(Event(f"{rater} {shown.item}", rater, shown.item, "grade", grade))
    print("ok", rater, shown.item, grade, flush=True)
"""


def killed(folder: Path, unsure: list[str], seconds: float) -> list[str]:
    """What one life of the program said, killed so long after it had opened the store."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "POLARS_MAX_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder), *unsure], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    with pytest.raises(InputError, match="another trueval golden audit has these labels open"):
        AuditStore.open(folder)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    said, _ = process.communicate()
    # The last line may be cut.
    return [line for line in said.split("\n")[:-1] if line]


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.parametrize("lives", [2, pytest.param(20, marks=pytest.mark.evidence)])
def test_a_store_that_is_killed_loses_no_label(tmp_path: Path, lives: int) -> None:
    folder = small_audit(tmp_path / "audit", items=150 * lives, raters=2, order=False)
    chance, acknowledged, unsure = random.Random(0), {}, []
    for _ in range(lives):
        said = killed(folder, unsure, chance.uniform(0.0, 0.1))
        sent = [line.removeprefix("send ") for line in said if line.startswith("send ")]
        for line in said:
            if line.startswith("ok "):
                rater, item, grade = line.removeprefix("ok ").split()
                assert (rater, item) not in acknowledged
                acknowledged[rater, item] = int(grade)
        known = {(*pair, grade) for pair, grade in acknowledged.items()}
        unsure = [each for each in (*unsure, *sent) if (*each.split()[:2], int(each.split()[2])) not in known]
        with AuditStore.open(folder) as store:
            labels = {(each.rater, item): each.grade for item, given in store.labels().items() for each in given}
        assert acknowledged.items() <= labels.items()
        # What is there beyond that is what was under way.
        assert {f"{rater} {item} {grade}" for (rater, item), grade in labels.items()} <= {
            *(f"{rater} {item} {grade}" for (rater, item), grade in acknowledged.items()),
            *unsure,
        }
    assert len(acknowledged) > 2 * lives
