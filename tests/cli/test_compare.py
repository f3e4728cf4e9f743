import csv
import json
import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Outcome, wrapped

from trueval.cli import compare
from trueval.comparison import compare as comparing

Command = Callable[..., Outcome]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Twelve queries: good puts the relevant document first, bad second, tied ties both."""
    lines = {"qrels": "", "good": "", "bad": "", "tied": ""}
    for query in range(12):
        lines["qrels"] += f"q{query} 0 a 1\n"
        for name, first, second in (("good", 2.0, 1.0), ("bad", 1.0, 2.0), ("tied", 1.0, 1.0)):
            lines[name] += f"q{query} Q0 a 1 {first} x\nq{query} Q0 b 2 {second} x\n"
    for name, text in lines.items():
        (tmp_path / f"{name}.trec").write_text(text, encoding="utf-8")
    return tmp_path


def paths(folder: Path, *names: str) -> list[Path]:
    return [folder / f"{name}.trec" for name in ("qrels", *names)]


def test_json_holds_the_arithmetic(trueval: Command, runs: Path) -> None:
    status, out, err = trueval("compare", *paths(runs, "good", "bad"), "-m", "RR", "--format", "json")
    assert status == 0, err
    found = json.loads(out)
    (pair,) = found["differences"]
    assert (pair["first"], pair["second"], pair["expected"], pair["lowest"]) == ("good", "bad", 0.5, 0.5)
    assert pair["tests"]["randomization"] == 2 / 2**12
    assert pair["win"] == {"value": 1.0, "low": 1.0, "high": 1.0, "method": "certain"}
    assert pair["verdict"] == "separated"
    assert [row["run"] for row in found["leaderboards"][0]["ranking"]] == ["good", "bad"]
    assert found["choices"]["policy"]["missing"] == "worst"


def test_table_shows_groups_and_verdicts_within_80_columns(trueval: Command, runs: Path) -> None:
    status, out, err = trueval("compare", *paths(runs, "bad", "tied", "good"), "-m", "RR P@1")
    assert status == 0, err
    assert max(map(len, wrapped(out))) <= 80
    assert re.search(r"1 good +1\.0000 \[1\.0000, 1\.0000\] 1 +a", out)
    assert re.search(r"^run +RR +P@1 +\ngood +1\.0000 a +1\.0000 a", out, flags=re.MULTILINE)
    assert re.search(r"^good +bad +\+0\.5000 .* separated", out, flags=re.MULTILINE)
    assert " ".join(out.split()).startswith(
        "good is better than tied, the next of 3 runs, in RR by +0.2500 [+0.2500, +0.2500], separated, p = 0.0005. "
        "These queries separate good from every other run."
    )


def test_intervals_by_bets(trueval: Command, runs: Path) -> None:
    """Twelve gains of 1/2 are separated by resampling, and do not exclude rare losses of 1."""
    arguments = (*paths(runs, "good", "bad"), "-m", "RR")
    status, out, err = trueval("compare", *arguments, "--intervals", "bounded", "--legend")
    assert status == 0, err
    assert "12 queries; 95% interval over queries by bets (bounded)" in " ".join(out.split())
    assert "bounded intervals by bets" in " ".join(out.split())
    assert "by bets, valid for any law of the differences" in " ".join(out.split())
    assert "where nothing differs those of 12 queries reach from -0.42 to +0.42" in " ".join(err.split())
    (pair,) = json.loads(trueval("compare", *arguments, "--intervals", "bounded", "--format", "json").out)[
        "differences"
    ]
    low, high = pair["simultaneous_interval"]
    assert -0.5 < low < 0 < high < 1
    assert pair["verdict"] == "not separated by these queries"
    usual = trueval("compare", *arguments, "--legend")
    assert "all 12 queries differ by the same; see --intervals bounded" in " ".join(usual.err.split())
    assert "it is not cut where the measure ends" in " ".join(usual.out.split())
    assert trueval("compare", *arguments, "--intervals", "exact").status == 2


def test_ties_that_decide_are_said(trueval: Command, runs: Path) -> None:
    other = (runs / "tied.trec").read_text(encoding="utf-8")
    (runs / "twin.trec").write_text(other.replace(" 1.0 ", " 0.5 "), encoding="utf-8")
    out = trueval("compare", *paths(runs, "tied", "twin"), "-m", "RR", columns=100).out
    assert re.search(r"tied +twin +0\.0000 .*0\.500 +0/12/0 undecidable under ties", out)
    assert out.startswith("tied and twin are equal in RR, and ties decide which is ahead.\n")


def test_baseline_may_be_one_of_the_runs_or_another(trueval: Command, runs: Path) -> None:
    texts = []
    for names in (("good", "tied"), ("good", "tied", "bad")):
        arguments = (*paths(runs, *names), "--baseline", runs / "bad.trec", "-m", "RR", "--format", "json")
        texts.append(json.loads(trueval("compare", *arguments).out)["differences"])
    assert [(row["first"], row["second"]) for row in texts[0]] == [("good", "bad"), ("tied", "bad")]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("form", "beginning"),
    [
        ("csv", "measure,better,first"),
        ("markdown", "### Which run is better?"),
        ("latex", "% good is better than "),
    ],
)
def test_text_formats(trueval: Command, runs: Path, form: str, beginning: str) -> None:
    status, out, err = trueval("compare", *paths(runs, "good", "bad"), "-m", "RR", "--format", form)
    assert status == 0, err
    assert out.startswith(beginning)


def test_csv_reads_back(trueval: Command, runs: Path) -> None:
    out = trueval("compare", *paths(runs, "good", "bad", "tied"), "-m", "RR P@1", "--format", "csv").out
    rows = list(csv.DictReader(out.splitlines()))
    assert len(rows) == 6
    assert {row["win_method"] for row in rows} == {"certain", "exact"}
    assert float(rows[0]["p_holm"]) <= 1


def test_out_holds_every_form(trueval: Command, runs: Path) -> None:
    folder = runs / "out"
    assert trueval("compare", *paths(runs, "good", "bad"), "--out", folder).status == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        f"comparison.{suffix}" for suffix in ("csv", "json", "md", "tex")
    ]


def test_threads_and_repetition_change_no_byte(trueval: Command, runs: Path) -> None:
    arguments = ("compare", *paths(runs, "good", "bad", "tied"), "--format", "json")
    texts = {trueval(*arguments, "--threads", threads).out for threads in (1, 2, 2)}
    assert len(texts) == 1


def test_an_interval_without_a_variance_is_bounded_and_marked(trueval: Command, tmp_path: Path) -> None:
    lines = {"qrels": "", "tied": "", "clear": ""}
    for query in range(6):
        for at in range(20):
            lines["qrels"] += f"q{query} 0 d{at} {int(at < 5 + query % 3)}\n"
            lines["tied"] += f"q{query} Q0 d{at} 0 1 x\n"
            lines["clear"] += f"q{query} Q0 d{at} 0 {(at * 7 + query) % 20} x\n"
    for name, text in lines.items():
        (tmp_path / f"{name}.trec").write_text(text, encoding="utf-8")
    arguments = ("compare", *paths(tmp_path, "tied", "clear"), "-m", "IPrec11 RR", "--resamples", "500")
    one, two = (trueval(*arguments, "--format", "json", "--threads", count).out for count in (1, 2))
    assert one == two
    bounded, known = json.loads(one)["differences"]
    assert (bounded["realized_bounded"], known["realized_bounded"]) == (True, False)
    low, high = bounded["realized_interval"]
    assert low < bounded["lowest"] < bounded["highest"] < high
    table = trueval(*arguments).out
    assert "°" not in table  # where the interval is over queries alone
    assert max(map(len, wrapped(table))) <= 80
    rows = list(csv.DictReader(trueval(*arguments, "--format", "csv").out.splitlines()))
    assert [row["realized_bounded"] for row in rows] == ["True", "False"]


@pytest.mark.parametrize(
    ("options", "name", "heading"),
    [
        ((), "simultaneous_interval", "95% simultaneous interval"),
        (("--correction", "benjamini-hochberg", "--test", "wilcoxon"), "expected_interval", "95% interval"),
    ],
)
def test_the_answer_and_the_table_show_one_interval(
    trueval: Command, runs: Path, options: tuple[str, ...], name: str, heading: str
) -> None:
    """The one that decides, in both."""
    given = ("compare", *paths(runs, "good", "bad", "tied"), "-m", "RR", *options, "--format")
    found = json.loads(trueval(*given, "json").out)["differences"]
    text = trueval(*given, "markdown").out
    assert f"| {heading} |" in text
    table = text.partition("differences")[2]
    rows = [line for line in table.splitlines() if line.startswith(("| good | bad |", "| good | tied |"))][:2]
    assert len(rows) == 2
    for row in rows:
        first, second = row.split(" | ")[0].removeprefix("| "), row.split(" | ")[1]
        each = next(each for each in found if {each["first"], each["second"]} == {first, second})
        low, high = each[name]
        low, high = (low, high) if each["first"] == first else (0.0 - high, 0.0 - low)
        assert row.split(" | ")[3] == f"[{low:+.4f}, {high:+.4f}]"
    answer = text.partition("|")[0]
    assert sum(row.split(" | ")[3].strip() in answer for row in rows) == 1


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--missing", "some"), "worst, skip, error"),
        (("--test", "z"), "wilcoxon"),
        (("--level", "95"), "0.95"),
        (("--resamples", "5"), ">= 100"),
        (("--format", "yaml"), "markdown"),
        (("-m", "nDGC@10"), "Did you mean nDCG?"),
    ],
)
def test_misuse_leaves_with_two(trueval: Command, runs: Path, option: tuple[str, str], said: str) -> None:
    status, out, err = trueval("compare", *paths(runs, "good", "bad"), *option)
    assert (status, out) == (2, "")
    assert said in re.sub(r"[\s│]+", " ", err)


def test_one_run_is_misuse(trueval: Command, runs: Path) -> None:
    outcome = trueval("compare", *paths(runs, "good"))
    assert outcome.status == 2
    assert "at least two runs" in re.sub(r"[\s│]+", " ", outcome.err)


def test_missing_queries_are_said_and_can_be_refused(trueval: Command, runs: Path) -> None:
    short = "".join((runs / "good.trec").read_text(encoding="utf-8").splitlines(keepends=True)[:20])
    (runs / "short.trec").write_text(short, encoding="utf-8")
    arguments = ("compare", *paths(runs, "short", "bad"), "-m", "RR")
    assert "12 queries\n" in trueval(*arguments).out
    common = trueval(*arguments, "--missing", "skip")
    assert "10 queries, 2 left out" in common.out
    assert "2 of 12 queries are left out" in common.err
    assert trueval(*arguments, "--missing", "error").status == 1


def test_the_real_runs_fit_80_columns(trueval: Command, dl_hard_folder: Path) -> None:
    files = sorted(dl_hard_folder.glob("*.run.gz"))
    status, out, err = trueval("compare", dl_hard_folder / "qrels.trec", *files, "--tie-precision", "bfloat16")
    assert status == 0, err
    assert max(map(len, wrapped(out))) <= 80
    assert re.search(r"\+0\.0007 \[.*\] \[-0\.0009, \+0\.0024\] 1\.0000 undecidable under ties", out)


def test_a_tie_order_may_name_its_seed(trueval: Command, runs: Path) -> None:
    """random(3) is random with seed 3 in both commands, whatever seed the resampling has."""
    options = ("-m", "RR", "--format", "json")
    tie_broken = {}
    for order in ("random(3)", "random(4)", "random"):
        found = json.loads(trueval("compare", *paths(runs, "tied", "bad"), *options, "--tie-order", order).out)
        assert found["choices"]["seed"] == 0
        tie_broken[order] = found["differences"][0]["tie_broken"]
    assert len(set(tie_broken.values())) > 1
    options = (*options, "--per-query")
    seeds = {}
    for name, given in {
        "form": ("--tie-order", "random(3)"),
        "option": ("--tie-order", "random", "--seed", "3"),
        "other": ("--tie-order", "random(4)"),
    }.items():
        seeds[name] = json.loads(trueval("evaluate", *paths(runs, "tied"), *options, *given).out)
    assert seeds["form"] == seeds["option"]
    assert seeds["form"]["runs"] != seeds["other"]["runs"]
    assert trueval("evaluate", *paths(runs, "tied"), "--tie-order", "random(x)").status == 2


def test_the_legend_is_shown_on_request_and_in_files(trueval: Command, runs: Path) -> None:
    """Verdicts stand in words; a matrix has letters of groups, or marks against a baseline, which are explained."""
    given = ("compare", *paths(runs, "good", "bad", "tied"), "-m", "RR P@1", "--format")
    plain, markdown = trueval(*given, "markdown").out, trueval(*given, "markdown", "--legend").out
    assert "| separated |" in plain
    assert "| 95% simultaneous interval |" in plain
    assert "share a letter" not in plain
    assert "- separated: p < 0.05 by the paired randomization test" in markdown
    assert "share a letter" in markdown
    assert "w/t/l: queries on which" in markdown
    letters, marks = trueval(*given, "latex").out, trueval(*given, "latex", "--baseline", runs / "bad.trec").out
    assert r"good & 1.0000 & a & 1.0000 & a \\" in letters
    assert r"good & 1.0000 & *** & 1.0000 & *** \\" in marks
    assert "% * separated from bad: p < 0.05" in marks
    assert "% * separated" not in letters
    assert r"\caption{Runs by measures. Runs that share a letter are not separated.}" in letters
    assert r"are not separated. Ranks are those that the separated pairs leave to a run.}" in letters
    assert r"\caption{Runs by measures. * separated from bad (** p $<$ .01, *** p $<$ .001); ? undecidable" in marks
    assert "share a letter" not in marks
    for each in (letters, marks):
        assert each.partition(r"\begin")[0].endswith(
            "% \\usepackage{booktabs} in the preamble sets the rules of these tables.\n"
        )
    table = trueval(*given[:-1]).out
    assert len(table.splitlines()) < len(trueval(*given[:-1], "--legend").out.splitlines())


@pytest.mark.parametrize(
    ("names", "beginning"),
    [
        (("bad", "good"), "good is better than bad in RR by +0.5000 [+0.5000, +0.5000], separated, p = 0.0005."),
        (("good", "mixed"), "Not separated: good leads mixed in RR by +0.0833 [-0.0144, +0.3469], p = 0.5000."),
        (("tied", "half"), "tied leads half in RR by +0.0208, which lies inside the range of ties [-"),
    ],
)
def test_the_answer_decides_in_words(trueval: Command, runs: Path, names: tuple[str, str], beginning: str) -> None:
    """Better by how much and how surely, not separated by these queries, or left open by ties."""
    good = (runs / "good.trec").read_text(encoding="utf-8").splitlines(keepends=True)
    bad = (runs / "bad.trec").read_text(encoding="utf-8").splitlines(keepends=True)
    tied = (runs / "tied.trec").read_text(encoding="utf-8").splitlines(keepends=True)
    (runs / "mixed.trec").write_text("".join([*bad[:4], *good[4:]]), encoding="utf-8")
    (runs / "half.trec").write_text("".join([*bad[:2], *tied[2:]]), encoding="utf-8")
    out = " ".join(trueval("compare", *paths(runs, *names), "-m", "RR").out.split())
    assert out.startswith(beginning)
    if "half" in names:
        assert "]: neither ties nor these queries decide which is better." in out
        assert "Scores with more digits, or a second sort key for equal ones, would end the ties" in out
    if "mixed" in names:
        assert "Next: trueval power /" in out


def test_one_query_is_singular(trueval: Command, files: Path) -> None:
    out = trueval("compare", files / "qrels.trec", files / "tied.trec", files / "clear.trec", "-m", "RR").out
    assert "1 query" in out
    assert "1 queries" not in out


@pytest.mark.parametrize("command", ["compare", "evaluate"])
def test_out_must_name_a_folder(trueval: Command, runs: Path, command: str) -> None:
    for place in (runs / "good.trec", runs / "good.trec" / "deeper"):
        status, _, err = trueval(command, *paths(runs, "good", "bad"), "-m", "RR", "--out", place)
        assert status == 1
        assert "good.trec: File exists. --out must name a folder." in err.splitlines()[-1]


def many_runs(folder: Path, count: int) -> list[Path]:
    """Runs of 40 queries, each of which puts the relevant document first on a few queries more."""
    for number in range(count):
        lines = ""
        for query in range(40):
            good = query < 4 + 2 * number
            lines += f"q{query} Q0 a 1 {2.0 if good else 0.0} x\nq{query} Q0 b 2 1.0 x\n"
        (folder / f"run{number}.trec").write_text(lines, encoding="utf-8")
    qrels = folder / "many.qrels"
    qrels.write_text("".join(f"q{query} 0 a 1\n" for query in range(40)), encoding="utf-8")
    return [qrels, *(folder / f"run{number}.trec" for number in range(count))]


def test_many_runs_show_close_calls_and_all_pairs_on_request(trueval: Command, tmp_path: Path) -> None:
    arguments = ("compare", *many_runs(tmp_path, 8), "-m", "RR", "--resamples", "500")
    close, every = trueval(*arguments).out, trueval(*arguments, "--pairs", "all").out
    assert len(re.findall(r"^run\d run\d +[-+]", close, flags=re.MULTILINE)) == 7
    assert "--pairs all shows all 28 pairs" in close
    pairs = re.findall(r"^run(\d) run(\d) +([-+][.\d]+) ", every, flags=re.MULTILINE)
    assert len(pairs) == 28
    assert all(int(one) > int(other) and float(gain) >= 0 for one, other, gain in pairs)  # no zigzag of signs
    assert "--pairs all shows" not in every
    assert close.count("|") == 0 < trueval(*arguments, "--format", "markdown").out.count("| run7 | run6 |")
    assert "| run7 | run0 |" not in trueval(*arguments, "--format", "markdown").out
    assert len(json.loads(trueval(*arguments, "--format", "json").out)["differences"]) == 28


def test_a_matrix_of_many_measures_goes_on_below(trueval: Command, runs: Path) -> None:
    measures = "nDCG@10 RR@10 AP P@1 R@10 nDCG@5 RBP"
    out = trueval("compare", *paths(runs, "good", "bad"), "-m", measures, "--resamples", "500", columns=60).out
    assert max(map(len, wrapped(out))) <= 60
    matrix = out.partition("Runs by measures")[2].partition("higher is better")[0]
    assert max(len(line.rstrip()) for line in matrix.splitlines()) <= 60
    assert len(re.findall(r"^run ", matrix, flags=re.MULTILINE)) == 3
    assert all(name in matrix for name in measures.split())


def test_a_correction_may_be_chosen(trueval: Command, runs: Path) -> None:
    given = ("compare", *paths(runs, "good", "bad", "tied"), "-m", "RR")
    assert "adjusted by MaxT over the pairs of a measure" in re.sub(r"\s+", " ", trueval(*given).out)
    assert "adjusted by Holm" in re.sub(r"\s+", " ", trueval(*given, "--correction", "holm").out)
    wilcoxon = re.sub(r"\s+", " ", trueval(*given, "--test", "wilcoxon").out)
    assert "paired wilcoxon test, adjusted by Benjamini & Hochberg" in wilcoxon
    refused = trueval(*given, "--test", "t", "--correction", "maxt")
    assert refused.status == 2
    assert "needs the signs of the randomization test" in re.sub(r"[\s│]+", " ", refused.err)


def test_a_small_p_without_a_mark_is_explained(trueval: Command, dl_hard_folder: Path) -> None:
    files = sorted(dl_hard_folder.glob("*.run.gz"))
    given = ("compare", dl_hard_folder / "qrels.trec", *files, "--resamples", "1000", "-m")
    said = "A small p that is not separated: the simultaneous interval holds 0"
    assert said in trueval(*given, "RR@10", "--legend").out
    assert said not in trueval(*given, "nDCG@10", "--legend").out


def test_the_baseline_is_a_path_a_name_or_a_named_file(trueval: Command, files: Path) -> None:
    runs = [f"old={files / 'tied.trec'}", files / "clear.trec"]
    for baseline in ("old", files / "tied.trec", f"old={files / 'tied.trec'}"):
        found = trueval("compare", files / "qrels.trec", *runs, "--baseline", baseline, "--format", "json")
        assert json.loads(found.out)["baseline"] == "old", found.err


def test_clusters_bind_queries_and_one_without_is_refused(trueval: Command, runs: Path) -> None:
    clusters = runs / "clusters.tsv"
    clusters.write_text("".join(f"q{query}\ttopic{query // 3}\n" for query in range(12)), encoding="utf-8")
    given = ("compare", *paths(runs, "good", "bad"), "-m", "RR", "--clusters", clusters)
    found = json.loads(trueval(*given, "--format", "json").out)
    assert found["choices"]["clusters"] == {"source": str(clusters), "count": 4}
    assert found["leaderboards"][0]["clusters"] == 4
    assert found["differences"][0]["tests"]["randomization"] == 2 / 2**4
    assert "12 queries in 4 clusters; 95% interval" in re.sub(r"\s+", " ", trueval(*given).out)
    assert "queries of 4 clusters taken together" in re.sub(r"\s+", " ", trueval(*given, "--legend").out)
    clusters.write_text("q0 a\n", encoding="utf-8")
    refused = trueval(*given)
    assert refused.status == 1
    assert "no cluster for the query 'q1' and 10 more" in refused.err


def test_of_many_runs_few_are_in_memory_and_nothing_changes(
    trueval: Command, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs that are read again give what runs in memory give; one that changed meanwhile is refused."""
    text = (runs / "tied.trec").read_text(encoding="utf-8")
    for place in range(5):  # each breaks the ties of other queries
        lines = [line.replace("1.0 x", "2.0 x", at % 12 < place) for at, line in enumerate(text.splitlines())]
        (runs / f"run{place}.trec").write_text("\n".join(lines) + "\n", encoding="utf-8")
    given = (
        "compare",
        *paths(runs, "good", *(f"run{place}" for place in range(5))),
        "-m",
        "RR P@1",
        "--format",
        "json",
    )
    every = trueval(*given).out
    monkeypatch.setattr(compare, "MOST_IN_MEMORY", 1)
    assert trueval(*given).out == every
    assert any(0 < each["win"]["value"] < 1 for each in json.loads(every)["differences"])
    known = comparing.compare_scores

    for change in (lambda file: os.utime(file, (1, 1)), Path.unlink):

        def changed(*given: Any, change: Callable[[Path], None] = change, **choices: Any) -> Any:
            change(runs / "run4.trec")
            return known(*given, **choices)

        monkeypatch.setattr(comparing, "compare_scores", changed)
        refused = trueval(*given)
        assert (refused.status, "changed or vanished while it was compared" in refused.err) == (1, True)


