import csv
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import CLEAR, QRELS, TIED, Outcome, wrapped

Command = Callable[..., Outcome]


def run_json(trueval: Command, *arguments: object) -> dict:
    status, out, err = trueval("evaluate", *arguments, "--format", "json")
    assert status == 0, err
    return json.loads(out)


def test_json_holds_the_arithmetic_of_one_tie(trueval: Command, files: Path) -> None:
    results = run_json(trueval, files / "qrels.trec", files / "tied.trec", "-m", "RR@10")
    assert (next(iter(results)), results["kind"], results["format"]) == ("kind", "evaluate", 2)
    run = results["runs"][0]
    assert run["name"] == "tied"
    assert run["queries"] == 1
    assert run["missing_queries"] == run["unjudged_queries"] == []
    value = run["measures"]["RR@10"]
    expected = {
        "expected": 0.75,
        "lowest": 0.5,
        "highest": 1,
        "range": 0.5,
        "tie_broken": 0.5,
        "bias": -0.25,
        "sd": 0.25,
    }
    assert {name: value[name] for name in expected} == pytest.approx(expected)
    assert value["queries"] == 1
    assert run["ties"]["tied_fraction"] == pytest.approx(2 / 3)
    assert run["ties"]["largest_group"] == 2
    assert results["policy"]["tie_order"] == "docid-desc"


def test_per_query_rows_follow_when_asked_for(trueval: Command, files: Path) -> None:
    assert "per_query" not in run_json(trueval, files / "qrels.trec", files / "tied.trec")["runs"][0]
    results = run_json(trueval, files / "qrels.trec", files / "tied.trec", "-m", "RR@10", "--per-query")
    (row,) = results["runs"][0]["per_query"]
    assert (row["query"], row["measure"], row["expected"], row["tie_broken"]) == ("q", "RR@10", 0.75, 0.5)


def test_a_table_shows_every_query_when_asked_for(trueval: Command, files: Path) -> None:
    arguments = ("evaluate", files / "qrels.trec", files / "tied.trec", "-m", "RR@10")
    query = ["q", "RR@10", "0.7500", "[0.5000,", "1.0000]", "0.5000", "0.2500"]
    assert query in [line.split() for line in trueval(*arguments, "--per-query").out.splitlines()]
    assert query not in [line.split() for line in trueval(*arguments).out.splitlines()]


def test_tie_order_moves_the_tie_broken_value_only(trueval: Command, files: Path) -> None:
    arguments = (files / "qrels.trec", files / "tied.trec", "-m", "RR@10", "--tie-order", "docid-asc")
    value = run_json(trueval, *arguments)["runs"][0]["measures"]["RR@10"]
    assert (value["tie_broken"], value["expected"]) == (1.0, 0.75)


def test_tie_precision_makes_ties(trueval: Command, files: Path) -> None:
    paths = files / "qrels.trec", files / "clear.trec"
    read = run_json(trueval, *paths, "-m", "RR@10")["runs"][0]
    grid = run_json(trueval, *paths, "-m", "RR@10", "--tie-precision", "10")["runs"][0]
    assert (read["ties"]["largest_group"], grid["ties"]["largest_group"]) == (1, 3)
    assert grid["measures"]["RR@10"]["expected"] == pytest.approx(2 / 3 + 1 / 3 / 2)


def test_grades_rel_and_depth_reach_the_measures(trueval: Command, files: Path) -> None:
    paths = files / "qrels.trec", files / "clear.trec"
    assert run_json(trueval, *paths, "-m", "P@3")["runs"][0]["measures"]["P@3"]["expected"] == pytest.approx(2 / 3)
    mapped = run_json(trueval, *paths, "-m", "P@3", "--grades", "0:3,1:1", "--rel", "2")["runs"][0]["measures"]
    assert next(iter(mapped.values()))["expected"] == pytest.approx(1 / 3)
    short = run_json(trueval, *paths, "-m", "P@3", "--depth", "2")["runs"][0]["measures"]["P@3"]
    assert short["expected"] == pytest.approx(1 / 3)


