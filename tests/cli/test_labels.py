"""People's labels from files to every format: found by themselves, asked for, missing, damaged, of something else."""

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Outcome
from tests.golden.audited_world import QUERIES, World, written

from trueval.comparison.views.kind import COMPARE
from trueval.evaluation.views.kind import EVALUATE
from trueval.report.kinds import read_directory
from trueval.report.result_directory import ResultFile

Command = Callable[..., Outcome]

FEW = ("-m", "nDCG@5", "--resamples", 200)  # of a comparison: its own intervals are not what is looked at
LABELS = ("judge", "corrected", "people", "people-first")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Of whole queries; nobody writes there."""
    return written(tmp_path_factory.mktemp("queries"))


@pytest.fixture(scope="module")
def passages(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Of single passages; nobody writes there."""
    return written(tmp_path_factory.mktemp("documents"), design="documents", sampled=80)


def told(outcome: Outcome) -> dict[str, dict[str, dict[str, object]]]:
    """Run → measure → corrected entry."""
    found = json.loads(outcome.out)
    runs = found["corrected"] if found["kind"] == "compare" else found["runs"]
    return {run["name"]: {entry["measure"]: entry for entry in run["corrected"]} for run in runs}


def expected(outcome: Outcome, measure: str = "nDCG@5") -> dict[str, float]:
    return {run["name"]: run["measures"][measure]["expected"] for run in json.loads(outcome.out)["runs"]}


# ---- where it is found ----


@pytest.mark.parametrize("place", ["folder", "file", "option"])
def test_an_audit_is_found_beside_the_judgments(trueval: Command, kept: World, tmp_path: Path, place: str) -> None:
    qrels, more = kept.golden, ()
    if place == "file":
        qrels = kept.golden / "qrels.trec"
    if place == "option":
        qrels = tmp_path / "other.trec"
        qrels.write_text((kept.golden / "qrels.trec").read_text())
        more = ("--audit", kept.audit)
    outcome = trueval("evaluate", qrels, *kept.runs, "-m", "nDCG@5", "--format", "json", *more)
    assert outcome.status == 0, outcome.err
    entry = told(outcome)["flattered"]["nDCG@5"]
    assert entry["corrected"]["low"] < entry["corrected"]["estimate"] < entry["judge"]["estimate"]  # type: ignore[index]


def test_without_an_audit_nothing_is_said_of_one(trueval: Command, kept: World, tmp_path: Path) -> None:
    qrels = tmp_path / "alone.trec"
    qrels.write_text((kept.golden / "qrels.trec").read_text())
    outcome = trueval("evaluate", qrels, *kept.runs, "-m", "nDCG@5", "--format", "json")
    found = json.loads(outcome.out)
    assert "audit" not in found
    assert all("corrected" not in run for run in found["runs"])
    assert outcome.err == ""
    plain = trueval("evaluate", qrels, *kept.runs, "-m", "nDCG@5")
    beside = trueval("evaluate", kept.golden, *kept.runs, "-m", "nDCG@5")
    assert "orrected" not in plain.out
    tables = plain.out[plain.out.index("\nValues") : plain.out.index("\nGive every value")]
    assert "flattered" in tables
    assert tables in beside.out


@pytest.mark.parametrize("labels", LABELS[1:])
def test_labels_of_people_need_an_audit(trueval: Command, kept: World, tmp_path: Path, labels: str) -> None:
    qrels = tmp_path / "alone.trec"
    qrels.write_text((kept.golden / "qrels.trec").read_text())
    outcome = trueval("evaluate", qrels, *kept.runs, "--labels", labels)
    assert outcome.status == 1
    assert outcome.err.startswith(f"trueval: --labels {labels} needs an audit: name its folder with --audit")
    assert outcome.err.count("\n") == 1


# ---- whose labels ----


def test_labels_say_whose_grades_the_values_are_of(trueval: Command, kept: World) -> None:
    values = {
        labels: expected(
            trueval("evaluate", kept.golden, *kept.runs, "-m", "nDCG@5", "--labels", labels, "--format", "json")
        )
        for labels in LABELS
    }
    assert values["corrected"] == values["judge"]
    best = {labels: max(found, key=lambda name: found[name]) for labels, found in values.items()}
    assert best == {"judge": "flattered", "corrected": "flattered", "people": "honest", "people-first": "honest"}