@pytest.mark.parametrize("command", ["evaluate", "compare", "power", "check"])
def test_a_folder_and_a_pattern_stand_for_their_files(trueval: Command, runs: Path, command: str) -> None:
    (runs / "of").mkdir()
    for name in ("good", "bad"):
        (runs / f"{name}.trec").rename(runs / "of" / f"{name}.trec")
    (runs / "of" / ".hidden").write_text("no run", encoding="utf-8")
    form = () if command == "check" else ("-m", "RR", "--format", "json")
    told = [
        trueval(command, runs / "qrels.trec", *given, *form)
        for given in ((runs / "of" / "bad.trec", runs / "of" / "good.trec"), (runs / "of",), (runs / "of" / "*.trec",))
    ]
    assert told[0].status == 0, told[0].err
    assert [each.out for each in told] == [told[0].out] * 3
    nothing = trueval(command, runs / "qrels.trec", runs / "of" / "*.txt", runs / "of" / "good.trec", *form)
    assert (nothing.status, "*.txt" in nothing.out + nothing.err) == (1, True)
    (runs / "none").mkdir()
    empty = trueval(command, runs / "qrels.trec", runs / "none", runs / "of" / "good.trec", *form)
    assert (empty.status, "holds no file, and so no run" in empty.err) == (1, True)