def test_measures_come_repeated_or_in_one_text(trueval: Command, files: Path) -> None:
    paths = files / "qrels.trec", files / "tied.trec"
    one = run_json(trueval, *paths, "-m", "RR@10 nDCG(gain='exp')@10", "-m", "P@1")
    assert list(one["runs"][0]["measures"]) == ["RR@10", "nDCG(gain='exp')@10", "P@1"]


def test_commas_separate_measures_as_spaces_do(trueval: Command, files: Path) -> None:
    one = run_json(
        trueval, files / "qrels.trec", files / "tied.trec", "-m", "RR@10,nDCG(gain='exp', base='list')@10,P@1"
    )
    assert list(one["runs"][0]["measures"]) == ["RR@10", "nDCG(gain='exp', base='list')@10", "P@1"]


def test_either_file_can_be_stdin(trueval: Command, files: Path) -> None:
    wanted = run_json(trueval, files / "qrels.trec", files / "tied.trec")["runs"][0]["measures"]
    for arguments, stdin in ((("-", files / "tied.trec"), QRELS), ((files / "qrels.trec", "-"), TIED)):
        status, out, err = trueval("evaluate", *arguments, "--format", "json", stdin=stdin)
        assert status == 0, err
        assert json.loads(out)["runs"][0]["measures"] == wanted


def test_only_one_file_can_be_stdin(trueval: Command) -> None:
    status, out, err = trueval("evaluate", "-", "-", stdin=QRELS)
    assert (status, out) == (2, "")
    assert "given twice" in err


def test_runs_of_the_same_file_name_are_told_apart(trueval: Command, files: Path) -> None:
    other = files / "other"
    other.mkdir()
    (other / "tied.trec").write_text(CLEAR, encoding="utf-8")
    results = run_json(trueval, files / "qrels.trec", files / "tied.trec", other / "tied.trec")
    assert [run["name"] for run in results["runs"]] == ["tied", "other/tied"]


def test_table_shows_values_ties_and_findings(trueval: Command, files: Path) -> None:
    status, out, err = trueval(
        "evaluate", files / "qrels.trec", files / "tied.trec", files / "clear.trec", "-m", "RR@10"
    )
    assert status == 0, err
    assert re.search(r"tied +0\.7500 \[0\.5000, 1\.0000\] 0\.5000 +0\.5000 -0\.2500 0\.2500 \*", out)
    assert re.search(r"tied +1 +0\.6667 +2 +", out)
    assert "not separated" in out
    assert "RR@10: tied and clear." in " ".join(out.split())
    assert max(map(len, wrapped(out))) <= 80


def test_csv_means_and_queries_agree_with_the_json(trueval: Command, files: Path) -> None:
    arguments = ("evaluate", files / "qrels.trec", files / "tied.trec", "-m", "RR@10", "--per-query", "--format", "csv")
    mean, query = csv.DictReader(trueval(*arguments).out.splitlines())
    assert (mean["run"], mean["query"], mean["expected"], mean["bias"]) == ("tied", "all", "0.75", "-0.25")
    assert (query["query"], query["expected"], query["range"]) == ("q", "0.75", "")


def test_trec_lines_have_three_fields(trueval: Command, files: Path) -> None:
    out = trueval("evaluate", files / "qrels.trec", files / "tied.trec", "-m", "RR@10 P@2", "--format", "trec").out
    rows = [[field.strip() for field in line.split("\t")] for line in out.splitlines()]
    assert rows[0] == ["runid", "all", "tied"]
    assert ["RR@10", "all", "0.7500"] in rows
    assert ["RR@10.tie_broken", "all", "0.5000"] in rows
    assert ["P_2", "all", "0.5000"] in rows