def test_people_alone_are_their_own_qrels(trueval: Command, kept: World, tmp_path: Path) -> None:
    """Values and differences of --labels people are those of a file with people's grades of the queries graded."""
    items = [json.loads(line) for line in (kept.audit / "items.jsonl").read_text().splitlines()]
    asked = {each["query"] for each in items}
    qrels = tmp_path / "people.trec"
    qrels.write_text(
        "".join(f"{q} 0 {d} {g}\n" for q, graded in kept.truth.items() if q in asked for d, g in graded.items())
    )
    own = json.loads(trueval("compare", qrels, *kept.runs, *FEW, "--format", "json").out)
    same = json.loads(trueval("compare", kept.golden, *kept.runs, *FEW, "--labels", "people", "--format", "json").out)
    assert same["leaderboards"] == own["leaderboards"]
    for one, other in zip(same["differences"], own["differences"], strict=True):
        assert {name: value for name, value in one.items() if name != "corrected"} == other


def test_people_first_changes_no_file(trueval: Command, kept: World) -> None:
    before = {path: path.read_bytes() for path in sorted(kept.golden.rglob("*")) if path.is_file()}
    for labels in LABELS:
        trueval("evaluate", kept.golden, kept.runs[0], "-m", "nDCG@5", "--labels", labels)
    assert {path: path.read_bytes() for path in sorted(kept.golden.rglob("*")) if path.is_file()} == before


def test_people_first_says_that_nothing_is_known_of_its_coverage(trueval: Command, kept: World) -> None:
    outcome = trueval("evaluate", kept.golden, kept.runs[0], "-m", "nDCG@5", "--labels", "people-first")
    assert "note: labels: people's for 240 of 480 passages, the judge's for the others." in outcome.err
    assert "no stated coverage" in outcome.err


def test_single_passages_are_no_judgments_of_their_own(trueval: Command, passages: World) -> None:
    outcome = trueval("evaluate", passages.golden, passages.runs[0], "-m", "P(rel=4)@3", "--labels", "people")
    assert outcome.status == 2
    assert "--labels people needs an audit of whole queries (design queries)" in outcome.err


# ---- formats ----


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_every_format_has_the_three_values(trueval: Command, kept: World, command: str) -> None:
    runs, asked = kept.runs[:2], ("-m", "nDCG@5", *(("--resamples", 200) if command == "compare" else ()))
    outcome = trueval(command, kept.golden, *runs, *asked, "--format", "json")
    entry = told(outcome)["flattered"]["nDCG@5"]
    values = [entry[part]["estimate"] for part in ("judge", "corrected", "people")]  # type: ignore[index]
    for form in ("table", "markdown", "latex"):
        shown = trueval(command, kept.golden, *runs, *asked, "--format", form, columns=130).out
        line = next(line for line in shown.splitlines() if "flattered" in line and f"{values[1]:.4f}" in line)
        assert [f"{value:.4f}" in line for value in values] == [True] * 3
        points = trueval(command, kept.golden, *runs, *asked, "--format", form, "--percent", columns=130).out
        assert f"{100 * values[1]:.2f}" in points
    rows = list(csv.DictReader(io.StringIO(trueval(command, kept.golden, *runs, *asked, "--format", "csv").out)))
    if command == "evaluate":
        row = next(row for row in rows if (row["run"], row["measure"]) == ("flattered", "nDCG@5"))
        assert [float(row[name]) for name in ("judge", "corrected", "people")] == values
        lines = trueval(command, kept.golden, *runs, *asked, "--format", "trec").out.splitlines()
        assert f"ndcg_cut_5.corrected  \tall\t{values[1]:.4f}" in lines
    else:
        row = next(row for row in rows if row["measure"] == "nDCG@5")
        assert float(row["judge"]) == float(row["expected"])
        assert float(row["corrected_low"]) < float(row["corrected"]) < float(row["corrected_high"])


def test_a_tool_prints_what_the_tool_prints(trueval: Command, kept: World, tmp_path: Path) -> None:
    qrels = tmp_path / "alone.trec"
    qrels.write_text((kept.golden / "qrels.trec").read_text())
    asked = ("-m", "nDCG@5", "--convention", "trec_eval", "--format", "trec")
    golden, alone = (trueval("evaluate", judgments, kept.runs[0], *asked) for judgments in (kept.golden, qrels))
    assert (golden.status, alone.status) == (0, 0)
    assert golden.out == alone.out
    # trec_eval itself: nDCG with the grades as gains, ties by document id from z to a.
    grades, run = {}, {}
    for line in qrels.read_text().splitlines():
        query, _, document, grade = line.split()
        grades.setdefault(query, {})[document] = int(grade)
    for line in Path(kept.runs[0]).read_text().splitlines():
        query, _, document, _, score, _ = line.split()
        run.setdefault(query, {})[document] = float(score)
    theirs = pytest.importorskip("pytrec_eval").RelevanceEvaluator(grades, {"ndcg_cut.5"}).evaluate(run)
    mean = sum(each["ndcg_cut_5"] for each in theirs.values()) / len(theirs)
    (line,) = (line for line in golden.out.splitlines() if line.startswith("ndcg_cut_5"))
    assert line.split() == ["ndcg_cut_5", "all", f"{mean:.4f}"]


