"""A label stays with the texts of its question and its passage: ids may change, words may not."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path

import pytest
from tests.extras import need
from tests.golden import small
from tests.golden.chat import chat_server

from trueval.errors import InputError, TruevalWarning
from trueval.golden.build.anchoring import anchor_judgments, find_changes
from trueval.golden.build.build import build
from trueval.golden.build.golden_plan import GoldenPlan, read_judge
from trueval.golden.build.golden_set import GoldenSet
from trueval.golden.build.on_demand_files import OnDemand
from trueval.tradeoff.config.plan import SweepPlan
from trueval.tradeoff.config.sweep_inputs import read_inputs

need("bm25s", extra="retrieval")
SWEEP = '[corpus]\npath = "c"\n[sparse]\ndepth = 10\n[measure]\njudgments = "out"\n'


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A golden set in `out`, its plan and its corpus; nobody writes there."""
    folder = tmp_path_factory.mktemp("built")
    build(GoldenPlan.read(small.written(folder, small.LABELS)), folder / "out", until="grade")
    return folder


@pytest.fixture
def place(built: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return shutil.copytree(built, tmp_path / "place")


def reworded(folder: Path, query: str, text: str) -> None:
    """Ask a query in other words, under its id."""
    file = folder / "c" / "queries.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps(row | ({"text": text} if row["_id"] == query else {})) + "\n" for row in rows))


def test_labels_stay_with_their_texts_where_the_corpus_is_cut_anew(place: Path) -> None:
    plan, found = GoldenPlan.read(place / "golden.toml"), GoldenSet.read(place / "out")
    assert find_changes(found, plan.read_collection()).sentences() == []
    file = place / "c" / "corpus.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    rows[0]["text"] += " and more"  # cut otherwise
    again = {"_id": "twice", "text": rows[9]["text"]}
    moved = [{**row, "_id": f"new-{row['_id']}"} for row in rows] + [again]
    file.write_text("".join(json.dumps(row) + "\n" for row in moved))
    new = plan.read_collection()
    there = anchor_judgments(GoldenSet.read(place / "out"), new)
    assert (there.kept, there.moved, there.lost) == (23, 23, 1)
    frame = there.judgments.frame
    graded = {(query, document): grade for query, document, grade in frame.iter_rows()}
    assert graded["q1", "new-boilers-1"] == graded["q1", "twice"] == 4
    assert ("q0", "new-wings-0") not in graded
    assert len(graded) == 24
    (told,) = find_changes(found, new).sentences()
    assert "1 of 24 judged passages are not in it any more." in told
    sweep = place / "sweep.toml"
    sweep.write_text(SWEEP)
    (note,) = read_inputs(SweepPlan.read(sweep)).notes
    assert "1 of 24 judged passages are not in it any more. trueval golden anchor carries its labels over" in note
    labels = place / "c" / "labels.trec"
    labels.write_text(labels.read_text().replace(" 0 ", " 0 new-"))
    with pytest.warns(TruevalWarning, match="the corpus is not the one"):
        build(plan, place / "out", until="pool")


def test_labels_of_a_question_in_other_words_are_left_out_and_said(place: Path) -> None:
    """Another question under an old id: none of its labels is carried over, and every place that looks says so."""
    plan, found = GoldenPlan.read(place / "golden.toml"), GoldenSet.read(place / "out")
    reworded(place, "q1", "who builds boilers")
    now = plan.read_collection()
    there = anchor_judgments(GoldenSet.read(place / "out"), now)
    assert (there.reworded, there.left, there.kept, there.lost, there.unread) == (("q1",), 8, 16, 0, 0)
    assert set(there.judgments.frame["query_id"]) == {"q0", "q2"}
    assert "1 query is asked in other words than were judged ('q1'): 8 labels" in there.sentences()[1]
    (told,) = find_changes(found, now).sentences()
    assert told.startswith("1 query is asked in other words than were judged ('q1')")
    (place / "sweep.toml").write_text(SWEEP)
    assert told in read_inputs(SweepPlan.read(place / "sweep.toml")).notes
    for query in ("q0", "q2"):
        reworded(place, query, "something else")
    with pytest.raises(InputError, match=r"3 queries are asked in other words .*build the golden set again"):
        anchor_judgments(found, plan.read_collection())


def test_judging_on_demand_mixes_no_labels_of_two_questions(place: Path) -> None:
    (place / "run.trec").write_text("q1 Q0 bridges-0 1 1 x\n")
    judge = read_judge(f"labels:{place / 'c' / 'labels.trec'}", {})

    def read() -> OnDemand:
        files = (place / "out", [place / "run.trec"], str(place / "c"))
        return OnDemand.read(*files, judge, depth=3, out=place / "new.trec")

    assert read().wanted.notes == ()
    file = place / "c" / "corpus.jsonl"
    file.write_text(file.read_text().replace("of wings, worth 5", "of a wing, worth 5"))
    (note,) = read().wanted.notes
    assert "1 of 24 judged passages are not in it any more" in note
    reworded(place, "q2", "something else")
    with pytest.raises(InputError, match=r"1 query is asked in other words .*'q2'\) in .*out\. Carry over first"):
        read()


def test_queries_that_nobody_can_look_at_are_said(place: Path) -> None:
    plan, found = GoldenPlan.read(place / "golden.toml"), GoldenSet.read(place / "out")
    file = place / "c" / "queries.jsonl"
    file.write_text("".join(line + "\n" for line in file.read_text().splitlines()[:1]))
    there = anchor_judgments(found, plan.read_collection())
    assert (there.unread, there.kept, there.reworded) == (2, 24, ())
    assert "2 judged queries have no text in the collection" in there.sentences()[1]


def test_labels_that_do_not_say_how_they_were_asked_are_not_carried_over(place: Path) -> None:
    plan = GoldenPlan.read(place / "golden.toml")
    file = place / "out" / "labels.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps({**row, "asked": None}) + "\n" for row in rows))
    with pytest.raises(InputError, match="3 queries are asked in other words"):
        anchor_judgments(GoldenSet.read(place / "out"), plan.read_collection())


def test_a_build_asks_again_about_a_question_in_other_words_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_JUDGE_KEY", "k")
    again = pytest.warns(TruevalWarning, match=r"1 query is asked in other words than were judged \('q1'\)")
    with chat_server(small.stars) as server, warnings.catch_warnings():
        warnings.simplefilter("ignore", TruevalWarning)  # of what leaves this machine
        plan = GoldenPlan.read(small.written(tmp_path, small.served(server.url)))
        build(plan, tmp_path / "out", until="grade")
        before = len(server.seen)
        reworded(tmp_path, "q1", "all about boilers")
        with again:
            build(plan, tmp_path / "out", until="grade")
        asked = server.seen[before:]
    assert {each.query for each in asked} == {"all about boilers"}
    assert len(asked) == before / 3
