import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.cli.conftest import Outcome

Command = Callable[..., Outcome]
QUERIES = 40


def write(folder: Path, name: str, ranks: list[int]) -> Path:
    """A run that puts the relevant document of query i on rank ranks[i] of 1, 2 or 4, without ties."""
    path = folder / f"{name}.trec"
    lines = []
    for query, rank in enumerate(ranks):
        documents = ["b", "c", "d"]
        documents.insert(rank - 1, "a")
        lines += [f"q{query} Q0 {document} 0 {10 - place} x" for place, document in enumerate(documents)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """RR: old 1.0; worse 0.5 on every query; noisy loses 0.5 on a quarter of them; other ranks as old does."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    (tmp_path / "qrels.trec").write_text("".join(f"q{q} 0 a 1\n" for q in range(QUERIES)), encoding="utf-8")
    write(tmp_path, "old", [1] * QUERIES)
    write(tmp_path, "other", [1] * QUERIES)
    text = (tmp_path / "other.trec").read_text(encoding="utf-8")
    (tmp_path / "other.trec").write_text(text.replace(" 0 10 x", " 0 11 x"), encoding="utf-8")
    write(tmp_path, "worse", [2] * QUERIES)
    write(tmp_path, "noisy", [2 if query % 4 == 0 else 1 for query in range(QUERIES)])
    return tmp_path


def gate(trueval: Command, folder: Path, run: str, *options: str) -> Outcome:
    return trueval("evaluate", folder / "qrels.trec", folder / f"{run}.trec", "-m", "RR P@1", *options)


def test_a_drop_of_one_measure_does_not_ask_the_others_for_an_interval(trueval: Command, folder: Path) -> None:
    arguments = (folder / "qrels.trec", folder / "worse.trec", "-m", "gm(RR) RR P@1", "--baseline", folder / "old.trec")
    status, _, err = trueval("evaluate", *arguments, "--max-drop", "RR=0.45")
    assert (status, "beyond --max-drop RR=0.45" in err) == (1, True), err
    status, _, err = trueval("evaluate", *arguments, "--max-drop", "RR=0.5")
    assert status == 0, err
    status, _, err = trueval("evaluate", *arguments, "--max-drop", "0.5")
    assert (status, "gm(RR) is a geometric mean" in err) == (2, True)


@pytest.mark.parametrize(
    ("run", "limit", "status"),
    [
        ("worse", "RR=0.5", 0),
        ("worse", "RR=0.51", 1),
        ("old", "RR=1", 0),
        ("worse", "P@1=0", 0),
        ("worse", "P(rel=1)@1=0.1", 1),
    ],
)
def test_min(trueval: Command, folder: Path, run: str, limit: str, status: int) -> None:
    if "(" in limit:
        outcome = trueval("evaluate", folder / "qrels.trec", folder / f"{run}.trec", "-m", "P(rel=1)@1", "--min", limit)
    else:
        outcome = gate(trueval, folder, run, "--min", limit)
    assert outcome.status == status
    assert (f"below --min {limit}" in outcome.err) == (status == 1)


@pytest.mark.parametrize(
    ("run", "limit", "status"),
    [
        ("worse", "0.4", 1),
        ("worse", "RR=0.4", 1),
        ("worse", "RR=0.5", 0),
        ("other", "0", 0),
        ("noisy", "RR=0.0", 1),
        ("noisy", "RR=0.1", 0),  # lost 0.125, but the interval holds 0.1: it cannot tell
    ],
)
def test_max_drop_fails_only_beyond_the_joint_interval(
    trueval: Command, folder: Path, run: str, limit: str, status: int
) -> None:
    outcome = gate(trueval, folder, run, "--baseline", str(folder / "old.trec"), "--max-drop", limit)
    assert outcome.status == status, outcome.err
    assert ("is beyond --max-drop" in outcome.err) == (status == 1)
    assert "old" in outcome.out


@pytest.mark.parametrize("form", ["table", "json", "csv", "markdown", "latex", "trec"])
def test_every_check_is_said_with_its_numbers_and_stdout_stays_clean(trueval: Command, folder: Path, form: str) -> None:
    """A loss of .125 with a limit of .1 once passed without a word."""
    options = ("--baseline", str(folder / "old.trec"), "--max-drop", "RR=0.1", "--min", "RR=0.5", "--max-range", "0.2")
    said = gate(trueval, folder, "noisy", "--format", form, *options)
    assert said.status == 0
    assert "all 4 checks passed, 1 cannot tell (passing)" in said.err
    lines = [re.sub(r" +", " ", line).strip() for line in said.err.splitlines()]
    assert "passed noisy RR max-range 0.2 0.0000 [0.8750, 0.8750]" in lines
    assert "passed noisy RR min 0.5 0.8750" in lines
    (drop,) = (line for line in lines if line.startswith("cannot tell noisy RR max-drop 0.1 -0.1250 ["))
    needed = int(drop.rpartition(" ")[2].replace(",", ""))
    assert 500 < needed < 1500  # (t + t) .219 / sqrt(n) <= .025
    assert "1 check cannot tell from 40 queries whether the loss is within the limit" in said.err
    assert "it passes, unless --when-unclear is fail" in said.err
    if form != "json":
        # What the two runs give without a gate, to the last character.
        both = folder / "qrels.trec", folder / "noisy.trec", folder / "old.trec"
        assert said.out == trueval("evaluate", *both, "-m", "RR P@1", "--format", form).out
        return
    (run, _) = json.loads(said.out)["runs"]
    assert [check["verdict"] for check in run["checks"]] == ["passed", "passed", "passed", "cannot tell"]
    kept = run["checks"][-1]
    assert (kept["value"], kept["limit"], kept["needed"], kept["queries"]) == (-0.125, 0.1, needed, 40)
    assert kept["low"] < -0.1 < kept["high"]


def test_what_few_queries_cannot_tell_of_rare_losses_is_said(
    trueval: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """40 queries of which none is worse: at 97.5 % for each of two measures, 8.81 % of all queries may be."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    options = ("--baseline", str(folder / "old.trec"), "--max-drop", "0.01", "--format", "json")
    outcome = gate(trueval, folder, "other", *options)
    assert outcome.status == 0, outcome.err
    said = " ".join(outcome.err.split())
    for measure in ("RR", "P@1"):
        sentence = f"other: {measure}: none of 40 queries is worse; losses up to 0.0881 are not excluded."
        assert sentence in said
        assert sentence in (folder / "summary.md").read_text(encoding="utf-8")
    rare = json.loads(outcome.out)["runs"][0]["checks"][0]["rare_losses"]
    assert (rare["worse"], rare["units"], round(rare["loss"], 4)) == (0, 40, 0.0881)
    # Where the limit allows such losses there is nothing to add.
    assert "not excluded" not in gate(trueval, folder, "other", *options[:3], "0.09").err


def test_intervals_by_bets_decide_a_gate(trueval: Command, folder: Path) -> None:
    """Of 40 equal queries resampling says not worse; bets cannot tell, and say how many queries would."""
    options = ("--baseline", str(folder / "old.trec"), "--max-drop", "RR=0.01", "--when-unclear", "fail")
    assert gate(trueval, folder, "other", *options).status == 0
    for intervals, needed in (("bounded", "741"), ("anytime", "733")):
        failed = gate(trueval, folder, "other", *options, "--intervals", intervals)
        assert failed.status == 1
        (row,) = (line for line in failed.err.splitlines() if line.startswith("cannot tell other RR"))
        assert row.split()[-1] == needed
    tested = gate(trueval, folder, "noisy", *options, "--intervals", "bounded", "--self-test", "--format", "json")
    assert json.loads(tested.out)["self_test"]["zero"]["worse"] == 0


def test_intervals_by_bets_need_something_to_bet_on(trueval: Command, folder: Path) -> None:
    alone = gate(trueval, folder, "other", "--intervals", "bounded", "--min", "RR=0.5")
    assert (alone.status, "--intervals needs --max-drop X" in alone.err) == (2, True)
    arguments = (folder / "qrels.trec", folder / "other.trec", "-m", "DCG@10", "--baseline", folder / "old.trec")
    status, _, err = trueval("evaluate", *arguments, "--max-drop", "0.1", "--intervals", "bounded")
    assert (status, "DCG@10 has none" in " ".join(err.split())) == (2, True)


def test_what_cannot_be_told_fails_where_that_is_asked_for(trueval: Command, folder: Path) -> None:
    options = ("--baseline", str(folder / "old.trec"), "--max-drop", "RR=0.1", "--when-unclear")
    assert gate(trueval, folder, "noisy", *options, "pass").status == 0
    failed = gate(trueval, folder, "noisy", *options, "fail")
    assert failed.status == 1
    assert "the check cannot tell, and failed\n" in failed.err
    assert "it fails, as --when-unclear says" in failed.err
    assert gate(trueval, folder, "noisy", *options, "maybe").status == 2


def test_a_self_test_says_its_false_alarms(trueval: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    options = ("--baseline", str(folder / "old.trec"), "--max-drop", "RR=0.1", "--self-test", "--format", "json")
    outcome = gate(trueval, folder, "noisy", *options)
    assert outcome.status == 0, outcome.err
    tested = json.loads(outcome.out)["self_test"]
    assert (tested["worlds"], tested["checks"], tested["queries"], tested["clusters"]) == (1000, 1, 40, None)
    assert tested["asked"]["limits"] == ["--max-drop RR=0.1"]
    assert tested["asked"]["worse"] <= tested["zero"]["worse"] <= 0.05
    head = "self-test: 1,000 random swaps of candidate and baseline, 40 queries, 1 check, 95% intervals"
    assert head in outcome.err
    assert re.search(
        r"--max-drop RR=0: \d\.\d\d% of them with a false alarm \[[\d.%, <]+\]; [\d.]+% of checks cannot tell",
        outcome.err,
    )
    assert f"- {head}\n" in (folder / "summary.md").read_text(encoding="utf-8")


def test_clusters_bind(trueval: Command, folder: Path) -> None:
    (folder / "topics.tsv").write_text("".join(f"q{q}\tt{q // 4}\n" for q in range(QUERIES)), encoding="utf-8")
    options = ("--baseline", str(folder / "old.trec"), "--max-drop", "RR=0", "--format", "json")
    alone = json.loads(gate(trueval, folder, "noisy", *options).out)["runs"][0]["checks"][0]
    found = gate(trueval, folder, "noisy", *options, "--clusters", str(folder / "topics.tsv"))
    bound = json.loads(found.out)["runs"][0]["checks"][0]
    # Every topic lost the same, .5 on one of its four queries: ten equal observations.
    assert (alone["clusters"], bound["clusters"], bound["queries"]) == (None, 10, 40)
    assert bound["low"] == bound["high"] == -0.125
    assert alone["low"] < -0.125 < alone["high"]
    (folder / "topics.tsv").write_text("q0\tt\n", encoding="utf-8")
    found = gate(trueval, folder, "noisy", *options, "--clusters", str(folder / "topics.tsv"))
    assert (found.status, "no cluster for the query 'q1'" in found.err) == (1, True)


def test_the_name_of_a_run_is_a_baseline(trueval: Command, folder: Path) -> None:
    both = (folder / "qrels.trec", folder / "worse.trec", folder / "old.trec", "-m", "RR")
    outcome = trueval("evaluate", *both, "--baseline", "old", "--max-drop", "0.4")
    assert outcome.status == 1
    assert "worse: RR lost 0.5 against old;" in outcome.err
    unknown = trueval("evaluate", *both, "--baseline", "odl", "--max-drop", "0.4")
    assert unknown.status == 1
    assert "--baseline: odl must be a run file" in unknown.err
    assert "one of the runs: worse, old. Did you mean old?" in unknown.err


def test_a_folder_of_results_is_a_baseline(trueval: Command, folder: Path) -> None:
    """The same verdict as with the run itself, whatever file the judgments and the run are in now."""
    kept = folder / "kept"
    assert gate(trueval, folder, "old", "--out", str(kept)).status == 0
    direct = gate(
        trueval, folder, "noisy", "--baseline", str(folder / "old.trec"), "--max-drop", "0.15", "--format", "json"
    )
    rows = [line.split() for line in (folder / "qrels.trec").read_text(encoding="utf-8").splitlines()]
    csv = "".join(f"{query},{doc},{grade}.0\n" for query, _, doc, grade in reversed(rows))
    (folder / "qrels.trec").write_text("query_id,doc_id,grade\n" + csv, encoding="utf-8")
    options = ("--baseline", str(kept), "--max-drop", "0.15", "--format", "json")
    stored = gate(trueval, folder, "noisy", *options)
    assert stored.status == direct.status == 0, stored.err
    ours, theirs = (json.loads(each.out)["runs"][0]["checks"] for each in (stored, direct))
    assert [check.pop("baseline") for check in ours] == ["kept#old"] * 2
    assert [check.pop("baseline") for check in theirs] == ["old"] * 2
    assert ours == theirs


def test_a_folder_of_results_on_other_judgments_is_refused(trueval: Command, folder: Path) -> None:
    kept = folder / "kept"
    gate(trueval, folder, "old", "--out", str(kept))
    (folder / "qrels.trec").write_text("".join(f"q{q} 0 a {1 + q % 2}\n" for q in range(QUERIES)), encoding="utf-8")
    options = ("--baseline", str(kept), "--max-drop", "0.1")
    outcome = gate(trueval, folder, "old", *options, "--self-test")
    assert outcome.status == 1
    assert f"old and {kept}#old were measured on different judgments, so no drop can be told." in outcome.err
    assert "self-test" not in outcome.err
    other_rule = gate(trueval, folder, "old", *options, "--rel", "2", "--depth", "3")
    assert "different judgments and policies (rel 2.0 and 1, depth 3 and None), so" in other_rule.err
    results = json.loads((kept / "results.json").read_text(encoding="utf-8"))
    assert set(results["runs"][0]["content"]) == {"judgments", "queries", "policy", "run"}


def test_the_corpus_is_of_the_content(trueval: Command, folder: Path) -> None:
    for name, text in (("corpus", "x"), ("changed", "y")):
        (folder / name).mkdir()
        document = json.dumps({"_id": "a", "text": text})
        (folder / name / "corpus.jsonl").write_text(document + "\n", encoding="utf-8")
    kept = str(folder / "kept")
    gate(trueval, folder, "old", "--out", kept, "--collection", str(folder / "corpus"))
    options = ("--baseline", kept, "--max-drop", "0.1", "--out", str(folder / "now"), "--collection")
    assert gate(trueval, folder, "other", *options, str(folder / "corpus")).status == 0
    (folder / "corpus" / "queries.jsonl").write_text('{"_id": "q0", "text": "?"}\n', encoding="utf-8")
    assert gate(trueval, folder, "other", *options, str(folder / "corpus")).status == 0  # of which one does not know
    changed = gate(trueval, folder, "other", *options, str(folder / "changed"))
    assert (changed.status, "measured on different documents, so" in changed.err) == (1, True)


def test_grades_of_unjudged_documents_are_of_the_content(trueval: Command, folder: Path) -> None:
    """Judgments are hashed as they are read: those filled for one run differ from those of another."""
    kept = str(folder / "kept")
    gate(trueval, folder, "old", "--out", kept, "--unjudged", "0")
    options = ("--baseline", kept, "--max-drop", "RR=0.4")
    worse = gate(trueval, folder, "worse", *options, "--unjudged", "0")
    assert "worse: RR lost 0.5" in worse.err
    refused = gate(trueval, folder, "worse", *options)
    assert (refused.status, "measured on different grades of unjudged documents, so" in refused.err) == (1, True)


def test_a_baseline_that_lacks_queries_is_no_way_to_pass(trueval: Command, folder: Path) -> None:
    text = (folder / "old.trec").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "short.trec").write_text("".join(text[: 4 * 10]), encoding="utf-8")
    options = ("--baseline", str(folder / "short.trec"), "--max-drop", "RR=0.1")
    outcome = gate(trueval, folder, "worse", *options)
    assert outcome.status == 1
    assert "worse: 10 of 40 judged queries are in every run and in short (short lacks 30)" in outcome.err
    assert "worse: RR lost 0.5 against short;" in outcome.err
    # With 0 for the queries that it lacks the baseline is worse than the run; said so, that counts.
    assert gate(trueval, folder, "worse", *options, "--missing", "worst").status == 0
    assert gate(trueval, folder, "worse", *options, "--missing", "skip").status == 1
    assert gate(trueval, folder, "old", *options, "--missing", "skip").status == 0
    assert gate(trueval, folder, "old", *options, "--convention", "mteb").status == 0


def test_files_of_one_name_are_different_baselines(trueval: Command, folder: Path) -> None:
    for name, source in (("a", "worse"), ("b", "old")):
        (folder / name).mkdir()
        (folder / name / "run.trec").write_bytes((folder / f"{source}.trec").read_bytes())
    arguments = (folder / "qrels.trec", folder / "a" / "run.trec", "-m", "RR", "--max-drop", "0.4")
    outcome = trueval("evaluate", *arguments, "--baseline", folder / "b" / "run.trec")
    assert outcome.status == 1
    assert re.search(r"RR lost 0\.5 against .*b/run", outcome.err)
    with_self = trueval("evaluate", *arguments, folder / "b" / "run.trec", "--baseline", folder / "b" / "run.trec")
    assert with_self.status == 1


def test_a_loss_that_ties_may_undo_passes(trueval: Command, folder: Path) -> None:
    tied = (folder / "worse.trec").read_text(encoding="utf-8")
    (folder / "tied.trec").write_text(re.sub(r" 0 (10|9|8|7) x", " 0 1 x", tied), encoding="utf-8")
    # Tied throughout, RR is 0.521 with sd 0.046 over tie orders; the loss of 0.479 is the same on every query.
    baseline = ("--baseline", str(folder / "old.trec"), "--max-drop", "RR=0.45")
    assert gate(trueval, folder, "tied", *baseline).status == 0
    assert gate(trueval, folder, "worse", *baseline).status == 1


def heavily_tied(folder: Path) -> None:
    """Five relevant documents tied with fifteen others: on top in up.trec, under twenty others in down.trec.

    IPrec11 has no standard deviation over so many orders. In every order of up.trec it is at least 5/20, in every
    order of down.trec at most 5/25, on every query alike.
    """
    documents = [f"r{at}" for at in range(5)] + [f"n{at}" for at in range(35)]
    (folder / "five.trec").write_text(
        "".join(f"q{q} 0 r{at} 1\n" for q in range(6) for at in range(5)), encoding="utf-8"
    )
    for name, other in (("up", 1), ("down", 3)):
        score = {document: 2 if at < 20 else other for at, document in enumerate(documents)}
        lines = (
            f"q{query} Q0 {document} 0 {score[document] + int(document[1:]) * (at > 19) / 64} x\n"
            for query in range(6)
            for at, document in enumerate(documents)
        )
        (folder / f"{name}.trec").write_text("".join(lines), encoding="utf-8")


@pytest.mark.parametrize(
    ("run", "baseline", "limit", "status"),
    [
        ("up", "down", "0.01", 0),
        ("up", "down", "0", 0),
        ("down", "up", "0.01", 1),
        ("down", "up", "0.04", 1),
        ("down", "up", "0.06", 0),
    ],
)
def test_without_a_variance_the_orders_of_ties_decide(
    trueval: Command, folder: Path, monkeypatch: pytest.MonkeyPatch, run: str, baseline: str, limit: str, status: int
) -> None:
    heavily_tied(folder)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(folder / "summary.md"))
    options = ("--baseline", folder / f"{baseline}.trec", "--max-drop", f"IPrec11={limit}")
    outcome = trueval("evaluate", folder / "five.trec", folder / f"{run}.trec", "-m", "IPrec11 RR", *options)
    assert outcome.status == status, outcome.err
    (line,) = (line for line in outcome.err.splitlines() if "--max-drop" in line)
    told = f"{'is beyond' if status else 'keeps' if run == 'up' else 'does not decide'} --max-drop IPrec11={limit}."
    assert f", bounded over all orders of ties, {told}" in line
    assert ("more queries do not narrow the bounds that ties leave" in line) == ("decide" in told)
    summary = (folder / "summary.md").read_text(encoding="utf-8")
    assert re.search(r"\| IPrec11 \| max-drop [\d.]+ \| [+-][\d.]+ \[[^\]]+\] bounded \|", summary)


