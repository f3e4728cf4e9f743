"""The ledger: nothing is asked twice, nothing that was answered is lost, and what somebody changed is seen."""

import json
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from trueval.errors import InputError
from trueval.golden.judge.judge import JudgeAnswer, JudgeLabel, JudgeUsage, Question, Task, key_of
from trueval.golden.judge.ledger import CLAIM, Ledger, LedgerTotals, open_ledger

ASKED = Question("grade", "what is lift", ("wings lift", "cheese \ud800", ""), 0)


class Counted:
    """A judge that grades by length and counts how often it is asked."""

    name = "counted"

    def __init__(self, version: int = 1) -> None:
        self.version, self.asked = version, 0

    def identity(self, task: Task) -> Mapping[str, Any]:
        return {"model": "lengths", "version": self.version}

    def ask(self, question: Question) -> JudgeAnswer:
        self.asked += 1
        labels = tuple(JudgeLabel(min(5, len(text)), "long") if text else None for text in question.passages)
        return JudgeAnswer(
            labels, (), "", ("raw é\n",), ("passage 3: no grade",), "lengths-1", JudgeUsage(10, 5, 0.25), 0.5
        )


def test_nothing_is_asked_twice(tmp_path: Path) -> None:
    judge = Counted()
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        first, asked = ledger.ask(judge, ASKED)
        assert asked
        assert ledger.ask(judge, ASKED) == (first, False)
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        assert ledger.ask(judge, ASKED) == (first, False)
        assert ledger.totals() == LedgerTotals(1, 2, 1, 10, 5, 0.25)
    assert judge.asked == 1


@pytest.mark.parametrize(
    "other",
    [
        ASKED._replace(task="order"),
        ASKED._replace(query="what is lift?"),
        ASKED._replace(passages=ASKED.passages[::-1]),
        ASKED._replace(passages=("wings liftcheese", "", "")),
        ASKED._replace(sample=1),
    ],
)
def test_whatever_decides_the_answer_asks_anew(tmp_path: Path, other: Question) -> None:
    judge = Counted()
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        ledger.ask(judge, ASKED)
        assert ledger.ask(judge, other)[1]
        assert ledger.ask(Counted(version=2), ASKED)[1]
        assert ledger.totals().calls == 3


def test_a_judge_that_fails_leaves_nothing(tmp_path: Path) -> None:
    class Broken(Counted):
        def ask(self, question: Question) -> JudgeAnswer:
            if not self.asked:
                self.asked += 1
                raise InputError("no server")
            return super().ask(question)

    judge = Broken()
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        with pytest.raises(InputError, match="no server"):
            ledger.ask(judge, ASKED)
        assert ledger.totals().calls == 0
        assert ledger.ask(judge, ASKED)[1]  # at once: the question is nobody's any more


def test_a_question_of_another_process_is_waited_for_until_its_claim_ends(tmp_path: Path) -> None:
    judge = Counted()
    with open_ledger(tmp_path / "l.sqlite") as ledger, open_ledger(tmp_path / "l.sqlite") as other:
        clock = [1000.0]

        def wait(seconds: float) -> None:
            clock[0] += 100

        assert other._claim(key_of(judge, ASKED), 1000.0)  # and ends there, killed
        assert ledger.ask(judge, ASKED, now=lambda: clock[0], wait=wait)[1]
        assert clock[0] > 1000 + CLAIM
        second = ASKED._replace(sample=1)
        assert other._claim(key_of(judge, second), clock[0])

        def answered(seconds: float) -> None:
            other.add(judge, second, judge.ask(second))

        assert not ledger.ask(judge, second, now=lambda: clock[0], wait=answered)[1]


