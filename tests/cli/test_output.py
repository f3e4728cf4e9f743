import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import Outcome
from tests.report.results import results, value

from trueval.cli.output import save, save_page, show, write_atomically
from trueval.evaluation.views import paper
from trueval.evaluation.views.kind import EVALUATE
from trueval.report import generation


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.json"
    write_atomically(path, "old")

    def refuse(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_written_file_can_be_read_by_others_as_any_new_file(tmp_path: Path) -> None:
    plain, atomic = tmp_path / "plain", tmp_path / "atomic"
    plain.write_text("x", encoding="utf-8")
    write_atomically(atomic, "x")
    assert atomic.stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize(("form", "said"), [("markdown", True), ("latex", True), ("csv", False), ("json", False)])
def test_a_form_without_queries_says_where_they_are(
    trueval: Callable[..., Outcome], files: Path, form: str, said: bool
) -> None:
    given = ("evaluate", files / "qrels.trec", files / "clear.trec", "-m", "RR", "--format", form)
    assert ("holds means only" in trueval(*given, "--per-query").err) == said
    assert "holds means only" not in trueval(*given).err


def test_bad_input_leaves_no_folder(trueval: Callable[..., Outcome], files: Path) -> None:
    given = (files / "qrels.trec", files / "tied.trec", files / "absent.trec")
    assert trueval("compare", *given, "--out", files / "new").status == 1
    assert not (files / "new").exists()


@pytest.mark.parametrize("form", ["table", "markdown", "latex", "json", "csv", "trec"])
def test_percent_prints_points_where_people_read(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The mean over tie orders is 0.25; JSON, CSV and trec_eval's lines are read by programs, and do not change."""
    found = results({"a": {"RR": value(0.2, 0.25, 0.4, 0.3)}})
    show(EVALUATE, found, form)
    plain = capsys.readouterr().out
    show(EVALUATE, found, form, percent=True)
    points = capsys.readouterr().out
    assert ("25.00" in points) == (form in ("table", "markdown", "latex"))
    assert "25.00" not in plain
    assert (plain == points) == (form in ("json", "csv", "trec"))


def test_save_writes_every_file_of_the_kind_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save(tmp_path / "new" / "out", (EVALUATE, results({"a": {"RR": value(0.2, 0.25, 0.4, 0.3)}})))
    assert {path.name for path in (tmp_path / "new" / "out").iterdir()} == set(EVALUATE.files)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"wrote results.json, results.csv, results.md to {tmp_path / 'new' / 'out'}\n"


def test_a_failed_drawing_leaves_the_old_figures_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path, (EVALUATE, results({"a": {"RR": value(0.2, 0.25, 0.4, 0.3)}})))
    save_page(tmp_path)
    before = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(paper, "latex", fail)  # after the figures are drawn
    with pytest.raises(OSError, match="disk full"):
        save_page(tmp_path)
    after = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert after == before
    assert len([path for path in before if path.parts[0] == "figures"]) == 5


def test_a_page_elsewhere_needs_no_right_to_write_to_the_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path / "out", (EVALUATE, results({"a": {"RR": value(0.2, 0.25, 0.4, 0.3)}})))

    def refuse(*_: object) -> None:
        raise PermissionError("read only")

    monkeypatch.setattr(generation, "replace_together", refuse)
    save_page(tmp_path / "out", tmp_path / "page.html", figures=False)
    assert "0.2500" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_folder_that_cannot_be_written_is_refused_before_the_work(
    trueval: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files that are named are not even looked for."""
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != tmp_path)
    for command in ("evaluate", "compare", "power"):
        given = ("absent.qrels", "absent.run", "absent.too", "--out", tmp_path / "deep" / "out")
        status, out, err = trueval(command, *given)
        assert (status, out) == (1, "")
        assert "nothing can be written there, which --out needs" in err


@pytest.mark.parametrize(("listed", "said"), [(True, "and is removed"), (False, "still shows earlier results")])
def test_a_page_of_earlier_results_is_spoken_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], listed: bool, said: str
) -> None:
    def page(_: object, stage: Path) -> list[str]:
        (stage / "report.html").write_text("old", encoding="utf-8")
        return ["report.html"] if listed else []

    generation.write_generation(tmp_path, {"results.json": "{}"}, page)
    save(tmp_path, (EVALUATE, results({"a": {"RR": value(0.2, 0.25, 0.4, 0.3)}})))
    assert (tmp_path / "report.html").exists() != listed
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "name", "cure"),
    [
        ("evaluate", "o.csv", "--format csv > o.csv"),
        ("compare", "o.md", "--format markdown > o.md"),
        ("power", "page.html", ""),
        ("evaluate", "results.JSON", "--format json > results.JSON"),
    ],
)
def test_out_is_no_file(trueval: Callable[..., Outcome], files: Path, command: str, name: str, cure: str) -> None:
    """A folder called so is made by nobody, unless it is there already."""
    runs = (files / "tied.trec", files / "clear.trec")
    given = (command, files / "qrels.trec", *runs, "-m", "RR", "--out", files / "below" / name)
    status, out, err = trueval(*given, columns=300)
    assert (status, out) == (2, "")
    assert f"{name} looks like a file." in err
    assert cure in err
    assert not (files / "below").exists()
    (files / "below" / name).mkdir(parents=True)
    assert trueval(*given).status == 0