def test_a_known_variance_is_not_called_bounded(trueval: Command, folder: Path) -> None:
    outcome = gate(trueval, folder, "worse", "--baseline", str(folder / "old.trec"), "--max-drop", "0.4")
    assert outcome.status == 1
    assert "bounded" not in outcome.err
    passed = gate(trueval, folder, "old", "--baseline", str(folder / "worse.trec"), "--max-drop", "0.4")
    assert "--max-drop" not in passed.err  # what passes plainly needs no sentence beside its row
    assert "all 2 checks passed\n" in passed.err


def test_the_baseline_is_not_gated_unless_it_is_a_run(trueval: Command, folder: Path) -> None:
    options = ("--baseline", str(folder / "worse.trec"), "--max-drop", "1", "--min", "RR=0.9")
    assert gate(trueval, folder, "old", *options).status == 0
    both = trueval("evaluate", folder / "qrels.trec", folder / "old.trec", folder / "worse.trec", "-m", "RR", *options)
    assert both.status == 1
    assert "worse: RR is 0.5, below" in both.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--min", "0.5"), "must be MEASURE=X"),
        (("--min", "RR=high"), "must be MEASURE=X"),
        (("--min", "nDCG@5=0.5"), "not evaluated"),
        (("--max-drop", "0.1"), "needs --baseline RUN"),
        (("--baseline", "old.trec"), "needs --max-drop X"),
        (("--baseline", "old.trec", "--max-drop", "-1"), "X >= 0"),
        (("--self-test", "--min", "RR=0.1"), "--self-test needs --max-drop X"),
        (("--clusters", "topics.tsv", "--min", "RR=0.1"), "--clusters needs --max-drop X"),
        (("--when-unclear", "fail"), "--when-unclear needs --max-drop X"),
        (("--when-same", "pass", "--min", "RR=0.1"), "--when-same needs --max-drop X"),
        (("--min-queries", "most"), "must be all, a whole number"),
    ],
)
def test_misuse_leaves_with_two(trueval: Command, folder: Path, options: tuple[str, ...], said: str) -> None:
    outcome = gate(trueval, folder, "old", *options)
    assert (outcome.status, outcome.out) == (2, "")
    assert said in re.sub(r"[\s│]+", " ", outcome.err)