def test_threads_ask_a_question_once(tmp_path: Path) -> None:
    judge, found = Counted(), []
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        threads = [
            threading.Thread(target=lambda: found.append(ledger.ask(judge, ASKED, wait=lambda _: None)))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert judge.asked == 1
    assert len({each[0] for each in found}) == 1
    assert len(found) == 8


OWNER = """
import sys
from pathlib import Path
from trueval.golden.judge.ledger import open_ledger
with open_ledger(Path(sys.argv[1])):
    print("owns", flush=True)
    input()
"""


def test_another_process_is_refused_until_the_owner_ends(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    try:
        assert owner.stdout.readline() == "owns\n"
        with pytest.raises(InputError, match=rf"l\.sqlite: process {owner.pid} of this machine is writing") as caught:
            Ledger(path)
        assert "wait until that command has ended, or name another file." in str(caught.value)
        Ledger(path, read_only=True).close()  # a dry run only reads
    finally:
        owner.kill()
        owner.communicate()
    with open_ledger(path) as ledger:  # a process that was killed leaves no lock
        assert ledger.ask(Counted(), ASKED)[1]
    assert [file.name for file in tmp_path.iterdir()] == ["l.sqlite"]


def test_a_ledger_that_cannot_be_used_is_not_owned(tmp_path: Path) -> None:
    (tmp_path / "l.sqlite").mkdir()
    with pytest.raises(InputError):
        Ledger(tmp_path / "l.sqlite")
    (tmp_path / "l.sqlite").rmdir()
    with open_ledger(tmp_path / "l.sqlite"), open_ledger(tmp_path / "l.sqlite") as other:
        assert other.totals().calls == 0  # one process is one owner
    assert [file.name for file in tmp_path.iterdir()] == ["l.sqlite"]


def test_a_file_that_another_process_is_making_just_now_is_waited_for(tmp_path: Path) -> None:
    # SQLite answers "locked" at once, whatever its time limit, where another connection writes before WAL is taken.
    other = sqlite3.connect(tmp_path / "l.sqlite", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    other.execute("CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
    later = threading.Timer(0.1, other.execute, ("COMMIT",))
    later.start()
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        assert ledger.totals().calls == 0
    later.join()
    other.close()


def test_labels_know_their_call(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        ledger.ask(Counted(), ASKED)
        rows = ledger.labels("counted").rows(named=True)
        assert ledger.labels("nobody").height == 0
    key = key_of(Counted(), ASKED)
    assert [(row["text"], row["slot"], row["slots"], row["grade"]) for row in rows] == [
        (key.passages[0], 0, 3, 5),
        (key.passages[1], 1, 3, 5),
    ]
    assert {row["call"] for row in rows} == {key.call}
    assert {row["query"] for row in rows} == {key.query}


def test_what_is_exported_is_taken_back(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "a.sqlite") as ledger, open_ledger(tmp_path / "b.sqlite") as other:
        for sample in range(3):
            ledger.ask(Counted(), ASKED._replace(sample=sample))
        assert ledger.export(tmp_path / "a.jsonl") == 3
        assert other.take(tmp_path / "a.jsonl") == 3
        assert other.take(tmp_path / "a.jsonl") == 0
        assert other.ask(Counted(), ASKED)[1] is False
        assert other.labels().equals(ledger.labels())
        other.export(tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


@pytest.mark.parametrize(
    "change",
    [
        {"query": "another"},
        {"key": "0"},
        {"labels": [[5, ""]]},
        {"labels": [["5", ""], None, None]},
        {"task": "dance"},
        {"identity": 3},
    ],
)
def test_a_changed_line_is_refused_and_nothing_is_taken(tmp_path: Path, change: dict[str, Any]) -> None:
    with open_ledger(tmp_path / "a.sqlite") as ledger, open_ledger(tmp_path / "b.sqlite") as other:
        for sample in range(2):
            ledger.ask(Counted(), ASKED._replace(sample=sample))
        ledger.export(tmp_path / "a.jsonl")
        lines = (tmp_path / "a.jsonl").read_text().splitlines()
        lines[1] = json.dumps({**json.loads(lines[1]), **change})
        (tmp_path / "a.jsonl").write_text("\n".join(lines))
        with pytest.raises(InputError, match=r"a\.jsonl:2: .* Export the ledger again"):
            other.take(tmp_path / "a.jsonl")
        assert other.totals().calls == 0


def test_an_audit_sees_what_somebody_changed(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        for sample in range(3):
            ledger.ask(Counted(), ASKED._replace(sample=sample))
        assert ledger.audit() == []
    base = sqlite3.connect(tmp_path / "l.sqlite")
    first, second, _ = sorted(key_of(Counted(), ASKED._replace(sample=sample)).call for sample in range(3))
    base.execute("UPDATE calls SET sample = 9 WHERE key = ?", (first,))
    base.execute("DELETE FROM labels WHERE slot = 0 AND call = ?", (second,))
    base.commit()
    base.close()
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        assert [line.split(":")[0] for line in ledger.audit()] == [f"call {first[:12]}", f"call {second[:12]}"]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE labels SET grade = 1 WHERE slot = 0",
        "UPDATE labels SET reason = 'other' WHERE slot = 0",
        "UPDATE labels SET text = 'other' WHERE slot = 0",
        "UPDATE labels SET slot = 17 WHERE slot = 0",
        "DELETE FROM labels WHERE slot = 0",
        "INSERT INTO labels SELECT 'no call', query, text, slot, grade, reason FROM labels WHERE slot = 0",
    ],
)
def test_an_audit_compares_labels_with_the_answers(tmp_path: Path, change: str) -> None:
    """They were counted: a grade that somebody changed was not seen."""
    path = tmp_path / "ledger.sqlite"
    with open_ledger(path) as ledger:
        ledger.ask(Counted(), ASKED)
        assert ledger.audit() == []
    with sqlite3.connect(path) as base:
        assert base.execute(change).rowcount == 1
    base.close()
    with open_ledger(path) as ledger:
        (line,) = ledger.audit()
        assert line.endswith("its labels are not those of its answer; somebody changed them.")


@pytest.mark.parametrize("column", ["calls.seconds", "labels.reason", "texts.text", "claims.until"])
def test_a_ledger_that_lacks_a_column_is_refused_by_its_name(tmp_path: Path, column: str) -> None:
    path = tmp_path / "l.sqlite"
    with open_ledger(path) as ledger:
        ledger.ask(Counted(), ASKED)
    table, _, name = column.partition(".")
    with sqlite3.connect(path) as base:
        base.execute(f"ALTER TABLE {table} DROP COLUMN {name}")
    base.close()
    with pytest.raises(InputError, match=f"l.sqlite: cannot be used as a ledger .*{name}"):
        Ledger(path)


@pytest.mark.parametrize(
    "change",
    [
        "labels = '[['", "labels = '7'", "labels = '[[1, 2, 3]]'", "identity = 'x'", "raw = '1'",
        "passages = '[\"none\"]'", "query = 'none'",
    ],
)  # fmt: skip
def test_a_broken_call_is_refused_by_its_name(tmp_path: Path, change: str) -> None:
    path = tmp_path / "l.sqlite"
    with open_ledger(path) as ledger:
        ledger.ask(Counted(), ASKED)
    with sqlite3.connect(path) as base:
        base.execute(f"UPDATE calls SET {change}")
    base.close()
    call = key_of(Counted(), ASKED).call[:12]
    with open_ledger(path) as ledger, pytest.raises(InputError, match=rf"l\.sqlite: {call}: cannot be read"):
        list(ledger.calls())
    with open_ledger(path) as ledger, pytest.raises(InputError, match=rf"{call}: cannot be read"):
        ledger.audit()


def test_a_grade_that_is_no_number_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    with open_ledger(path) as ledger:
        ledger.ask(Counted(), ASKED)
        ledger._base.execute("UPDATE labels SET grade = 'good'")
        with pytest.raises(InputError, match="labels: cannot be read"):
            ledger.labels()


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not SQLite, and long enough to be read as a header of some hundred bytes" * 9)
    base = sqlite3.connect(tmp_path / "other")
    base.execute("CREATE TABLE songs (name TEXT)")
    base.close()
    with open_ledger(tmp_path / "newer") as ledger:
        ledger._base.execute("UPDATE about SET value = '99' WHERE name = 'format'")
    for name, told in (("text", "cannot be used"), ("other", "not a ledger"), ("newer", "Update trueval")):
        with pytest.raises(InputError, match=told):
            Ledger(tmp_path / name)
    with pytest.raises(InputError, match="cannot be used"):
        Ledger(tmp_path / "no folder" / "l.sqlite")


def test_a_full_disk_names_the_ledger_and_keeps_what_was_written(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        ledger.ask(Counted(), ASKED)
        pages = ledger._base.execute("PRAGMA page_count").fetchone()[0]
        ledger._base.execute(f"PRAGMA max_page_count = {pages}")  # SQLite then says that the disk is full
        long = ASKED._replace(passages=("x" * 100_000,))
        with pytest.raises(InputError, match=r"l\.sqlite: cannot be written \(.*disk is full\)\. Make room"):
            ledger.ask(Counted(), long)
        ledger._base.execute("PRAGMA max_page_count = 100000")
        assert ledger.ask(Counted(), ASKED)[1] is False
        assert ledger.ask(Counted(), long)[1] is True
        assert ledger.totals().calls == 2


@pytest.mark.parametrize("part", [0.3, 0.6, 0.9])
def test_a_damaged_ledger_is_named_by_every_question(tmp_path: Path, part: float) -> None:
    path = tmp_path / "l.sqlite"
    with open_ledger(path) as ledger:
        for sample in range(200):
            ledger.ask(Counted(), ASKED._replace(sample=sample))
    whole = path.read_bytes()
    begin = int(len(whole) * part) // 4096 * 4096
    for end in (begin + 4096, len(whole)):
        path.write_bytes(whole[:begin] + b"\xa5" * (end - begin) + whole[end:])
        refused: list[InputError] = []
        for use in (
            lambda ledger: [ledger.ask(Counted(), ASKED._replace(sample=n)) for n in range(220)],
            lambda ledger: ledger.labels(),
            lambda ledger: ledger.totals(),
            lambda ledger: list(ledger.calls()),
            lambda ledger: ledger.audit(),
            lambda ledger: ledger.times(),
        ):
            try:
                with open_ledger(path) as ledger:
                    use(ledger)
            except InputError as error:
                refused.append(error)
        assert refused
        assert all("l.sqlite: " in str(error) for error in refused)
