import re
from collections.abc import Callable
from pathlib import Path

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
    """RR: old 1.0; worse 0.5 on every query; noisy loses 0.5 on a quarter of them; other is like old."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    (tmp_path / "qrels.trec").write_text("".join(f"q{q} 0 a 1\n" for q in range(QUERIES)), encoding="utf-8")
    write(tmp_path, "old", [1] * QUERIES)
    write(tmp_path, "other", [1] * QUERIES)
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
        ("noisy", "RR=0.1", 0),  # lost 0.125, but the interval reaches 0.1
    ],
)
def test_max_drop_fails_only_beyond_the_joint_interval(
    trueval: Command, folder: Path, run: str, limit: str, status: int
) -> None:
    outcome = gate(trueval, folder, run, "--baseline", str(folder / "old.trec"), "--max-drop", limit)
    assert outcome.status == status, outcome.err
    assert ("is beyond --max-drop" in outcome.err) == (status == 1)
    assert "old" in outcome.out


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
        "".join(f"q{q} 0 r{at} 1\n" for q in range(3) for at in range(5)), encoding="utf-8"
    )
    for name, other in (("up", 1), ("down", 3)):
        score = {document: 2 if at < 20 else other for at, document in enumerate(documents)}
        lines = (
            f"q{query} Q0 {document} 0 {score[document] + int(document[1:]) * (at > 19) / 64} x\n"
            for query in range(3)
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
    verdict = (
        f"is beyond --max-drop IPrec11={limit}." if status else f"reaches --max-drop IPrec11={limit}, so it passes."
    )
    (line,) = (line for line in outcome.err.splitlines() if "--max-drop" in line)
    assert line.endswith(f", bounded over all orders of ties, {verdict}")
    summary = (folder / "summary.md").read_text(encoding="utf-8")
    assert re.search(r"\| IPrec11 \| `--max-drop IPrec11=[\d.]+` \| \[[^\]]+\] bounded \|", summary)


def test_a_known_variance_is_not_called_bounded(trueval: Command, folder: Path) -> None:
    outcome = gate(trueval, folder, "worse", "--baseline", str(folder / "old.trec"), "--max-drop", "0.4")
    assert outcome.status == 1
    assert "bounded" not in outcome.err
    assert (
        "--max-drop"
        not in gate(trueval, folder, "old", "--baseline", str(folder / "worse.trec"), "--max-drop", "0.4").err
    )


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
    ],
)
def test_misuse_leaves_with_two(trueval: Command, folder: Path, options: tuple[str, ...], said: str) -> None:
    outcome = gate(trueval, folder, "old", *options)
    assert (outcome.status, outcome.out) == (2, "")
    assert said in re.sub(r"[\s│]+", " ", outcome.err)


def test_one_query_has_no_interval_and_cannot_pass(trueval: Command, tmp_path: Path) -> None:
    (tmp_path / "qrels.trec").write_text("q0 0 a 1\n", encoding="utf-8")
    for name in ("old", "new"):
        write(tmp_path, name, [1])
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
    assert text.startswith("before\n## trueval: 1 of 4 checks failed\n")
    assert "| **failed** | worse | RR | `--min RR=0.9` | 0.5000 |" in text
    assert "| passed | worse | RR | `--max-range 0.1` | 0.0000 [0.5000, 0.5000] |" in text
    assert "| passed | worse | RR | `--max-drop RR=0.9` | [+0.5000, +0.5000] |" in text
    assert "| worse | RR | 0.5000 |" in text


@pytest.mark.parametrize(
    ("lines", "options", "said"),
    [
        ("x Q0 a 1 2 r", (), "no query of the run is judged"),
        ("q1 Q0 x 1 2 r", (), "no retrieved document is judged"),
        ("q1 Q0 x 1 2 r", ("--judged-only",), "no query of the run is judged"),
        ("q1 Q0 a 1 2 r", (), ""),
    ],
)
@pytest.mark.parametrize("limit", [("--max-range", "0.1"), ("--min", "RR=0")])
def test_a_run_of_wrong_ids_passes_no_gate(
    trueval: Command, folder: Path, lines: str, options: tuple[str, ...], said: str, limit: tuple[str, str]
) -> None:
    (folder / "new.trec").write_text(f"{lines}\n", encoding="utf-8")
    assert gate(trueval, folder, "new", *options).status == 0
    status, _, err = gate(trueval, folder, "new", *options, *limit)
    assert status == (1 if said else 0)
    assert ("so no gate can pass" in err) == bool(said)
    assert not said or said in err.splitlines()[-1]


def test_a_baseline_of_wrong_ids_passes_no_gate(trueval: Command, folder: Path) -> None:
    (folder / "strange.trec").write_text("q1 Q0 x 1 2 r\n", encoding="utf-8")
    status, _, err = gate(trueval, folder, "old", "--max-drop", "0.1", "--baseline", str(folder / "strange.trec"))
    assert status == 1
    assert "strange: no retrieved document is judged, so no gate can pass" in err