def test_identical_runs_are_one_sentence(trueval: Command, runs: Path) -> None:
    copy, other = runs / "copy.trec", runs / "tied.trec"
    copy.write_bytes(other.read_bytes())
    told = trueval("compare", runs / "qrels.trec", other, copy)
    out = " ".join(told.out.split())
    assert out.startswith(
        "tied and copy are identical: the same documents with the same scores for every query. Is one"
    )
    assert "Next:" not in out
    assert "ties decide which is ahead" not in out


def test_the_next_command_has_the_files_of_this_one(trueval: Command, runs: Path) -> None:
    spaced = runs / "my run.trec"
    spaced.write_bytes((runs / "good.trec").read_bytes())
    for command in ("evaluate", "compare"):
        files = [runs / "qrels.trec", runs / "tied.trec", spaced]
        (line,) = [each for each in trueval(command, *files).out.splitlines() if each.startswith("Next: ")]
        _, name, verb, *words = shlex.split(line)
        assert (name, verb) in {("trueval", "compare"), ("trueval", "power")}
        assert words[:3] == list(map(str, files))
        assert trueval(verb, *words).status == 0


def flat(outcome: Outcome) -> str:
    """What was said on stderr, on one line and without the box."""
    return " ".join(outcome.err.replace("│", " ").split())


def test_within_says_up_to_which_width_the_lead_holds(trueval: Command, runs: Path, tmp_path: Path) -> None:
    """Scores of 2 and 1 change places when both move by a half."""
    asked = ["compare", *paths(runs, "good", "bad"), "-m", "RR", "--within", "1"]
    done = trueval(*asked, "--out", tmp_path / "out")
    assert done.status == 0, done.err
    told = " ".join(done.out.split())
    assert told.startswith("good is better than bad in RR by +0.5000")
    assert "good is ahead of bad in RR by +0.5000. The lead holds up to 0.5, and can turn within 1." in told
    bound = json.loads((tmp_path / "out" / "precision-bound.json").read_text(encoding="utf-8"))
    assert [each["margin"] for each in bound["pairs"]] == [0.5]
    assert len([*(tmp_path / "out").glob("*.json")]) == 2
    refused = trueval(*asked, "--format", "json")
    assert refused.status == 2
    assert "adds a second result, which --format json has no place for" in flat(refused)
    unknown = trueval(*asked[:-1], "a lot")
    assert unknown.status == 2
    assert "A width must be a number of at least 0" in flat(unknown)