@pytest.mark.parametrize(("form", "beginning"), [("markdown", "| run | measure |"), ("latex", "\\begin{tabular}")])
def test_text_formats_hold_the_row(trueval: Command, files: Path, form: str, beginning: str) -> None:
    out = trueval("evaluate", files / "qrels.trec", files / "tied.trec", "-m", "RR@10", "--format", form).out
    assert f"\n{beginning}" in out
    assert re.search(r"tied [|&] RR@10 [|&] 0\.7500 [|&] \[0\.5000, 1\.0000\]", out)


@pytest.mark.parametrize(
    ("gate", "status"),
    [("0.5", 0), ("0.49", 1), ("RR@10=0.49", 1), ("R@10=0", 0), ("RR @10=0.4", 1), ("0", 1)],
)
def test_max_range_fails_the_build(trueval: Command, files: Path, gate: str, status: int) -> None:
    outcome = trueval(
        "evaluate",
        files / "qrels.trec",
        files / "tied.trec",
        "-m",
        "RR@10 R@10",
        "--max-range",
        gate,
        "--min-queries",
        "1",
    )
    assert outcome.status == status
    assert ("tied: the range of RR@10 is 0.5, above --max-range" in outcome.err) == (status == 1)
    assert "0.7500" in outcome.out


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--max-range", "wide"), "must be X or MEASURE=X"),
        (("--max-range", "-1"), "must be X or MEASURE=X"),
        (("--max-range", "nan"), "must be X or MEASURE=X"),
        (("--max-range", "P@7=0.1"), "not evaluated"),
        (("--grades", "0-1"), "old:new"),
        (("--grades", "0:1,0:2"), "each grade once"),
        (("--grades", "0:0,1:inf"), "each grade once. Got '1:inf'"),
        (("--grades", ""), "old:new"),
        (("--format", "yaml"), "markdown"),
        (("-m", "nDGC@10"), "Did you mean nDCG?"),
        (("--convention", "trec"), "trec_eval"),
        (("--tie-order", "alphabetical"), "docid-desc"),
        (("--tie-precision", "float12"), "float16"),
        (("--empty", "ignore"), "skip"),
        (("--missing", "ignore"), "skip"),
        (("--depth", "0"), "--depth"),
    ],
)
def test_misuse_leaves_with_two_and_says_what_is_accepted(
    trueval: Command, files: Path, option: tuple[str, str], said: str
) -> None:
    status, out, err = trueval("evaluate", files / "qrels.trec", files / "tied.trec", *option)
    assert (status, out) == (2, "")
    assert said in re.sub(r"[\s│]+", " ", err)
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("q Q0 a 1 two x\n", "bad.trec:1:"),
        ("q Q0 a 1 2 x\nq Q0 a 2 1 x\n", "bad.trec:2:"),
        ("q Q0 a 1 2 x\nq Q0 b 2 nan x\n", "bad.trec:2:"),
        ("", "bad.trec"),
    ],
)
def test_bad_input_leaves_with_one_and_one_line(trueval: Command, files: Path, text: str, said: str) -> None:
    (files / "bad.trec").write_text(text, encoding="utf-8")
    status, out, err = trueval("evaluate", files / "qrels.trec", files / "bad.trec")
    assert (status, out) == (1, "")
    assert said in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "cure"),
    [
        (("-m", "AP", "--convention", "torchmetrics"), "for example --rel 1 "),
        (("-m", "AP", "--convention", "trec_eval"), "Count them with --missing worst, "),
    ],
)
def test_a_cure_is_an_option_of_the_command(
    trueval: Command, files: Path, arguments: tuple[str, ...], cure: str
) -> None:
    (files / "graded.trec").write_text("q 0 a 2\nr 0 a 1\n", encoding="utf-8")
    status, out, err = trueval("evaluate", files / "graded.trec", files / "tied.trec", *arguments)
    assert (status > 0, out) == (True, "")
    assert cure in err


def test_no_message_asks_for_a_format_that_no_option_names(trueval: Command, files: Path) -> None:
    (files / "two.trec").write_text("one two\n", encoding="utf-8")
    _, _, run = trueval("evaluate", files / "qrels.trec", files / "two.trec")
    assert "Correct the file, or name its format in Python: Run.read(path, format=...)." in run
    _, _, judgments = trueval("evaluate", files / "two.trec", files / "tied.trec")
    assert "Correct the file, or name its format in Python: Judgments.read(path, format=...)." in judgments