def test_corrected_differences_follow_the_pairs(trueval: Command, kept: World) -> None:
    found = json.loads(trueval("compare", kept.golden, *kept.runs, *FEW, "--format", "json").out)
    values = {run["name"]: run["corrected"][0] for run in found["corrected"]}
    assert len(found["differences"]) == 3
    for row in found["differences"]:
        entry = row["corrected"]
        assert (entry["first"], entry["second"]) == (row["first"], row["second"])
        assert entry["judge"]["estimate"] == pytest.approx(row["expected"], abs=1e-12)
        people = [values[row[side]]["people"]["estimate"] for side in ("first", "second")]
        assert entry["people"]["estimate"] == pytest.approx(people[0] - people[1], abs=1e-12)
    against = json.loads(
        trueval("compare", kept.golden, *kept.runs, *FEW, "--baseline", "weak", "--format", "json").out
    )
    assert [row["corrected"]["second"] for row in against["differences"]] == ["weak", "weak"]


def test_what_a_design_cannot_tell_is_refused_with_the_one_that_can(trueval: Command, passages: World) -> None:
    asked = ("-m", "P(rel=4)@3 DCG@5 nDCG@5")
    outcome = trueval("evaluate", passages.golden, *passages.runs, *asked, "--format", "json")
    entries = told(outcome)["flattered"]
    assert "refused" not in entries["P(rel=4)@3"]
    assert "design queries" in str(entries["nDCG@5"]["refused"])
    shown = trueval("evaluate", passages.golden, *passages.runs, *asked, columns=130).out
    assert "nDCG@5: not corrected: " in shown
    assert " ".join(shown.split()).count("design queries") == 1
    lines = shown.split("Corrected by people's labels")[1].splitlines()
    line = next(line for line in lines if line.split()[:2] == ["nDCG@5", "flattered"])
    judge = json.loads(outcome.out)["runs"][1]["measures"]["nDCG@5"]["expected"]
    assert f"{judge:.4f}" in line


# ---- gates ----


@pytest.mark.parametrize(
    ("labels", "status", "verdicts"),
    [
        ("judge", 0, ["passed", "passed"]),
        ("corrected", 1, ["passed", "failed"]),
        ("people", 1, ["passed", "failed"]),
        ("people-first", 1, ["passed", "failed"]),
    ],
)
def test_a_gate_looks_at_the_labels_that_were_chosen(
    trueval: Command, kept: World, labels: str, status: int, verdicts: list[str]
) -> None:
    """The flattered run is .95 by the judge's labels and .83 by people's."""
    asked = ("-m", "nDCG@5", "--min", "nDCG@5=0.9", "--labels", labels, "--format", "json")
    outcome = trueval("evaluate", kept.golden, *kept.runs[:2], *asked)
    assert outcome.status == status
    checks = [run["checks"][0] for run in json.loads(outcome.out)["runs"]]
    assert [check["verdict"] for check in checks] == verdicts
    whose = labels if labels in ("corrected", "people") else "judge"
    assert {check["labels"] for check in checks} == {whose}


@pytest.mark.parametrize(("when", "status"), [("pass", 0), ("fail", 1)])
def test_an_unclear_corrected_drop(trueval: Command, kept: World, when: str, status: int) -> None:
    asked = ("-m", "nDCG@5", "--baseline", kept.runs[2], "--max-drop", "0.01", "--labels", "corrected")
    outcome = trueval("evaluate", kept.golden, kept.runs[1], *asked, "--when-unclear", when)
    assert outcome.status == status
    assert "1 check cannot tell" not in outcome.out
    assert "cannot tell from people's labels whether the limit is kept" in outcome.err


