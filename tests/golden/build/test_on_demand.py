"""Judging on demand: what a run retrieved and nobody judged is labeled, and nothing else is touched."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.golden import small

from trueval.collection import Collection
from trueval.errors import InputError, PolicyError
from trueval.golden.build.build_estimate import estimate_stage
from trueval.golden.build.golden_plan import read_judge
from trueval.golden.build.grade import GradingSettings
from trueval.golden.build.on_demand import demand, extend, refuse_other_scale
from trueval.golden.build.on_demand_files import OnDemand
from trueval.golden.judge.judge import Question
from trueval.golden.judge.label_judge import LabelJudge
from trueval.golden.judge.ledger import open_ledger
from trueval.judgments import Judgments
from trueval.models.hosted.account import Account
from trueval.run import Run

RUN = Run.from_dict(
    {
        "q0": {"wings-0": 9.0, "wings-1": 8.0, "wings-2": 7.0, "wings-3": 7.0, "wings-4": 1.0},
        "q1": {"boilers-0": 2.0, "wings-5": 1.0},
    }
)
JUDGED = Judgments.from_dict({"q0": {"wings-0": 2, "bridges-0": 1}, "q1": {"boilers-0": 4, "wings-5": -1}})


@pytest.fixture
def collection(tmp_path: Path) -> Collection:
    small.corpus(tmp_path / "c")
    return Collection.read(str(tmp_path / "c"))


def judge(collection: Collection) -> LabelJudge:
    labels = {
        (query, text): small.stars(query, text)
        for query in collection.queries.values()
        for text in collection.documents.values()
    }
    return LabelJudge(labels)


def test_what_any_order_of_ties_puts_among_the_first_is_wanted(collection: Collection) -> None:
    # Depth 3 ends inside the tie of wings-2 and wings-3: both may be third.
    found = demand(JUDGED, [RUN], collection, 3)
    assert found.pools == {"q0": ["wings-1", "wings-2", "wings-3"], "q1": ["wings-5"]}
    assert (found.passages, found.retrieved) == (4, 6)
    assert demand(JUDGED, [RUN], collection, 2).pools == {"q0": ["wings-1"], "q1": ["wings-5"]}


def test_several_runs_want_each_document_once(collection: Collection) -> None:
    other = Run.from_dict({"q0": {"wings-4": 3.0, "wings-1": 2.0}})
    found = demand(JUDGED, [RUN, other], collection, 2)
    assert {query: sorted(ids) for query, ids in found.pools.items()} == {
        "q0": ["wings-1", "wings-4"],
        "q1": ["wings-5"],
    }


def test_old_grades_stay_and_new_ones_are_the_judge_s(tmp_path: Path, collection: Collection) -> None:
    wanted = demand(JUDGED, [RUN], collection, 3)
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        found = extend(JUDGED, wanted, collection, judge(collection), ledger, GradingSettings(batch=2), Account())
    rows = {(query, document): grade for query, document, grade in found.judgments.frame.iter_rows()}
    assert rows == {
        ("q0", "wings-0"): 2, ("q0", "bridges-0"): 1, ("q1", "boilers-0"): 4,  # people's, though the judge would say 5
        ("q0", "wings-1"): 4, ("q0", "wings-2"): 4, ("q0", "wings-3"): 3, ("q1", "wings-5"): 1,
    }  # fmt: skip
    assert found.judgments.query_ids.to_list() == ["q0", "q1"]
    assert {row["document"] for row in found.labels} == {"wings-1", "wings-2", "wings-3", "wings-5"}
    assert all(len(row["labels"]) == 2 for row in found.labels)
    again = demand(found.judgments, [RUN], collection, 3)
    assert again.pools == {}


def test_grades_of_another_scale_must_be_named(tmp_path: Path, collection: Collection) -> None:
    binary = Judgments.from_dict({"q0": {"wings-0": 1, "wings-5": 0}})
    wanted = demand(binary, [RUN], collection, 2)
    with open_ledger(tmp_path / "l.sqlite") as ledger:
        with pytest.raises(PolicyError, match=r"has the grades 0, 1, and a judge gives 1 to 5\. .*--scale 1:0,2:0"):
            extend(binary, wanted, collection, judge(collection), ledger, GradingSettings(), Account())
        scale = {1.0: 0.0, 2.0: 0.0, 3.0: 0.0, 4.0: 1.0, 5.0: 1.0}
        found = extend(binary, wanted, collection, judge(collection), ledger, GradingSettings(), Account(), scale=scale)
    rows = {(query, document): grade for query, document, grade in found.judgments.frame.iter_rows()}
    assert rows == {
        ("q0", "wings-0"): 1, ("q0", "wings-5"): 0, ("q0", "wings-1"): 1, ("q1", "boilers-0"): 1, ("q1", "wings-5"): 0
    }  # fmt: skip
    with pytest.raises(PolicyError, match=r"It lacks \[2, 3, 4\]"):
        refuse_other_scale(binary, {1.0: 0.0, 5.0: 1.0})
    with pytest.raises(PolicyError, match="has the grades 1, and"):  # relevant ones alone: nobody knows the scale
        refuse_other_scale(Judgments.from_dict({"q": {"d": 1}}), None)


def test_documents_without_a_text_are_refused(collection: Collection) -> None:
    with pytest.raises(InputError, match="1 documents that the runs retrieved have no text there, such as 'gone'"):
        demand(JUDGED, [Run.from_dict({"q0": {"gone": 1.0}})], collection, 3)
    with pytest.raises(InputError, match="none of 1 queries of the runs has a text there, such as 'q9'"):
        demand(JUDGED, [Run.from_dict({"q9": {"wings-0": 1.0}})], collection, 3)


def test_a_dry_run_makes_no_file_and_counts_equal_questions_once(tmp_path: Path, collection: Collection) -> None:
    plan = read_judge(f"labels:{tmp_path / 'c' / 'labels.trec'}", {"rounds": 1, "batch": 8})
    (tmp_path / "qrels").write_text("q0 0 boilers-0 1\nq0 0 boilers-1 5\n")
    for name in ("a.trec", "b.trec"):
        RUN.write(tmp_path / name)
    runs, before = [tmp_path / "a.trec", tmp_path / "b.trec"], sorted(tmp_path.iterdir())
    ready = OnDemand.read(tmp_path / "qrels", runs, str(tmp_path / "c"), plan, depth=4, out=tmp_path / "new.trec")
    assert (ready.estimate().calls, ready.estimate().items) == (2, 6)
    assert sorted(tmp_path.iterdir()) == before
    question = Question("grade", "what about wings", ("a", "b"))
    assert estimate_stage(ready.judge, None, "grade", [question, question]).calls == 1