def test_a_file_that_is_not_there_is_one_line(trueval: Command, files: Path) -> None:
    status, out, err = trueval("evaluate", files / "qrels.trec", files / "absent.trec")
    assert (status, out) == (1, "")
    assert "absent.trec" in err
    assert len(err.splitlines()) == 1


def test_remarks_go_to_stderr_one_line_each(trueval: Command, files: Path) -> None:
    (files / "more.trec").write_text(QRELS + "lost 0 a 1\n", encoding="utf-8")
    status, out, err = trueval("evaluate", files / "more.trec", files / "tied.trec", "--format", "json")
    assert status == 0
    assert json.loads(out)["runs"][0]["missing_queries"] == ["lost"]
    assert [line for line in err.splitlines() if "lost" in line]
    assert all(line.startswith("note: ") for line in err.splitlines())
    assert len(set(err.splitlines())) == len(err.splitlines())


def test_out_holds_complete_files(trueval: Command, files: Path) -> None:
    folder = files / "deep" / "out"
    arguments = ("evaluate", files / "qrels.trec", files / "tied.trec", "--format", "json", "--out", folder)
    status, out, _ = trueval(*arguments)
    assert status == 0
    complete = ["details.json", "queries.parquet", "results.csv", "results.json", "results.md"]
    assert sorted(path.name for path in folder.iterdir()) == complete
    kept = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert kept.pop("generation")["files"].keys() == set(complete)
    assert kept == json.loads(out)
    assert trueval(*arguments).status == 0
    assert sorted(path.name for path in folder.iterdir()) == complete


def test_out_that_is_a_file_is_one_line(trueval: Command, files: Path) -> None:
    status, _, err = trueval("evaluate", files / "qrels.trec", files / "tied.trec", "--out", files / "qrels.trec")
    assert status == 1
    assert "qrels.trec" in err.splitlines()[-1]
    assert "Traceback" not in err


def test_the_real_runs_print_the_full_table(trueval: Command, dl_hard_folder: Path) -> None:
    runs = sorted(dl_hard_folder.glob("*.run.gz"))
    status, out, err = trueval("evaluate", dl_hard_folder / "qrels.trec", *runs)
    assert (status, len(runs)) == (0, 6), err
    lines = out.splitlines()
    assert max(map(len, wrapped("\n".join(lines)))) <= 80
    for path in runs:
        name = path.name.removesuffix(".run.gz")
        assert sum(re.match(rf" ?{re.escape(name)} +\d", line) is not None for line in lines) == 5 + 1, name


def test_bfloat16_moves_the_real_bm25_run(trueval: Command, dl_hard_folder: Path) -> None:
    paths = dl_hard_folder / "qrels.trec", dl_hard_folder / "bm25.run.gz"
    value = run_json(trueval, *paths, "-m", "nDCG@10", "--tie-precision", "bfloat16")["runs"][0]["measures"]["nDCG@10"]
    assert (round(value["lowest"], 4), round(value["highest"], 4)) == (0.2921, 0.3068)


def test_gzip_and_plain_runs_give_the_same_values(trueval: Command, files: Path) -> None:
    with gzip.open(files / "packed.trec.gz", "wt", encoding="utf-8") as packed:
        packed.write(TIED)
    results = run_json(trueval, files / "qrels.trec", files / "tied.trec", files / "packed.trec.gz")
    first, second = results["runs"]
    assert first["measures"] == second["measures"]