def test_one_query_has_no_interval_and_cannot_pass(trueval: Command, tmp_path: Path) -> None:
    (tmp_path / "qrels.trec").write_text("q0 0 a 1\n", encoding="utf-8")
    for name, rank in (("old", 1), ("new", 2)):
        write(tmp_path, name, [rank])
    options = ("--baseline", str(tmp_path / "old.trec"), "--max-drop", "0.5")
    outcome = trueval("evaluate", tmp_path / "qrels.trec", tmp_path / "new.trec", "-m", "RR", *options)
    assert outcome.status == 1
    assert "has no interval" in outcome.err


def test_the_summary_is_appended_where_github_wants_it(
    trueval: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = folder / "summary.md"
    page.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    gate(trueval, folder, "worse")
    assert page.read_text(encoding="utf-8") == "before\n"
    options = ("--min", "RR=0.9", "--max-range", "0.1", "--baseline", str(folder / "old.trec"), "--max-drop", "RR=0.9")
    assert gate(trueval, folder, "worse", *options).status == 1
    text = page.read_text(encoding="utf-8")
    assert text.startswith(
        "before\n## trueval\n\n### Do the runs keep their limits?\n\n**1 of 4 checks failed**\n\n### Checks\n"
    )
    assert "| failed | worse | RR | min 0.9 | 0.5000 |" in text
    assert "| passed | worse | RR | max-range 0.1 | 0.0000 [0.5000, 0.5000] |" in text
    assert "| not worse | worse | RR | max-drop 0.9 | -0.5000 [-0.5000, -0.5000] |" in text
    assert "\n- worse: RR is 0.5, below --min RR=0.9.\n" in text
    assert "| RR | worse | 0.5000 |" in text


@pytest.mark.parametrize(
    ("lines", "options", "said"),
    [
        ("q1 Q0 x 1 2 r", (), "no retrieved document is judged"),
        ("q1 Q0 x 1 2 r", ("--judged-only",), "no retrieved document is judged"),
        ("q1 Q0 a 1 2 r", (), ""),  # one query: --min-queries says that it is enough
    ],
)
@pytest.mark.parametrize("limit", [("--max-range", "0.1"), ("--min", "RR=0")])
def test_a_run_of_wrong_ids_passes_no_gate(
    trueval: Command, folder: Path, lines: str, options: tuple[str, ...], said: str, limit: tuple[str, str]
) -> None:
    (folder / "new.trec").write_text(f"{lines}\n", encoding="utf-8")
    assert gate(trueval, folder, "new", *options).status == 0
    status, _, err = gate(trueval, folder, "new", *options, *limit, "--min-queries", "1")
    assert status == (1 if said else 0)
    assert ("so no gate can pass" in err) == bool(said)
    assert not said or said in err.splitlines()[-1]


@pytest.mark.parametrize("options", [(), ("--min", "RR=0"), ("--max-range", "0.1", "--missing", "skip")], ids=str)
def test_a_run_of_which_no_query_is_judged_is_refused_before_any_gate(
    trueval: Command, folder: Path, options: tuple[str, ...]
) -> None:
    (folder / "new.trec").write_text("x Q0 a 1 2 r\n", encoding="utf-8")
    status, out, err = gate(trueval, folder, "new", *options)
    assert (status, out) == (1, "")
    assert "new: no query of the run is judged" in err
    assert "'x' in the run and 'q0', 'q1', 'q2', ... in the judgments" in " ".join(err.split())


def test_a_baseline_of_wrong_ids_passes_no_gate(trueval: Command, folder: Path) -> None:
    (folder / "strange.trec").write_text("q1 Q0 x 1 2 r\n", encoding="utf-8")
    status, _, err = gate(trueval, folder, "old", "--max-drop", "0.1", "--baseline", str(folder / "strange.trec"))
    assert status == 1
    assert "strange: no retrieved document is judged, so no gate can pass" in err


@pytest.mark.parametrize("option", [("--min", "RR=0.01"), ("--max-range", "0.1"), ("--max-range", "RR=1")])
def test_what_measures_next_to_nothing_passes_no_gate(trueval: Command, folder: Path, option: tuple[str, str]) -> None:
    """One of forty queries in the run; one of forty in the judgments; grades of 0 throughout."""
    lines = {name: (folder / name).read_text(encoding="utf-8") for name in ("old.trec", "qrels.trec")}
    (folder / "one.trec").write_text("".join(lines["old.trec"].splitlines(keepends=True)[:4]), encoding="utf-8")
    (folder / "one.qrels").write_text(lines["qrels.trec"].splitlines(keepends=True)[0], encoding="utf-8")
    (folder / "zero.qrels").write_text(lines["qrels.trec"].replace(" 1\n", " 0\n"), encoding="utf-8")
    for qrels, run, said in (
        ("qrels.trec", "one.trec", "one: 1 of 40 judged queries are in the run"),
        ("one.qrels", "old.trec", "old: RR comes from 1 of 1 judged query"),
        ("zero.qrels", "old.trec", "old: RR: no query has anything to find, so nothing was measured"),
    ):
        outcome = trueval("evaluate", folder / qrels, folder / run, "-m", "RR", *option, "--empty", "one")
        assert (outcome.status, said in outcome.err) == (1, True), outcome.err
    allowed = ("evaluate", folder / "one.qrels", folder / "old.trec", "-m", "RR", *option, "--min-queries", "1")
    assert trueval(*allowed).status == 0


def test_documents_that_nobody_judged_pass_no_gate_by_a_grade_for_all(trueval: Command, folder: Path) -> None:
    """With --unjudged 1 a run of unknown ids had full marks."""
    text = (folder / "old.trec").read_text(encoding="utf-8")
    (folder / "strange.trec").write_text(re.sub(r" Q0 (\w) ", r" Q0 x\1 ", text), encoding="utf-8")
    outcome = gate(trueval, folder, "strange", "--unjudged", "1", "--min", "RR=0.5", "--format", "json")
    assert outcome.status == 1
    assert "strange: no retrieved document is judged, so no gate can pass. Are the ids the same?" in outcome.err
    assert "Documents look like 'xa', 'xb', 'xc' in the run and 'a', 'a', 'a' in the judgments" in outcome.err
    assert "Every one was given grade 1 (unjudged)" in outcome.err
    assert json.loads(outcome.out)["runs"][0]["matched"] == 0
    assert gate(trueval, folder, "worse", "--unjudged", "1", "--min", "RR=0.5").status == 0


def test_a_stored_baseline_of_unknown_documents_passes_no_gate(trueval: Command, folder: Path) -> None:
    """It is 0 throughout, so that nothing is worse."""
    text = (folder / "old.trec").read_text(encoding="utf-8")
    (folder / "strange.trec").write_text(text.replace(" a 0 ", " z 0 ").replace(" b 0 ", " y 0 "), encoding="utf-8")
    kept = str(folder / "kept")
    assert gate(trueval, folder, "strange", "--out", kept).status == 0
    outcome = gate(trueval, folder, "worse", "--baseline", kept, "--max-drop", "0")
    assert (outcome.status, f"{kept}#strange: no retrieved document is judged" in outcome.err) == (1, True)


@pytest.mark.slow
def test_a_run_is_not_compared_with_itself(trueval: Command, folder: Path) -> None:
    (folder / "copy.txt").write_bytes((folder / "old.trec").read_bytes())
    assert gate(trueval, folder, "old", "--out", str(folder / "kept")).status == 0
    for baseline, more in (("old", ["--self-test"]), (str(folder / "old.trec"), []), (f"{folder}/./old.trec", [])):
        outcome = gate(trueval, folder, "old", "--baseline", baseline, "--max-drop", "0", *more)
        assert outcome.status == 1
        assert "old is its own baseline: nothing was compared" in outcome.err
    # A thousand swaps take a second: once is enough.
    for baseline, more in (
        (f"{folder}/copy.txt", ["--self-test"]),
        (f"{folder}/kept", []),
    ):
        options = ("--baseline", baseline, "--max-drop", "0")
        outcome = gate(trueval, folder, "old", *options, "--format", "json", *more)
        assert (outcome.status, "so nothing was compared. Is it the right file?" in outcome.err) == (1, True)
        run, *_ = json.loads(outcome.out)["runs"]
        assert [(check["name"], check["passed"]) for check in run["checks"]] == [
            ("distinct", False),
            ("max-drop", True),
            ("max-drop", True),
        ]
        assert ("self-test: 1,000 random swaps" in outcome.err) == bool(more)
        assert gate(trueval, folder, "old", *options, "--when-same", "pass").status == 0
    assert gate(trueval, folder, "other", "--baseline", str(folder / "old.trec"), "--max-drop", "0").status == 0


def test_a_gate_counts_the_lists_of_which_a_policy_leaves_nothing(trueval: Command, folder: Path) -> None:
    """One query in ten is worth 0, though what the run retrieved for it is dropped: its mean is .9."""
    lines = [f"q{q} Q0 z 0 2 x\nq{q} Q0 a 0 1 x\n" if q % 10 else f"q{q} Q0 z 0 2 x\n" for q in range(QUERIES)]
    (folder / "bare.trec").write_text("".join(lines), encoding="utf-8")
    options = ("--missing", "skip", "--judged-only", "--format", "json")
    status, out, err = gate(trueval, folder, "bare", *options, "--min", "RR=0.95")
    assert status == 1, err
    run = json.loads(out)["runs"][0]
    assert (run["queries"], run["missing_queries"], run["measures"]["RR"]["queries"]) == (QUERIES, [], QUERIES)
    assert run["measures"]["RR"]["expected"] == 0.9
    assert "nothing is left of the list of 4 queries" in err
    status, _, err = gate(trueval, folder, "bare", *options, "--min", "RR=0.85")
    assert status == 0, err
    drop = ("--baseline", str(folder / "old.trec"), "--max-drop", "RR=0.01")
    _, out, err = gate(trueval, folder, "bare", *options, *drop)
    check = next(each for each in json.loads(out)["runs"][0]["checks"] if each["name"] == "max-drop")
    assert (check["queries"], check["value"]) == (QUERIES, pytest.approx(-0.1)), err


def test_junit_has_a_case_for_each_check(trueval: Command, folder: Path) -> None:
    options = ("--baseline", str(folder / "old.trec"), "--max-drop", "RR=0.1", "--min", "P@1=0.75", "--format", "junit")
    status, out, err = gate(trueval, folder, "noisy", *options)
    assert (status, "1 cannot tell" in err) == (0, True)
    (suite,) = ET.fromstring(out)
    assert suite.attrib == {"name": "trueval", "errors": "0", "tests": "2", "failures": "0", "skipped": "1"}
    least, drop = suite
    assert (least.get("classname"), least.get("name")) == ("trueval.noisy", "P@1 --min P@1=0.75")
    assert [part.tag for part in drop] == ["skipped", "system-out"]
    assert "does not decide --max-drop RR=0.1" in str(drop[0].get("message"))
    assert drop[1].text is not None
    assert drop[1].text.startswith("cannot tell: -0.1250 [")
    status, out, _ = gate(trueval, folder, "worse", *options)
    (suite,) = ET.fromstring(out)
    assert (status, suite.get("failures")) == (1, "2")
    assert [case[0].get("type") for case in suite] == ["failed", "worse"]


def test_github_annotates_what_failed_or_cannot_tell(trueval: Command, folder: Path) -> None:
    options = ("--baseline", str(folder / "old.trec"), "--max-drop", "RR=0.1", "--format", "github")
    status, out, _ = gate(trueval, folder, "worse", *options)
    assert status == 1
    assert out.startswith("::error title=trueval%3A worse::worse: RR lost 0.5 against old; the 95%25 interval")
    status, out, _ = gate(trueval, folder, "noisy", *options)
    assert (status, out.startswith("::warning title=trueval%3A cannot tell::noisy: RR lost 0.125")) == (0, True)
    status, out, _ = gate(trueval, folder, "other", *options)
    assert (status, out) == (0, "::notice title=trueval::1 checks passed\n")


@pytest.mark.parametrize("form", ["junit", "github"])
def test_names_that_look_like_markup_or_commands_stay_names(trueval: Command, folder: Path, form: str) -> None:
    name = "a<b>&\"'\x1b[2J%0A::error::x"
    arguments = (folder / "qrels.trec", f"{name}={folder / 'worse.trec'}", "-m", "RR", "--min", "RR=0.9")
    status, out, _ = trueval("evaluate", *arguments, "--format", form)
    assert status == 1
    if form == "junit":
        assert str(ET.fromstring(out)[0][0].get("classname")).startswith("trueval.a<b>&\"'\\x1b[2J")
    else:
        assert len(out.splitlines()) == 1
        assert "%250A::error::x" in out


@pytest.mark.parametrize("form", ["junit", "github"])
def test_a_form_of_checks_without_a_gate_is_misuse(trueval: Command, folder: Path, form: str) -> None:
    status, out, err = gate(trueval, folder, "old", "--format", form)
    assert (status, out) == (2, "")
    assert "shows the checks of a gate, and there is none" in re.sub(r"[\s│]+", " ", err)
