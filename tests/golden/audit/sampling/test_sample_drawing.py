"""Opening an audit: drawn once, resumed ever after, and only ever larger."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.extras import need
from tests.golden import small

from trueval.comparison.labels.audit_sample import AuditSample
from trueval.comparison.labels.label_source import refuse_other
from trueval.errors import InputError, PolicyError
from trueval.golden.audit.sampling.sample_drawing import SampleChoices, open_audit
from trueval.golden.audit.store.audit_manifest import AuditManifest, read_sample
from trueval.golden.audit.store.audit_store import AuditStore
from trueval.golden.audit.store.events import Event
from trueval.golden.audit.store.exchange import write_people
from trueval.golden.build.build import build
from trueval.golden.build.golden_plan import GoldenPlan
from trueval.judgments import Judgments

need("bm25s", extra="retrieval")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A golden set of 24 passages and 3 queries, refined; its corpus is beside it."""
    folder = tmp_path_factory.mktemp("built")
    plan = small.written(folder, f"{small.LABELS}\nnoise = 0.5")
    build(GoldenPlan.read(plan), folder / "golden", cache=folder / "cache")
    return folder


@pytest.fixture
def place(built: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    shutil.copytree(built, tmp_path / "copy")
    return tmp_path / "copy"


def opened(place: Path, **choices: Any) -> AuditManifest:
    choices.setdefault("collection", str(place / "c"))
    return open_audit(place / "golden", place / "golden" / "audit", SampleChoices(**choices))


def test_the_second_call_resumes_what_the_first_drew_and_reads_no_corpus(place: Path) -> None:
    first = opened(place, size=12, runs=(place / "golden" / "top.trec",), measure="P@3", order=2)
    assert (first.design, first.seed, first.raters, first.scales["grade"]) == ("documents", 0, 1, (1, 5))
    assert sum(each.population for each in first.strata) == 24
    assert sum(each.sampled for each in first.strata) == 12
    shutil.rmtree(place / "c")
    assert opened(place) == first
    assert opened(place, size=12, seed=0, measure="P@3", order=2) == first
    with AuditStore.open(place / "golden" / "audit") as store:
        assert {store.read_item(item).question for item in store.items} <= {
            f"what about {each}" for each in small.TOPICS
        }


@pytest.mark.parametrize(
    ("choices", "named"),
    [
        ({"design": "queries"}, "design (documents)"),
        ({"seed": 1}, "seed (0)"),
        ({"scale": (0, 5)}, "scale (1 to 5)"),
        ({"measure": "P@5"}, "measure (P@3)"),
        ({"size": 11}, "size (12, which may only grow)"),
        ({"raters": 1}, "raters (2, which may only grow)"),
        ({"order": 1}, "order (2, which may only grow)"),
        ({"seed": 1, "size": 30}, "seed (0)"),
        ({"runs": ("qrels.trec",)}, "runs (1 runs, of these files)"),
        ({"answers": "other.jsonl"}, "answers ("),
    ],
)
def test_other_choices_are_refused_by_name(place: Path, choices: dict[str, Any], named: str) -> None:
    golden = place / "golden"
    (golden / "mine.jsonl").write_text('{"query_id": "q0", "answer": "x"}\n')
    (golden / "other.jsonl").write_text('{"query_id": "q1", "answer": "x"}\n')
    drawn = {"size": 12, "raters": 2, "runs": (golden / "top.trec",), "measure": "P@3", "order": 2}
    opened(place, **drawn, answers=golden / "mine.jsonl")
    if "runs" in choices:
        choices = {"runs": tuple(golden / each for each in choices["runs"])}
    if "answers" in choices:
        choices = {"answers": golden / choices["answers"]}
    with pytest.raises(PolicyError) as caught:
        opened(place, **choices)
    assert named in str(caught.value)
    assert "--out" in str(caught.value)


def test_runs_in_another_order_are_the_same_runs(place: Path) -> None:
    runs = (place / "golden" / "top.trec", place / "other.trec")
    runs[1].write_text("q0 Q0 wings-1 1 2 x\nq0 Q0 wings-2 2 1 x\n")
    first = opened(place, size=12, runs=runs)
    assert opened(place, size=12, runs=runs[::-1]) == first


def test_a_measure_without_runs_would_weigh_nothing(place: Path) -> None:
    with pytest.raises(PolicyError, match="measure P@3 has no run to weigh passages by"):
        opened(place, size=12, measure="P@3")
    assert not (place / "golden" / "audit").exists()


@pytest.mark.parametrize("design", ["documents", "queries"])
def test_more_keeps_what_was_drawn_and_answered(place: Path, design: str) -> None:
    sizes = {"documents": (6, 15), "queries": (1, 3)}[design]
    first = opened(place, design=design, size=sizes[0], order=1)
    with AuditStore.open(place / "golden" / "audit") as store:
        shown = store.next_item("ann")
        assert shown is not None
        store.record(Event("e", "ann", shown.item, "grade", 4))
    more = opened(place, size=sizes[1], order=3)
    grades = [each for each in more.items if each.task == "grade"]
    orders = [each for each in more.items if each.task == "order"]
    assert (*grades[: sum(each.task == "grade" for each in first.items)], *orders[:2]) == first.items
    assert sum(each.sampled for each in more.strata) == sizes[1]
    assert more.about["order"]["lists"] == 3
    with AuditStore.open(place / "golden" / "audit") as store:
        assert list(store.labels()) == [shown.item]
        assert len(store.items) == len(more.items)
    # As if it had been drawn at once, in other words and another order.
    shutil.rmtree(place / "golden" / "audit")
    at_once = opened(place, design=design, size=sizes[1], order=3)
    if design == "queries":
        assert at_once.items == more.items


def test_more_raters_and_answers_may_come_later(place: Path) -> None:
    opened(place, size=6)
    answers = place / "answers.jsonl"
    answers.write_text('{"query_id": "q0", "answer": "x"}\n')
    more = opened(place, raters=3, answers=answers)
    assert (more.raters, more.items[-1].task, len(more.items)) == (3, "answer", 7)
    assert opened(place, answers=answers) == more


def test_it_cannot_grow_while_somebody_serves_it_or_after_the_judgments_changed(place: Path) -> None:
    opened(place, size=6)
    with AuditStore.open(place / "golden" / "audit"), pytest.raises(InputError, match="has these labels open"):
        opened(place, size=8)
    qrels = place / "golden" / "qrels.trec"
    qrels.write_text(qrels.read_text().replace(" 5\n", " 4\n"))
    with pytest.raises(InputError, match="the judgments changed since the sample was drawn"):
        opened(place, size=8)
    assert len(opened(place).items) == 6


def test_judgments_without_a_golden_set_have_their_own_scale(place: Path, tmp_path: Path) -> None:
    path = tmp_path / "graded.trec"
    rows = [(f"q{at % 3}", f"wings-{at % 8}", at % 4) for at in range(24)]
    path.write_text("".join(f"{query} 0 {document} {grade}\n" for query, document, grade in rows))
    with pytest.raises(PolicyError, match="judgments have no texts"):
        open_audit(path, tmp_path / "none", SampleChoices())
    found = open_audit(path, tmp_path / "audit", SampleChoices(size=10, collection=str(place / "c"), design="queries"))
    assert (found.scales["grade"], found.strata[0][:3]) == ((0, 3), ("queries", 3, 3))
    assert len(found.items) == Judgments.read(str(path)).frame.height
    with pytest.raises(PolicyError, match="no order can be checked"):
        open_audit(path, tmp_path / "other", SampleChoices(order=3, collection=str(place / "c")))
    with pytest.raises(InputError, match="a judge's grade is 3, outside the scale from 0 to 2"):
        open_audit(path, tmp_path / "other", SampleChoices(scale=(0, 2), collection=str(place / "c")))
    with pytest.raises(PolicyError, match="a scale must have 2 to 10 grades"):
        open_audit(path, tmp_path / "other", SampleChoices(scale=(0, 10), collection=str(place / "c")))
    assert not (tmp_path / "other").exists()
    path.write_text(f"q0 0 boilers-0 -1\n{path.read_text()}")  # nobody judged it: it has no grade
    found = open_audit(path, tmp_path / "unjudged", SampleChoices(size=10, scale=(0, 3), collection=str(place / "c")))
    assert (found.scales["grade"], found.about["unjudged"]) == ((0, 3), 1)


def test_a_changed_corpus_is_refused_before_anything_is_drawn(place: Path) -> None:
    corpus = place / "c" / "corpus.jsonl"
    corpus.write_text(corpus.read_text().replace("wings-3", "wings-three"))
    with pytest.raises(InputError, match="'wings-3' of query 'q0' has no text there"):
        opened(place, size=24)
    corpus.write_text(corpus.read_text().replace("wings-three", "wings-3").replace("worth", "woth"))
    with pytest.raises(InputError, match="another text there than the one that was judged"):
        opened(place, size=24)
    with pytest.raises(InputError, match="nowhere: no such folder"):
        opened(place, collection=str(place / "nowhere"))
    assert not (place / "golden" / "audit").exists()


def test_sample_json_holds_what_the_contract_says(place: Path) -> None:
    sample = opened(place, size=12)
    about = json.loads((place / "golden" / "audit" / "sample.json").read_text())
    assert about["kind"] == "audit"
    assert about["format"] == 1
    assert about["scale"] == [1, 5]
    assert {tuple(sorted(each)) for each in about["strata"]} == {("name", "population", "sampled", "share")}
    assert read_sample(place / "golden" / "audit") == sample
    rows = [json.loads(line) for line in (place / "golden" / "audit" / "population.jsonl").read_text().splitlines()]
    assert len(rows) == 24
    assert {row["stratum"] for row in rows} == {each.name for each in sample.strata}


def test_a_corpus_that_is_not_there_is_asked_for_by_its_option(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A golden set keeps no folders of an absolute path: from elsewhere it needs one option, which is named."""
    monkeypatch.chdir(place)
    with pytest.raises(InputError, match=r"golden: .* there is no corpus 'c2'; .*: --collection DIR\.$"):
        _named(place, "c2")
    with pytest.raises(InputError, match=r"there is no document.* Or say where .*: --collection DIR\.$"):
        _named(place, "bare")
    opened(place, size=12)
    monkeypatch.chdir(place / "golden")
    assert opened(place, collection=None).about["size"] == 12  # what was drawn needs no corpus
    with pytest.raises(InputError, match=r"there is no corpus 'bare'; .*: --collection DIR\.$"):
        opened(place, size=13, collection=None)


def test_a_sample_of_other_questions_does_not_grow(place: Path) -> None:
    opened(place, size=12)
    about = json.loads((place / "golden" / "golden.json").read_text())
    about["collection"]["sha256"]["queries"] = "another"
    (place / "golden" / "golden.json").write_text(json.dumps(about))
    with pytest.raises(InputError, match=r"the questions of the golden set changed since .*--out"):
        opened(place, size=13)
    judgments = Judgments.read(place / "golden")
    with pytest.raises(InputError, match=r"audit: people graded other questions than .*golden\.json.* asks now"):
        refuse_other(judgments, AuditSample.read(place / "golden" / "audit"), place / "golden" / "audit")


def _named(place: Path, corpus: str) -> None:
    """Open an audit of a golden set whose corpus is said to be there."""
    (place / "bare").mkdir(exist_ok=True)
    (place / "bare" / "corpus.jsonl").write_text("")
    (place / "bare" / "queries.jsonl").write_text('{"_id": "q", "text": "x"}\n')
    about = json.loads((place / "golden" / "golden.json").read_text())
    about["collection"]["source"] = corpus
    (place / "golden" / "golden.json").write_text(json.dumps(about))
    opened(place, collection=None)


def test_raters_see_the_question_that_was_judged(place: Path) -> None:
    """The collection may ask something else under the same id by now."""
    file = place / "c" / "queries.jsonl"
    file.write_text(file.read_text().replace("what about", "who likes"))
    assert {each.query for each in opened(place, size=12).items} == {"q0", "q1", "q2"}
    with AuditStore.open(place / "golden" / "audit") as store:
        assert {store.read_item(item).question for item in store.items} == {
            f"what about {each}" for each in small.TOPICS
        }
    shutil.rmtree(place / "golden" / "audit")
    (place / "golden" / "rewritten.jsonl").unlink()
    with pytest.raises(InputError, match="is asked in other words there than were judged"):
        opened(place, size=12)


def test_what_people_said_of_other_texts_is_not_taken(place: Path, tmp_path: Path) -> None:
    """The same ids and the same seed over a corpus that was changed: its items are others, in every file."""
    qrels = place / "golden" / "qrels.trec"

    def drawn(name: str) -> Path:
        open_audit(qrels, tmp_path / name, SampleChoices(size=6, collection=str(place / "c")))
        return tmp_path / name

    first = drawn("first")
    with AuditStore.open(first) as store:
        item = store.next_item("ann", "grade")
        assert item is not None
        store.record(Event("e", "ann", item.item, "grade", 3))
        write_people(store)
    corpus = place / "c" / "corpus.jsonl"
    corpus.write_text(corpus.read_text().replace('"text": "', '"text": "otherwise '))
    second = drawn("second")
    assert [each.documents for each in read_sample(first).items] == [
        each.documents for each in read_sample(second).items
    ]
    shutil.copy(first / "people.jsonl", second)
    with pytest.raises(InputError, match=r"people\.jsonl:1: .* another audit"):
        AuditSample.read(second)
    shutil.copy(first / "audit.sqlite", second)
    with pytest.raises(InputError, match="labels of another sample"):
        AuditStore.open(second)