def test_facets_are_read_on_request_and_for_measures_that_need_them(trueval: Command, tmp_path: Path) -> None:
    qrels, run = tmp_path / "facets.qrels", tmp_path / "run.trec"
    qrels.write_text("q 1 a 1\nq 2 a 1\nq 2 b 1\n")
    run.write_text("q Q0 a 1 2 t\nq Q0 b 2 1 t\n")
    refused = trueval("evaluate", qrels, run, "-m", "AP")
    assert refused.status == 1
    assert "facets.qrels:2" in refused.err
    assert "--facets" in refused.err
    assert trueval("evaluate", qrels, run, "-m", "AP", "--facets").status == 0
    assert "alpha_nDCG@2" in trueval("evaluate", qrels, run, "-m", "alpha_nDCG@2").out


def test_runs_are_named_on_the_command_line(trueval: Command, files: Path) -> None:
    results = run_json(trueval, files / "qrels.trec", f"old={files / 'tied.trec'}", files / "clear.trec")
    assert [run["name"] for run in results["runs"]] == ["old", "clear"]
    folder = files / "out"
    assert trueval("evaluate", files / "qrels.trec", f"old={files / 'tied.trec'}", "--out", folder).status == 0
    details = json.loads((folder / "details.json").read_text())
    assert [file["path"] for file in details["files"]] == ["qrels.trec", "tied.trec"]


def test_a_file_or_a_name_given_twice_is_misuse(trueval: Command, files: Path) -> None:
    run = files / "tied.trec"
    twice = trueval("evaluate", files / "qrels.trec", run, f"again={run}")
    assert twice.status == 2
    assert "given twice" in twice.err
    other = trueval("evaluate", files / "qrels.trec", run, f"again={files}/./{run.name}")
    assert (other.status, "given twice" in other.err) == (2, True)
    same = trueval("evaluate", files / "qrels.trec", f"a={run}", f"a={files / 'clear.trec'}")
    assert same.status == 2
    assert "called 'a'" in same.err


def test_aliases_are_read_and_printed_in_ours_and_differences_are_said(trueval: Command, files: Path) -> None:
    found = trueval(
        "evaluate", files / "qrels.trec", files / "tied.trec", "-m", "recip_rank,rbp.95 P.1,2", "--format", "json"
    )
    assert list(json.loads(found.out)["runs"][0]["measures"]) == ["RR", "RBP(p=0.95)", "P@1", "P@2"]
    assert "note: rbp.95 is read as RBP(p=0.95)" in found.err
    bad = trueval("evaluate", files / "qrels.trec", files / "tied.trec", "-m", "ndgc@10 mapp")
    assert bad.status == 2
    assert "Did you mean nDCG?" in bad.err
    assert "Did you mean map, our AP?" in bad.err


def test_runs_are_shown_best_first_and_kept_as_given(trueval: Command, files: Path) -> None:
    """RR: tied .75, clear .5. P@1: tied .5, clear 0. RBP-residual is better where it is lower."""
    given = ("evaluate", files / "qrels.trec", files / "clear.trec", files / "tied.trec", "-m", "RR RBP-residual")

    def shown(*options: str) -> list[str]:
        out = trueval(*given, *options).out
        return [line.split()[0] for line in out.splitlines() if line.startswith((" tied", " clear"))]

    assert shown() == ["tied", "clear"] * 2
    assert shown("--sort", "given") == ["clear", "tied"] * 2
    residual = {
        run["name"]: run["measures"]["RBP-residual"]["expected"] for run in run_json(trueval, *given[1:])["runs"]
    }
    assert shown("--sort", "RBP-residual") == sorted(residual, key=residual.__getitem__) * 2
    assert shown("--sort", "recip_rank") == ["tied", "clear"] * 2
    assert list(residual) == ["clear", "tied"]
    csv_runs = [row["run"] for row in csv.DictReader(trueval(*given, "--format", "csv").out.splitlines())]
    assert csv_runs == ["clear"] * 2 + ["tied"] * 2
    markdown = trueval(*given, "--format", "markdown").out
    assert markdown.index("tied |") < markdown.index("clear |")
    wrong = trueval(*given, "--sort", "AP")
    assert wrong.status == 2
    assert "AP is not evaluated. Choose one of RR, RBP-residual, or given." in wrong.err
