"""Audits that are damaged, of something else, half done, or drawn a moment ago: what evaluate makes of each."""

import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Outcome
from tests.golden.audited_world import World, answer, written

Command = Callable[..., Outcome]
PEOPLE = ("corrected", "people", "people-first")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Of whole queries; nobody writes there."""
    return written(tmp_path_factory.mktemp("queries"))


def damaged(world: World, how: str) -> str:
    """Break an audit; what the message says."""
    people, sample = world.audit / "people.jsonl", world.audit / "sample.json"
    lines = people.read_text().splitlines(keepends=True)
    if how == "a line is cut":
        people.write_text("".join(lines[:-1]) + lines[-1][:20])
        return f"{people}:240: "
    if how == "outside the scale":
        people.write_text("".join(lines).replace('"grade": 3', '"grade": 7', 1))
        return "It must be a number from 1 to 5"
    if how == "no sample":
        sample.write_text("{")
        return "sample.json: not JSON"
    if how == "other judgments":
        qrels = world.golden / "qrels.trec"
        first, rest = qrels.read_text().split("\n", 1)
        qrels.write_text(f"{first[:-1]}{1 if first[-1] != '1' else 2}\n{rest}")
        return "drawn from other judgments than"
    if how == "nobody answered":
        people.write_text("")
        return "nobody has graded any of its 240 passages"
    people.unlink()
    return "nobody has graded any of its 240 passages"


HOW = ("a line is cut", "outside the scale", "no sample", "other judgments", "nobody answered", "no answers")


@pytest.mark.parametrize("how", HOW)
def test_an_audit_that_cannot_be_used(trueval: Command, tmp_path: Path, how: str) -> None:
    """The judge's values come all the same, with a note; who asks for people's labels gets an error of one line."""
    world = written(tmp_path)
    says = damaged(world, how)
    asked = ("-m", "nDCG@5", "--format", "json")
    outcome = trueval("evaluate", world.golden, world.runs[0], *asked)
    assert outcome.status == 0
    assert "audit" not in json.loads(outcome.out)
    assert says in outcome.err
    assert "Values are not corrected." in outcome.err
    for labels in PEOPLE:
        refused = trueval("evaluate", world.golden, world.runs[0], *asked, "--labels", labels)
        assert (refused.status, says in refused.err, refused.err.count("\n")) == (1, True, 1), refused.err
    named = trueval("evaluate", world.golden, world.runs[0], *asked, "--audit", world.audit)
    assert named.status == (0 if says.startswith("nobody") else 1)


def test_an_audit_of_another_file_is_refused_by_the_bytes_of_its_file(trueval: Command, tmp_path: Path) -> None:
    """A sample that says the hash of a file and not of its rows."""
    world = written(tmp_path)
    sample = world.audit / "sample.json"
    about = json.loads(sample.read_text())
    del about["judgments"]
    sample.write_text(json.dumps({**about, "qrels": "0" * 64}))
    outcome = trueval("evaluate", world.golden, world.runs[0], "--labels", "corrected")
    assert (outcome.status, "drawn from other judgments" in outcome.err) == (1, True)


def test_passages_that_nobody_judged_here_are_refused(trueval: Command, kept: World, tmp_path: Path) -> None:
    qrels, audit = tmp_path / "less.trec", tmp_path / "audit"
    audit.mkdir()
    for name in ("items.jsonl", "people.jsonl"):
        (audit / name).write_text((kept.audit / name).read_text())
    about = json.loads((kept.audit / "sample.json").read_text())
    (audit / "sample.json").write_text(json.dumps({name: about[name] for name in about if name != "judgments"}))
    lines = (kept.golden / "qrels.trec").read_text().splitlines(keepends=True)
    qrels.write_text("".join(line for line in lines if " d3 " not in line))
    outcome = trueval("evaluate", qrels, kept.runs[0], "--audit", audit)
    assert outcome.status == 1
    assert "not judged here" in outcome.err


def test_few_labels_are_warned_of(trueval: Command, tmp_path: Path) -> None:
    world = written(tmp_path, answered=40)
    outcome = trueval("evaluate", world.golden, world.runs[0], "-m", "nDCG@5", columns=130)
    assert "40 labels" in outcome.out
    assert "no stated coverage" in " ".join(outcome.out.split())


def test_a_query_that_is_half_done_is_left_out(trueval: Command, tmp_path: Path) -> None:
    world = written(tmp_path, answered=236)
    outcome = trueval("evaluate", world.golden, world.runs[0], "-m", "nDCG@5", "--labels", "people", "--format", "json")
    assert "of 29 queries that they graded as a whole; 1 query of the sample is not done and left out." in outcome.err
    found = json.loads(outcome.out)
    assert (found["runs"][0]["queries"], found["audit"]["sampled"], found["audit"]["people_labels"]) == (29, 29, 236)


def test_skips_are_counted(trueval: Command, tmp_path: Path) -> None:
    world = written(tmp_path, answered=239)
    last = json.loads((world.audit / "items.jsonl").read_text().splitlines()[-1])
    with (world.audit / "people.jsonl").open("a") as file:
        file.write(json.dumps(answer(last, None)) + "\n")
    outcome = trueval("evaluate", world.golden, world.runs[0], "-m", "nDCG@5", columns=130)
    assert "(239 labels, 1 answer skipped; design queries)" in " ".join(outcome.out.split())
    alone = trueval("evaluate", world.golden, world.runs[0], "-m", "nDCG@5", "--labels", "people")
    assert (
        "of 30 queries that they graded as a whole; 1 passage that they skipped keeps the judge's grade." in alone.err
    )


def test_no_query_is_whole_yet(trueval: Command, tmp_path: Path) -> None:
    world = written(tmp_path, answered=7)
    refused = trueval("evaluate", world.golden, world.runs[0], "--labels", "people")
    assert (refused.status, "no query is graded as a whole yet, and 7 passages are" in refused.err) == (1, True)


def test_results_name_the_files_of_the_audit(trueval: Command, kept: World, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert trueval("evaluate", kept.golden, kept.runs[0], "-m", "nDCG@5", "--out", out).status == 0
    files = json.loads((out / "details.json").read_text())["files"]
    assert [(each["role"], Path(each["path"]).name) for each in files] == [
        ("judgments", "qrels.trec"),
        ("run", "honest.trec"),
        ("audit", "sample.json"),
        ("audit", "items.jsonl"),
        ("audit", "people.jsonl"),
    ]
    said = (kept.audit / "people.jsonl").read_bytes()
    assert (files[4]["bytes"], files[4]["sha256"]) == (len(said), hashlib.sha256(said).hexdigest())


@pytest.mark.parametrize("design", ["queries", "documents"])
def test_from_the_sample_to_the_gate(trueval: Command, kept: World, tmp_path: Path, design: str) -> None:
    """What golden audit draws and takes back is what evaluate corrects by; a packed copy is the same judgments."""
    corpus, qrels, people = tmp_path / "corpus", tmp_path / "qrels.trec", tmp_path / "people"
    corpus.mkdir()
    for name, ids in (("corpus", [f"d{at}" for at in range(8)]), ("queries", list(kept.judge))):
        lines = (json.dumps({"_id": each, "text": f"text of {each}"}) + "\n" for each in ids)
        (corpus / f"{name}.jsonl").write_text("".join(lines))
    qrels.write_text((kept.golden / "qrels.trec").read_text())
    audit = ("golden", "audit", qrels, "--out", people, "--no-serve")
    drawn = ("--collection", corpus, "--design", design, "--size", 30 if design == "queries" else 160, "--scale", "1-5")
    assert trueval(*audit, *drawn).status == 0
    nobody = trueval("evaluate", qrels, kept.runs[0], "-m", "DCG@5", "--audit", people)
    assert (nobody.status, "nobody has graded any" in nobody.err) == (0, True)
    correct = trueval("golden", "correct", qrels, kept.runs[0], "-m", "DCG@5", "--audit", people)
    assert correct.err.startswith(f"trueval: {people}: nobody has graded any of its")  # it has no --labels to name
    assert trueval(*audit, "--export", tmp_path / "items.jsonl").status == 0
    known = {row["item"]: row for row in map(json.loads, (people / "items.jsonl").read_text().splitlines())}
    rows = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
    for row in rows:
        row["grade"] = kept.truth[known[row["item"]]["query"]][known[row["item"]]["document"]]
    (tmp_path / "ann.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert trueval(*audit, "--import", tmp_path / "ann.jsonl", "--rater", "ann").status == 0
    packed = tmp_path / "packed.trec.gz"
    packed.write_bytes(gzip.compress("".join(sorted(qrels.read_text().splitlines(keepends=True))).encode()))
    gate = ("-m", "DCG@5", "--min", "DCG@5=12", "--labels", "corrected", "--format", "json")
    outcome = trueval("evaluate", packed, *kept.runs[:2], *gate, "--audit", people)
    checks = {run["name"]: run["checks"][0] for run in json.loads(outcome.out)["runs"]}
    assert (checks["flattered"]["verdict"], outcome.status) == ("failed", 1), outcome.err
    assert checks["honest"]["value"] > checks["flattered"]["value"]