def test_min_alone_may_be_unclear(trueval: Command, kept: World) -> None:
    asked = ("-m", "nDCG@5", "--min", "nDCG@5=0.83", "--when-unclear", "fail")
    for labels, status in (("corrected", 1), ("people", 1), ("judge", 2), ("people-first", 2)):
        outcome = trueval("evaluate", kept.golden, kept.runs[1], *asked, "--labels", labels)
        assert outcome.status == status, outcome.err
    assert "--when-unclear needs --max-drop" in outcome.err


@pytest.mark.parametrize("option", ["--clusters", "--self-test", "stored"])
def test_what_corrected_gates_cannot_do_is_refused(trueval: Command, kept: World, tmp_path: Path, option: str) -> None:
    clusters = tmp_path / "clusters.tsv"
    clusters.write_text("".join(f"q{at:02}\tc{at % 9}\n" for at in range(QUERIES)))
    trueval("evaluate", kept.golden, kept.runs[2], "-m", "nDCG@5", "--out", tmp_path / "old")
    baseline: Path = tmp_path / "old" if option == "stored" else kept.runs[2]
    more = {"--clusters": ("--clusters", clusters), "--self-test": ("--self-test",), "stored": ()}[option]
    asked = ("-m", "nDCG@5", "--baseline", baseline, "--max-drop", "0.01", *more)
    outcome = trueval("evaluate", kept.golden, kept.runs[0], *asked, "--labels", "corrected")
    assert outcome.status == 2
    assert outcome.err.count("\n") == 1


# ---- choices together ----


@pytest.mark.parametrize("design", ["queries", "documents"])
@pytest.mark.parametrize("convention", [None, "trec_eval", "ranx"])
@pytest.mark.parametrize("missing", ["worst", "skip"])
def test_choices_go_together(
    trueval: Command, kept: World, passages: World, tmp_path: Path, design: str, convention: str | None, missing: str
) -> None:
    """Under every choice the judge's value of a correction is that of the table; the run lacks two queries."""
    world = kept if design == "queries" else passages
    run = tmp_path / "part.trec"
    lines = world.runs[0].read_text().splitlines(keepends=True)
    run.write_text("".join(line for line in lines if not line.startswith(("q00", "q17"))))
    asked = ("-m", "P(rel=4)@3 DCG@5 nDCG@5", "--missing", missing, "--format", "json")
    more = () if convention is None else ("--convention", convention)
    several = LABELS if design == "queries" else ("judge", "corrected", "people-first")
    for labels in several if convention is None else ("judge",):
        outcome = trueval("evaluate", world.golden, run, *asked, *more, "--labels", labels)
        assert outcome.status == 0, outcome.err
        found = json.loads(outcome.out)["runs"][0]
        for entry in found["corrected"]:
            if "refused" in entry:
                assert design == "documents"
                continue
            low, value, high = (entry["corrected"][name] for name in ("low", "estimate", "high"))
            assert low < value < high
            if labels in ("judge", "corrected"):
                mean = found["measures"][entry["measure"]]
                assert entry["judge"]["estimate"] == pytest.approx(mean["expected"], abs=1e-12)
                assert entry["judge"]["queries"] == mean["queries"]


def test_grades_are_mapped_for_people_too(trueval: Command, kept: World) -> None:
    asked = ("-m", "nDCG@5", "--labels", "people", "--format", "json")
    plain = trueval("evaluate", kept.golden, kept.runs[0], *asked)
    binary = trueval("evaluate", kept.golden, kept.runs[0], *asked, "--grades", "1:0,2:0,3:0,4:1,5:1")
    assert binary.status == 0, binary.err
    assert told(binary)["honest"]["nDCG@5"]["people"]["estimate"] == pytest.approx(expected(binary)["honest"])  # type: ignore[index]
    assert expected(binary) != expected(plain)


@pytest.mark.parametrize("option", [("--unjudged", "1"), ("--facets",)])
def test_what_people_did_not_see_is_not_corrected(trueval: Command, kept: World, option: tuple[str, ...]) -> None:
    outcome = trueval("evaluate", kept.golden, kept.runs[0], "-m", "P(rel=4)@3", *option)
    assert (outcome.status, "orrected by" in outcome.out) == (0, False)
    assert f"note: Values are not corrected by people's labels under {option[0]}." in outcome.err
    refused = trueval("evaluate", kept.golden, kept.runs[0], "-m", "P(rel=4)@3", *option, "--labels", "corrected")
    assert refused.status == 2
    assert f"{option[0]} does not go with --labels corrected" in refused.err


# ---- pages ----


