import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t
from tests.cli.conftest import Outcome, wrapped

Command = Callable[..., Outcome]
QUERIES = 12


@pytest.fixture(autouse=True)
def few_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trueval.comparison.power.power_analysis.WORLDS", 200)
    monkeypatch.setattr("trueval.comparison.power.power_analysis.OTHER_WORLDS", 40)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Twelve queries: good is right on all, half on every other, tied ties the relevant document with another."""
    lines = {"qrels": "", "good": "", "half": "", "tied": "", "clusters": "query,topic\n"}
    for query in range(QUERIES):
        lines["qrels"] += f"q{query} 0 a 1\n"
        lines["clusters"] += f"q{query},t{query // 3}\n"
        other = 1.0 if query % 2 else 3.0
        for name, first, second in (("good", 2.0, 1.0), ("half", 2.0, other), ("tied", 1.0, 1.0)):
            lines[name] += f"q{query} Q0 a 1 {first} x\nq{query} Q0 b 2 {second} x\n"
    for name, text in lines.items():
        (tmp_path / f"{name}.trec").write_text(text, encoding="utf-8")
    return tmp_path


def paths(folder: Path, *names: str) -> list[Path]:
    return [folder / f"{name}.trec" for name in ("qrels", *names)]


def test_json_holds_the_arithmetic(trueval: Command, runs: Path) -> None:
    options = ("-m", "P@1", "--difference", "0.25", "--format", "json")
    status, out, err = trueval("power", *paths(runs, "good", "half"), *options)
    assert status == 0, err
    found = json.loads(out)
    (measure,) = found["measures"]
    (pair,) = measure["pairs"]
    sd = np.std([0, 1] * 6, ddof=1)
    assert (found["kind"], measure["queries"], measure["clusters"]) == ("power", QUERIES, None)
    assert (pair["first"], pair["expected"]["difference"], pair["wanted"]) == ("good", 0.5, 0.25)
    assert pair["expected"]["sd"] == pytest.approx(sd)
    assert pair["expected"]["half_width"] == pytest.approx(t.ppf(0.975, 11) * sd / QUERIES**0.5)
    # The rule of compare takes a little more than a t test, the more so as differences are 0 or 1 and queries few.
    alone = (t.ppf(0.975, 11) + t.ppf(0.8, 11)) * sd / QUERIES**0.5
    assert alone < pair["expected"]["least_difference"] < 1.2 * alone
    assert pair["ties"] == {"half_width": 0.0, "share": 0.0}


def test_the_table_fits_80_columns_and_says_what_ties_make(trueval: Command, runs: Path) -> None:
    status, out, err = trueval("power", *paths(runs, "good", "half", "tied"), "-m", "P@1 RR")
    assert status == 0, err
    assert max(map(len, wrapped(out))) <= 80
    assert re.search(r"^good +1\.0000", out, re.MULTILINE)
    assert re.search(r"good half +\+0\.5000 +0\.3318 +0\.0000 +(0\.[45]\d\d\d) +\1", out)
    assert "ties make 0.00% to 100.00% of the variance" in " ".join(out.split())
    # tied and good differ by the same half on every query, but not under one order of the ties.
    assert re.search(r"good tied +\+0\.5000 +0\.0000 +0\.3177 +– +0\.[45]\d\d\d", out)
    assert "– not known, more than the measure can differ, or no number of queries is" in out
    assert "note: P@1: the same difference on every query, which says nothing of other queries: good and tied." in err


def test_clusters_of_a_file(trueval: Command, runs: Path) -> None:
    arguments = (*paths(runs, "good", "half"), "-m", "P@1", "--clusters", runs / "clusters.trec")
    out = trueval("power", *arguments).out
    assert "P@1: higher is better, 12 queries in 4 clusters\n" in out
    found = json.loads(trueval("power", *arguments, "--format", "json").out)
    assert found["choices"]["clusters"] == {"source": str(runs / "clusters.trec"), "count": 4}
    assert found["measures"][0]["pairs"][0]["expected"]["sd"] == pytest.approx(np.std([1 / 3, 2 / 3] * 2, ddof=1))
    (runs / "clusters.trec").write_text("q0,t\n", encoding="utf-8")
    status, _, err = trueval("power", *arguments)
    assert (status, "no cluster for the query 'q1' and 10 more" in err) == (1, True)


def test_against_a_baseline_and_with_other_chances(trueval: Command, runs: Path) -> None:
    options = ("-m", "RR", "--baseline", runs / "half.trec", "--power", "0.9", "--level", "0.99", "--format", "csv")
    out = trueval("power", *paths(runs, "good", "tied"), *options).out
    rows = list(csv.DictReader(out.splitlines()))
    assert [(row["first"], row["second"]) for row in rows] == [("good", "half"), ("tied", "half")]
    least, half = (float(rows[0][f"expected_{name}"]) for name in ("least_difference", "half_width"))
    assert 1 < least / half / ((t.ppf(0.995, 11) + t.ppf(0.9, 11)) / t.ppf(0.995, 11)) < 1.6


@pytest.mark.parametrize(
    ("form", "beginning"),
    [
        ("csv", "measure,better,queries"),
        ("markdown", "### How small a difference can these queries find?"),
        ("latex", "% RR: these 12"),
    ],
)
def test_text_formats(trueval: Command, runs: Path, form: str, beginning: str) -> None:
    status, out, err = trueval("power", *paths(runs, "good", "half"), "-m", "RR", "--format", form)
    assert status == 0, err
    assert out.startswith(beginning)
    assert "half" in out


def test_files_and_the_page(trueval: Command, runs: Path) -> None:
    folder = runs / "out"
    status, _, err = trueval("power", *paths(runs, "good", "half"), "-m", "RR", "--out", folder)
    assert status == 0, err
    assert sorted(file.name for file in folder.iterdir()) == ["power.csv", "power.json", "power.md", "power.tex"]
    assert trueval("report", folder).status == 0
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Least differences and queries needed" in page
    assert (folder / "figures" / "power.svg").exists()


def test_a_published_mean(trueval: Command, tmp_path: Path) -> None:
    asked = ("power", "--value", "0.8", "--queries", "50", "--grain", "1", "--difference", "0.06")
    status, out, err = trueval(*asked)
    assert (status, err) == (0, "")
    assert out.startswith("A mean of 0.8000 over 50 queries supports the 0.95 interval [0.6628, 0.8997].")
    assert "A difference of 0.0600 cannot be significant at 0.05: " in " ".join(out.split())
    assert json.loads(trueval(*asked, "--format", "json").out)["least_p"] == 0.25
    assert trueval(*asked, "--format", "csv").out.splitlines()[1].endswith(",clopper-pearson,0.25")
    assert trueval(*asked, "--format", "markdown").out.startswith(
        "### What does a published mean support?\n\n**A mean of 0.8000 over 50 queries"
    )
    assert r"0.8000 & 50 & [0.6628, 0.8997] & 0.0600 & 0.2500 \\" in trueval(*asked, "--format", "latex").out
    assert (
        "A mean of 80.00 over 50 queries supports the 0.95 interval [66.28, 89.97]." in trueval(*asked, "--percent").out
    )
    assert trueval(*asked, "--out", tmp_path / "out").status == 0
    assert trueval("report", tmp_path / "out").status == 0
    assert "A published mean" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("good",), "needs at least two runs, as power is about their difference."),
        (("good", "good"), "is given twice"),
        (("good", "half", "--power", "80"), "power must be at least 0.5 and below 1, such as 0.8. Got 80.0."),
        (("good", "half", "--difference", "0"), "difference must be a number > 0"),
        (("good", "half", "--value", "0.8"), "go without files"),
        (("good", "half", "--queries", "5"), "go without files"),
    ],
)
def test_misuse_of_files(trueval: Command, runs: Path, arguments: tuple[str, ...], words: str) -> None:
    files = [runs / f"{each}.trec" if each in ("good", "half") else each for each in arguments]
    status, out, err = trueval("power", runs / "qrels.trec", *files)
    assert (status, out) == (2, "")
    assert words in " ".join(err.replace("│", " ").split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "needs QRELS and two runs, or --value and --queries"),
        (("--value", "0.8"), "give both: a mean, and of how many queries"),
        (("--queries", "50"), "give both: a mean, and of how many queries"),
        (("--value", "80", "--queries", "50"), "value must be between 0 and 1; divide points by 100"),
        (("--value", "0.333", "--queries", "50", "--grain", "1"), "No 50 values that are multiples of 1 have a mean"),
    ],
)
def test_misuse_of_published_means(trueval: Command, arguments: tuple[str, ...], words: str) -> None:
    status, out, err = trueval("power", *arguments)
    assert (status, out) == (2, "")
    assert words in " ".join(err.replace("│", " ").split())
