"""`trueval explain`: what it prints, in every form."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Outcome, wrapped

Command = Callable[..., Outcome]


@pytest.fixture
def same_list(tmp_path: Path) -> tuple[Path, Path]:
    """Ten documents, relevance 1011001001, eight relevant ones judged."""
    qrels = [f"q 0 d{i} {flag}" for i, flag in enumerate("1011001001")] + [f"q 0 m{i} 1" for i in range(3)]
    run = [f"q Q0 d{i} {i + 1} {10 - i} x" for i in range(10)]
    paths = tmp_path / "qrels.trec", tmp_path / "run.trec"
    for path, lines in zip(paths, (qrels, run), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return paths


def test_the_table_names_normalizer_and_base_in_eighty_columns(trueval: Command, same_list: tuple[Path, Path]) -> None:
    status, out, err = trueval("explain", *same_list, "-m", "AP@5")
    assert (status, err) == (0, "")
    assert max(map(len, wrapped(out))) <= 80
    rows = {line.split()[0]: line for line in out.splitlines() if line.strip()}
    assert "0.3021" in rows["ours"]
    assert "0.4833" in rows["sentence-transformers"]
    assert "normalizer: min(R, k)" in rows["sentence-transformers"]
    assert rows["torchmetrics"].split()[1:3] == ["0.8056", "+0.5035"]
    lines = out.splitlines()
    (first,) = (at for at, line in enumerate(lines) if line.startswith("torchmetrics  "))
    assert lines[first].rstrip().endswith("normalizer: the relevant")
    assert lines[first + 1].strip() == "documents in the top k"
    assert rows["paper"].rstrip().endswith("base: the documents that")
    (sklearn,) = (line for line in lines if line.startswith("sklearn  "))
    assert sklearn.split() == ["sklearn", "–", "–", "–", "no", "such", "measure"]
    assert lines[-1].strip() == "sklearn and cross-encoder have no AP@5."


def test_the_answer_names_the_convention_that_differs_most(trueval: Command, same_list: tuple[Path, Path]) -> None:
    """.302 of R = 8 by most, .483 of 5 and .806 of 3 hits."""
    lines = " ".join(trueval("explain", *same_list, "-m", "AP@5").out.split())
    assert lines.startswith(
        "AP@5 of run is 0.3021; 3 of 7 conventions that compute it give another value, torchmetrics the most: +0.5035, "
        "because of normalizer: the relevant documents in the top k. Certain:"
    )
    assert f'Next: trueval evaluate {" ".join(map(str, same_list))} -m "AP@5" --convention torchmetrics' in lines
    same = trueval("explain", *same_list, "-m", "RR").out
    assert same.startswith("RR of run is 1.0000; so it is under all conventions that compute it, 5.")


def test_json_and_markdown_say_the_same(trueval: Command, same_list: tuple[Path, Path]) -> None:
    status, out, _ = trueval("explain", *same_list, "-m", "AP@5", "--format", "json")
    entry = json.loads(out)
    assert status == 0
    values = {row["convention"]: row["value"] for row in entry["conventions"]}
    assert round(values["torchmetrics"], 3) == 0.806
    assert values["sklearn"] is None
    assert [cause["topic"] for cause in entry["conventions"][4]["causes"]] == ["normalizer"]
    markdown = trueval("explain", *same_list, "-m", "AP@5", "--format", "markdown").out
    for row in entry["conventions"]:
        assert f"| {row['convention']} |" in markdown
    assert "| q | torchmetrics | 0.3021 | 0.8056 | normalizer" in markdown


def test_notes_go_to_stderr_and_refusals_into_the_table(trueval: Command, files: Path) -> None:
    (files / "two.trec").write_text("q 0 a 1\nr 0 a 1\n", encoding="utf-8")
    status, out, err = trueval("explain", files / "two.trec", files / "tied.trec", "-m", "RR")
    assert status == 0
    assert "missing from the run" in err
    assert "missing query: is refused" in " ".join(out.split())
    assert "left out" in out


@pytest.mark.parametrize("measure", ["AP@0", "NDGC@10", "AP@5 gm(RR)"])
def test_a_bad_measure_is_misuse(trueval: Command, files: Path, measure: str) -> None:
    assert trueval("explain", files / "qrels.trec", files / "tied.trec", "-m", measure).status == 2


def test_a_bad_file_is_bad_input(trueval: Command, files: Path) -> None:
    assert trueval("explain", files / "qrels.trec", files / "absent.trec", "-m", "AP").status == 1
    assert trueval("explain", files / "qrels.trec", files / "qrels.trec", "-m", "AP").status == 2


@pytest.fixture
def graded(tmp_path: Path) -> Path:
    """Judgments with grades 0 and 1, whose second column may be a facet, a run, and sources of the documents."""
    (tmp_path / "qrels.trec").write_text("q 1 a 1\nq 1 b 0\nq 2 b 1\n", encoding="utf-8")
    (tmp_path / "binary.trec").write_text("q 0 a 1\nq 0 b 0\n", encoding="utf-8")
    for name, first in (("run", 2), ("twin", 3)):
        (tmp_path / f"{name}.trec").write_text(f"q Q0 a 1 {first} x\nq Q0 b 2 1 x\n", encoding="utf-8")
    (tmp_path / "sources.tsv").write_text("a\ts\nb\tt\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("measure", "advice", "cure"),
    [
        ("RA-nWG@3", "--grades 0:1,1:3", ()),
        ("novelty(RA-nWG)@1", "--sources FILE", ("--sources", "sources.tsv")),
    ],
)
@pytest.mark.parametrize(("command", "runs"), [("explain", ["run"]), ("compare", ["run", "twin"])])
def test_advice_of_an_error_can_be_followed(
    trueval: Command, graded: Path, command: str, runs: list[str], measure: str, advice: str, cure: tuple[str, ...]
) -> None:
    arguments = [command, graded / "binary.trec", *(graded / f"{name}.trec" for name in runs), "-m", measure]
    begun = ("--grades", "0:1,1:3") if cure else ()
    assert advice in trueval(*arguments, *begun).err
    cures = [graded / each if each.endswith("tsv") else each for each in cure or ("--grades", "0:1,1:3")]
    assert trueval(*arguments, *begun, *cures).status == 0


@pytest.mark.parametrize(("command", "runs"), [("explain", ["run"]), ("compare", ["run", "twin"])])
def test_a_measure_that_needs_facets_brings_them(trueval: Command, graded: Path, command: str, runs: list[str]) -> None:
    """Both facets are found, one by each document: alpha-nDCG is 1."""
    paths = [graded / f"{name}.trec" for name in ("qrels", *runs)]
    outcome = trueval(command, *paths, "-m", "alpha_nDCG@3", "--format", "json")
    assert outcome.status == 0, outcome.err
    found = json.loads(outcome.out)
    best = found["ours"] if command == "explain" else found["leaderboards"][0]["ranking"][0]
    assert best["expected"] == pytest.approx(1)
    assert trueval(command, *paths, "-m", "alpha_nDCG@3", "--facets").status == 0


def test_several_measures_are_explained_one_after_another(trueval: Command, same_list: tuple[Path, Path]) -> None:
    both = trueval("explain", *same_list, "-m", "AP@5,RR", "--examples", "0")
    alone = [trueval("explain", *same_list, "-m", measure, "--examples", "0").out for measure in ("AP@5", "RR")]
    assert (both.status, both.out) == (0, "".join(alone)), both.err
    text = trueval("explain", *same_list, "-m", "AP@5,RR", "--format", "json").out
    first, end = json.JSONDecoder().raw_decode(text)
    assert [first["measure"], json.loads(text[end:])["measure"]] == ["AP@5", "RR"]


def test_choices_hold_for_every_tool(trueval: Command, files: Path) -> None:
    """CLEAR lists b, a, c; only the first is left at depth 1, and it is not relevant."""
    options = ("--depth", "1", "--format", "json")
    found = json.loads(trueval("explain", files / "qrels.trec", files / "clear.trec", "-m", "RR", *options).out)
    values = {row["convention"]: row["value"] for row in found["conventions"] if row["value"] is not None}
    assert found["ours"]["expected"] == 0
    assert set(values.values()) == {0.0}
    assert len(values) > 3


def test_rel_and_unjudged_reach_every_tool(trueval: Command, files: Path) -> None:
    """CLEAR lists b, a, c: with threshold 1 the first relevant one has rank 2; with c unjudged and graded 2, rank 3."""
    (files / "part.trec").write_text("q 0 a 1\nq 0 b 0\n", encoding="utf-8")
    options = ("--rel", "2", "--unjudged", "2", "--format", "json")
    found = json.loads(trueval("explain", files / "part.trec", files / "clear.trec", "-m", "RR", *options).out)
    assert found["ours"]["expected"] == pytest.approx(1 / 3)
    values = {row["convention"]: row["value"] for row in found["conventions"]}
    assert values["trec_eval"] == pytest.approx(1 / 3)