def test_the_page_shows_them(trueval: Command, kept: World, tmp_path: Path) -> None:
    """The parts of the page, before any plot is drawn."""
    out = tmp_path / "out"
    asked = (kept.golden, *reversed(kept.runs), "-m", "nDCG@5 AP(rel=4)", "--out", out)
    assert trueval("evaluate", *asked).status == 0
    assert trueval("compare", *asked, "--resamples", 200).status == 0
    directory = read_directory(out)
    assert EVALUATE.page is not None
    evaluated = EVALUATE.page(only(out, "results.json"), directory)
    assert evaluated.answer.sentence[-1] == " By what people's labels correct, honest is best."
    assert "by the corrected values honest" in str(evaluated.said[0])
    assert COMPARE.page is not None
    compared = COMPARE.page(only(out, "comparison.json"), directory)
    assert compared.answer.sure[0] == "People's labels say otherwise: corrected by them "
    assert [block.id for block in compared.blocks] == [
        "matrix-block",
        "differences",
        "reshuffle",
        "compared-corrected-block",
        "differences-corrected-block",
    ]
    (block,) = (block for block in evaluated.blocks if block.id == "corrected-block")
    (table,) = block.tables
    # Every number has its source in the file.
    results = json.loads((out / "results.json").read_text())
    for row in table.rows:
        _, _, run, _, place, *_ = (row.source or row.cells[3].source).split("/")
        entry = results["runs"][int(run)]["corrected"][int(place)]
        assert row.cells[3].value == entry["corrected"]["estimate"]
    # The best corrected run comes first, whatever the judge says.
    assert [row.cells[1].text for row in table.rows][:3] == ["honest", "flattered", "weak"]


def only(folder: Path, name: str) -> ResultFile:
    return next(file for file in read_directory(folder).files if file.name == name)


def test_turned_differences_are_those_of_the_file(trueval: Command, kept: World, tmp_path: Path) -> None:
    """A pair that the page shows the other way round has the numbers of the file with their signs changed."""
    out = tmp_path / "out"
    assert trueval("compare", kept.golden, *kept.runs, *FEW, "--out", out).status == 0
    assert COMPARE.page is not None
    part = COMPARE.page(only(out, "comparison.json"), read_directory(out))
    text = trueval("compare", kept.golden, *kept.runs, *FEW, columns=130).out
    low, high = (float(end) for end in re.findall(r"flattered - honest .*?\[(\S+), (\S+)\]", text)[0])
    assert text.startswith("flattered is better than honest, the next of 3 runs, in nDCG@5 by +0.0423 ")
    assert low < high < 0
    (table,) = next(block for block in part.blocks if block.id == "differences-corrected-block").tables
    rows = json.loads((out / "comparison.json").read_text())["differences"]
    shown = {row.cells[1].text: row for row in table.rows}
    assert list(shown) == ["flattered - honest", "flattered - weak", "honest - weak"]
    entry = next(row["corrected"] for row in rows if (row["first"], row["second"]) == ("honest", "flattered"))
    cells = [cell.value for cell in shown["flattered - honest"].cells[2:6]]
    part_of = entry["corrected"]
    assert cells == [-entry["judge"]["estimate"], -part_of["estimate"], -part_of["high"], -part_of["low"]]
    turned = [(column.title, column.turned) for column in table.columns[2:6]]
    assert turned == [
        ("judge", "-/judge/estimate"),
        ("corrected", "-/corrected/estimate"),
        ("95% from", "-/corrected/high"),
        ("to", "-/corrected/low"),
    ]
    assert [row.turned for row in table.rows] == [True, False, False]


def test_the_docs_show_what_is_printed(trueval: Command, kept: World) -> None:
    docs = (Path(__file__).resolve().parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")
    corrected, gate = (block for block in docs.split("```\n") if "0.8321" in block)
    asked = ("-m", "nDCG@5", "--min", "nDCG@5=0.9", "--baseline", kept.runs[2], "--max-drop", "0.05")
    plain = trueval("evaluate", kept.golden, *kept.runs[:2], *asked, columns=120)
    assert (plain.status, plain.err.startswith("\nall 4 checks passed")) == (0, True)
    outcome = trueval("evaluate", kept.golden, *kept.runs[:2], *asked, "--labels", "corrected", columns=120)
    for block, shown in ((corrected, outcome.out), (gate, outcome.err)):
        lines = [line.rstrip() for line in shown.splitlines()]
        first = lines.index(block.splitlines()[0].rstrip())
        assert lines[first : first + len(block.splitlines())] == block.splitlines()
