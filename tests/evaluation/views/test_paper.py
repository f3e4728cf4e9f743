import json
import re
import sys
from pathlib import Path

import pytest
from tests.report.gold_page import FOLDER
from tests.report.results import results, value

from trueval.errors import MissingExtraError
from trueval.evaluation.evaluation_result import Evaluation
from trueval.evaluation.views.figures import dots_of
from trueval.evaluation.views.paper import latex, markdown
from trueval.report.formats import PREAMBLE
from trueval.report.inline_svg import inline
from trueval.report.kinds import read_directory
from trueval.report.page import write_figures
from trueval.report.plots import dot_plot

DRAWN = tuple(f"{name}.{suffix}" for name in ("tie-ranges", "tie-groups") for suffix in ("svg", "png", "pdf"))
NAMES = (*DRAWN, "table.tex", "table.md")


def comparison(*, groups: tuple[str, str], baseline: str | None = None) -> dict:
    runs = ("a_1", "b|<c>")
    ranking = [{"run": run, "groups": letters} for run, letters in zip(runs, groups, strict=True)]
    difference = {"measure": "RR", "first": "a_1", "second": "b|<c>", "expected": 0.5, "better": "higher"}
    return {
        "choices": {"test": "randomization", "correction": "maxt", "level": 0.95},
        "baseline": baseline,
        "leaderboards": [{"measure": "RR", "ranking": ranking}],
        "differences": [{**difference, "separated": groups[0] != groups[1]}],
    }


RESULTS = Evaluation.from_dict(
    results({"a_1": {"RR": value(0.8, 0.9, 1.0, 0.9)}, "b|<c>": {"RR": value(0.4, 0.4, 0.4, 0.4)}})
)


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_figures_and_tables_are_written_and_do_not_change(tmp_path: Path) -> None:
    directory = read_directory(FOLDER)
    one = write_figures(directory, made(tmp_path / "one"))
    two = write_figures(directory, made(tmp_path / "two"))
    assert tuple(path.name for path in one) == NAMES
    for first, second in zip(one, two, strict=True):
        assert first.read_bytes() == second.read_bytes(), first.name
        assert len(first.read_bytes()) > 100
    svg = one[0].read_text(encoding="utf-8")
    assert "var(--" not in svg  # the names of colors are the page's
    assert "<script" not in svg
    assert one[1].read_bytes().startswith(b"\x89PNG")
    assert one[2].read_bytes().startswith(b"%PDF")


def test_letters_mean_what_they_mean_in_every_table_of_a_comparison() -> None:
    text = latex(RESULTS, comparison(groups=("a", "b")))
    assert r"a\_1 & \textbf{0.9000}$^{\mathrm{a}}$ \\" in text
    assert r"b|$<$c$>$ & 0.4000$^{\mathrm{b}}$ \\" in text
    assert text.splitlines().index(r"\toprule") > text.splitlines().index(f"% {PREAMBLE}")
    table = markdown(RESULTS, comparison(groups=("a", "ab")))
    assert "| a_1 | **0.9000**<sup>a</sup> |" in table
    assert "| b\\|\\<c> | 0.4000<sup>ab</sup> |" in table
    assert "Superscripts: runs that share a letter are not separated, by the randomization test" in table


def test_against_a_baseline_a_star_marks_what_is_separated() -> None:
    text = markdown(RESULTS, comparison(groups=("", "-"), baseline="b|<c>"))
    assert "**0.9000**<sup>*</sup>" in text
    assert "| 0.4000 |" in text
    assert "<sup>" not in markdown(RESULTS, comparison(groups=("", ""), baseline="b|<c>"))


def test_without_a_comparison_there_are_no_letters() -> None:
    assert "^{" not in latex(RESULTS, None)
    assert "<sup>" not in markdown(RESULTS, None)


def test_a_comparison_under_another_policy_gives_no_marks(tmp_path: Path) -> None:
    for name in ("results.json", "details.json", "comparison.json"):
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
    data = json.loads((tmp_path / "comparison.json").read_text(encoding="utf-8"))
    write_figures(read_directory(tmp_path), made(tmp_path / "one"))
    assert "Superscripts" in (tmp_path / "one" / "table.md").read_text(encoding="utf-8")
    data["choices"]["policy"]["rel"] = 2
    (tmp_path / "comparison.json").write_text(json.dumps(data), encoding="utf-8")
    write_figures(read_directory(tmp_path), made(tmp_path / "two"))
    assert "Superscripts" not in (tmp_path / "two" / "table.md").read_text(encoding="utf-8")


def test_every_run_is_drawn() -> None:
    """One dot and one bar for each run, in the order of their values; without a tie-broken value there is no tick."""
    runs = {f"run {index}": {"RR": value(0.1, 0.7 - index / 10, 0.9, None)} for index in range(5)}
    plot = dot_plot(dots_of(Evaluation.from_dict(results(runs)), "RR"))
    names = re.findall(r">(run \d)</text>", inline(plot))
    assert names == list(runs)
    told = re.findall(r"<title>(.*?)</title>", inline(plot))
    assert told == [f"run {index}: expected 0.{7 - index}000, ties [0.1000, 0.9000]" for index in range(5)]


@pytest.mark.parametrize("library", ["altair", "vl_convert"])
def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, library: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match='need the extra "report"'):
        write_figures(read_directory(FOLDER), tmp_path)


def test_the_extra_is_declared() -> None:
    project = (Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8")
    (extra,) = re.findall(r"^report = \[(.*)\]$", project, flags=re.MULTILINE)
    assert {"jinja2", "altair", "vl"} <= set(re.findall(r'"(\w+)', extra))
