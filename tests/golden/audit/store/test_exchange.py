"""Exchange: what people said, and files for raters without the server, which come back whole or not at all."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.golden.audit.small_audit import small_audit

from trueval.errors import InputError
from trueval.golden.audit.store.audit_store import AuditStore
from trueval.golden.audit.store.events import Event
from trueval.golden.audit.store.exchange import (
    ImportedAnswers,
    export_items,
    import_answers,
    middle,
    people_rows,
    sync_people,
    write_people,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[AuditStore]:
    with AuditStore.open(small_audit(tmp_path / "audit", raters=3)) as opened:
        yield opened


@pytest.fixture
def file(store: AuditStore, tmp_path: Path) -> Path:
    export_items(store, tmp_path / "items.jsonl")
    return tmp_path / "items.jsonl"


def rewrite(file: Path, change: Callable[[list[dict[str, Any]]], object]) -> Path:
    """The file with changed rows."""
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    change(rows)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def filled(rows: list[dict[str, Any]], **grades: int | None) -> None:
    """Fill in grades by item; None skips."""
    for row in rows:
        if row["item"] in grades:
            value = grades[row["item"]]
            row.update({"skip": True} if value is None else {"grade": value})


def test_a_file_for_raters_has_texts_and_nothing_of_the_judge(file: Path, store: AuditStore) -> None:
    text = file.read_text()
    for secret in ("heavy", "light", "d1", "q1", "upper", "lower", "stratum", "rank", "hash"):
        assert secret not in text
    rows = [json.loads(line) for line in text.splitlines()]
    assert [row["item"] for row in rows] == list(store.items)
    assert (
        rows[0].items()
        >= {"question": "what?", "passage": "passage 0", "grade": None, "skip": False, "note": ""}.items()
    )
    assert list(rows[0]["choices"]) == ["1", "2", "3", "4", "5"]
    assert all(rows[0]["choices"].values())  # what each grade means, in the words of the judge's prompt
    assert rows[-1].items() >= {"first": "passage 5", "second": "passage 6"}.items()
    assert rows[-1]["choices"]["1"] == "the first is better"


def test_no_text_can_end_a_line_of_the_file(tmp_path: Path, store: AuditStore) -> None:
    for key, text in list(store._texts.items()):
        store._texts[key] = text + "\u2028\x85\r\n\ud800"  # type: ignore[index]
    assert export_items(store, tmp_path / "x.jsonl") == 6
    assert len((tmp_path / "x.jsonl").read_text(encoding="utf-8").splitlines()) == 6


def test_people_is_the_lower_median_of_raters_and_says_who_skipped(store: AuditStore) -> None:
    for rater, value in (("ann", 5), ("bob", 2), ("cem", None)):
        shown = store.next_item(rater, "grade")
        assert shown is not None
        assert shown.item == "g0"
        kind = "skip" if value is None else "grade"
        store.record(Event(rater, rater, "g0", kind, value, f"by {rater}", 1.5))
    (row,) = people_rows(store)
    assert {name: row[name] for name in ("task", "query", "document", "stratum", "grade", "skipped")} == {
        "task": "grade",
        "query": "q0",
        "document": "d0",
        "stratum": "grade 1, light",
        "grade": 2,
        "skipped": ["cem"],
    }
    assert [(each["rater"], each["grade"], each["note"], each["seconds"]) for each in row["labels"]] == [
        ("ann", 5, "by ann", 1.5),
        ("bob", 2, "by bob", 1.5),
    ]
    assert row["notes"] == {"cem": "by cem"}
    assert write_people(store) == 1
    assert [json.loads(line) for line in (store.folder / "people.jsonl").read_text().splitlines()] == [row]


@pytest.mark.parametrize(
    ("given", "task", "grade"),
    [
        ((2, 4), "grade", 2), ((4, 1, 1, 4, 2), "grade", 2), ((5, 4, 2, 1), "grade", 2), ((4, 5), "answer", 4),
        ((1, -1), "order", 0), ((-1, 0), "order", 0), ((1, 0), "order", 0), ((1, 1), "order", 1),
        ((-1, -1, 1), "order", -1), ((-1, -1, 1, 1), "order", 0),
    ],
)  # fmt: skip
def test_several_raters_are_their_median(given: tuple[int, ...], task: str, grade: int) -> None:
    """The lower of two for grades; of neighbors it would put lists the other way round, and equal is nearer."""
    assert middle(given, task) == grade


def test_people_follows_a_session_so_that_a_kill_leaves_little_behind(store: AuditStore) -> None:
    path = store.folder / "people.jsonl"
    with sync_people(store, 0.005):
        assert path.read_text() == ""
        store.next_item("ann")
        store.record(Event("e", "ann", "g0", "grade", 3))
        until = time.monotonic() + 20
        while not path.read_text() and time.monotonic() < until:
            time.sleep(0.005)
        assert json.loads(path.read_text())["grade"] == 3
        store.undo("ann", "u")
    assert path.read_text() == ""


def test_what_everybody_skipped_has_a_line_without_a_grade(store: AuditStore) -> None:
    store.next_item("ann")
    store.record(Event("e", "ann", "g0", "skip"))
    (row,) = people_rows(store)
    assert (row["grade"], row["labels"], row["skipped"]) == (None, [], ["ann"])


@pytest.mark.parametrize(("given", "said"), [((1, 1, -1), -1), ((1, 0, 0), 0), ((-1,), 1)])
def test_neighbors_are_told_from_the_upper_one_however_they_were_shown(
    store: AuditStore, given: tuple[int, ...], said: int
) -> None:
    """The lower one was shown first, so 1 (the first is better) speaks against the ranking: -1."""
    for rater, value in zip(("ann", "bob", "cem"), given, strict=False):
        store.next_item(rater, "order")
        store.record(Event(rater, rater, "o1", "grade", value))
    (row,) = people_rows(store)
    assert row["documents"] == ["upper", "lower"]
    assert row["grade"] == said
    assert [each["grade"] for each in row["labels"]] == [-value for value in given]


def test_answers_come_back_once(store: AuditStore, file: Path) -> None:
    rewrite(file, lambda rows: filled(rows, g0=4, g3=None, o1=-1))
    assert import_answers(store, file, "ann") == ImportedAnswers(2, 1, 0, 3, (), gaps=2)
    assert import_answers(store, file, "ann") == ImportedAnswers(0, 0, 3, 3, (), gaps=2)
    assert import_answers(store, file, "bob") == ImportedAnswers(2, 1, 0, 3, (), gaps=2)
    said = {item: [(each.rater, each.grade) for each in given] for item, given in store.labels().items()}
    assert said == {
        "g0": [("ann", 4), ("bob", 4)],
        "g3": [("ann", None), ("bob", None)],
        "o1": [("ann", -1), ("bob", -1)],
    }
    # What was taken back may come again from the same file.
    assert store.undo("ann", "u") is not None
    assert import_answers(store, file, "ann").repeated == 2
    assert len(store.labels()) == 3


def test_who_picks_items_is_told_that_they_are_no_random_sample(store: AuditStore, file: Path) -> None:
    """What a rater leaves out in the middle is left out for a reason; what comes after the last answer is not."""
    found = import_answers(store, rewrite(file, lambda rows: filled(rows, g0=1, g3=4)), "ann")
    assert found.gaps == 2
    assert "2 items before answered ones have no answer" in found.sentence()
    assert import_answers(store, rewrite(file, lambda rows: filled(rows, g1=1, g2=None)), "bob").gaps == 0


def test_what_a_rater_said_before_stays_and_is_told(store: AuditStore, file: Path) -> None:
    import_answers(store, rewrite(file, lambda rows: filled(rows, g0=4, g1=2)), "ann")
    found = import_answers(store, rewrite(file, lambda rows: filled(rows, g0=5, g2=1)), "ann")
    assert (found.labels, found.repeated) == (1, 1)
    assert found.conflicts == (f"{file}:1: ann has graded it 4 before, which stays.",)
    assert found.sentence() == (
        "took 1 grade and 0 skips; 1 answer came before; 1 conflict with what was said before, which stays; 3 items "
        "are still empty."
    )
    assert [each.grade for each in store.labels()["g0"]] == [4]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda row: row.update(grade=6), "2: a grade must be an integer from 1 to 5. Got 6."),
        (lambda row: row.update(grade=2.5), "2: a grade must be an integer from 1 to 5. Got 2.5."),
        (lambda row: row.update(grade="3"), "2: a grade must be an integer from 1 to 5. Got '3'."),
        (lambda row: row.update(grade=True), "2: a grade must be an integer from 1 to 5. Got True."),
        (lambda row: row.update(item="g99"), "2: there is no item 'g99' in this audit."),
        (lambda row: row.pop("item"), "2: there is no item None in this audit."),
        (lambda row: row.update(skip=True, grade=3), '2: "skip" must be true or false'),
        (lambda row: row.update(skip="yes"), '2: "skip" must be true or false'),
        (lambda row: row.update(grade=3, note=[7]), "2: a note must be a text"),
        (lambda row: row.update(grade=3, item="g0"), "2: item g0 has another answer in line 1."),
    ],
)
def test_one_wrong_line_and_nothing_is_taken(
    store: AuditStore, file: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    def broken(rows: list[dict[str, Any]]) -> None:
        filled(rows, g0=4, g2=4, g3=4)
        change(rows[1])

    with pytest.raises(InputError, match=f"^{file}:{message}".replace(".", r"\.").replace("(", r"\(")):
        import_answers(store, rewrite(file, broken), "ann")
    assert store.labels() == {}


def test_a_file_that_is_not_json_is_refused_with_its_line(store: AuditStore, file: Path) -> None:
    file.write_text(file.read_text().replace('"g1"', '"g1'))
    with pytest.raises(InputError, match=r"items\.jsonl:2: not JSON"):
        import_answers(store, file, "ann")
    with pytest.raises(InputError, match="the name of a rater"):
        import_answers(store, file, " ")


def answered(file: Path) -> Path:
    return rewrite(file, lambda rows: [row.update(grade=1) for row in rows])


@pytest.mark.parametrize("other", [{"word": "other"}, {"what": "which?"}, {"scale": (0, 3)}, {"scale": (1, 4)}])
def test_answers_of_another_audit_are_refused(store: AuditStore, tmp_path: Path, other: dict[str, Any]) -> None:
    """It has the same ids and items; its raters read other passages, or were asked otherwise, or for other grades."""
    with AuditStore.open(small_audit(tmp_path / "other", raters=3, **other)) as opened:
        export_items(opened, tmp_path / "other.jsonl")
    with pytest.raises(InputError, match=r"other\.jsonl:1: item g0 .* other texts"):
        import_answers(store, answered(tmp_path / "other.jsonl"), "ann")
    assert store.labels() == {}


@pytest.mark.parametrize("text", ["passage", "question", "first", "second"])
def test_answers_to_texts_that_were_changed_are_refused(store: AuditStore, file: Path, text: str) -> None:
    rewrite(answered(file), lambda rows: next(row for row in rows if text in row).update({text: "changed"}))
    with pytest.raises(InputError, match=f"its {text} is not the text of this audit"):
        import_answers(store, file, "ann")
    assert store.labels() == {}


@pytest.mark.parametrize(
    "choices", [{"0": "", "1": "", "2": "", "3": ""}, {}, None, ["1", "2"], {"1": "best", "5": "worst"}]
)
def test_answers_on_a_scale_that_was_changed_are_refused(store: AuditStore, file: Path, choices: Any) -> None:
    rewrite(answered(file), lambda rows: rows[1].update(choices=choices))
    with pytest.raises(InputError, match=r"items\.jsonl:2: item g1: its choices are not those of this audit"):
        import_answers(store, file, "ann")
    assert store.labels() == {}


def test_answers_that_do_not_say_what_was_read_are_refused(store: AuditStore, file: Path, tmp_path: Path) -> None:
    """The texts may be left out on the way; what they were may not, as the same items have other texts elsewhere."""
    texts = ("question", "passage", "first", "second", "choices")
    short = rewrite(answered(file), lambda rows: [row.pop(name, None) for row in rows for name in texts])
    assert import_answers(store, short, "ann").labels == 6
    rewrite(short, lambda rows: rows[3].pop("shown"))
    with pytest.raises(InputError, match=r"items\.jsonl:4: .*\"shown\""):
        import_answers(store, short, "bob")
    for wrong in ("00", None, 7, ["x"]):
        rewrite(short, lambda rows, wrong=wrong: rows[3].update(shown=wrong))  # type: ignore[misc]
        with pytest.raises(InputError, match=r"items\.jsonl:4: "):
            import_answers(store, short, "bob")


def test_texts_that_a_file_cannot_hold_as_they_are_come_back(tmp_path: Path, store: AuditStore, file: Path) -> None:
    for key, text in list(store._texts.items()):
        store._texts[key] = text + "\u2028\x85\r\n\ud800"  # type: ignore[index]
    export_items(store, file)
    assert import_answers(store, answered(file), "ann").labels == 6
