"""Faults of trueval: exit status 70, the traceback in a log beside the results, and nothing lost that was computed."""

import errno
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from tests.cli.conftest import Outcome

from trueval import sample
from trueval.cli.output import save, save_page
from trueval.logging import LOG_FILE, log_beside
from trueval.report.formats import to_json
from trueval.report.kinds import Kind
from trueval.report.page_content import Part


@pytest.fixture(autouse=True)
def handlers_are_put_back() -> Iterator[None]:
    root = logging.getLogger("trueval")
    before, level = list(root.handlers), root.level
    yield
    for handler in root.handlers:
        if handler not in before:
            with suppress(OSError):
                handler.close()
    root.handlers[:] = before
    root.setLevel(level)


SAMPLE = Path(sample.__file__).parent


def broken(*arguments: object, **named: object) -> object:
    raise IndexError("list index out of range")


def retrieve(trueval: Callable[..., Outcome], out: Path, *more: object) -> Outcome:
    places = ("--run", out / "run.trec", "--out", out, "--cache", out / "cache")
    # Wide: at 80 columns the digits of the seconds decide whether the table has the form of lists.
    return trueval("retrieve", SAMPLE, "--index", "bm25", "--depth", "5", *places, *more, columns=120)


@pytest.mark.parametrize("place", ["trueval.report.page.page", "trueval.report.view_page.part_of"])
def test_a_page_that_cannot_be_made_is_a_fault_of_ours(trueval, tmp_path: Path, monkeypatch, place: str) -> None:
    plain, out = retrieve(trueval, tmp_path / "plain"), tmp_path / "out"
    monkeypatch.setattr(place, broken)
    told = retrieve(trueval, out)
    assert (plain.status, told.status) == (0, 70)
    assert told.out.split()[:3] == plain.out.split()[:3]  # the answer is still printed
    assert "report.html could not be made; all results are written (IndexError: list index out of range)." in told.err
    assert f"with the traceback in {out / LOG_FILE}." in told.err
    assert "Traceback" not in told.err
    assert "in broken" in (out / LOG_FILE).read_text()
    assert {"retrieval.json", "run.trec"} < {path.name for path in out.iterdir()}
    assert not (out / "report.html").exists()


def test_the_status_is_that_of_one_command(trueval, tmp_path: Path, monkeypatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("trueval.report.page.page", broken)
        assert retrieve(trueval, tmp_path).status == 70
    assert retrieve(trueval, tmp_path).status == 0
    assert (tmp_path / "report.html").is_file()


def test_results_beside_that_were_changed_are_no_fault_of_ours(trueval, tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text('{"kind": "evaluate", "format": 2, "runs": 7}')
    told = retrieve(trueval, tmp_path)
    assert told.status == 0
    assert "results.json" in told.err
    assert not (tmp_path / LOG_FILE).exists()


def test_an_unexpected_error_without_a_folder_shows_its_traceback(trueval, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("trueval.rag.evaluate_files.evaluate_files", broken)
    told = trueval("evaluate", SAMPLE / "qrels.trec", SAMPLE / "runs" / "bm25.trec", "-m", "RR")
    assert (told.status, told.out) == (70, "")
    assert "in broken" in told.err
    assert "This is a fault of trueval. Please report it with the traceback above." in told.err


def test_a_file_that_ends_too_early_is_not_aborted(trueval, monkeypatch) -> None:
    """NumPy raises EOFError for an empty .npy; typer printed "Aborted." for it, and no file."""

    def ended(*arguments: object, **named: object) -> object:
        raise EOFError("No data left in file")

    monkeypatch.setattr("trueval.rag.evaluate_files.evaluate_files", ended)
    told = trueval("evaluate", SAMPLE / "qrels.trec", SAMPLE / "runs" / "bm25.trec", "-m", "RR")
    assert told.status == 70
    assert "No data left in file" in told.err
    assert "Aborted" not in told.err


def test_nothing_is_logged_where_nothing_fails(trueval, tmp_path: Path) -> None:
    assert retrieve(trueval, tmp_path).status == 0
    assert not (tmp_path / LOG_FILE).exists()


def test_keys_are_not_in_logs(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-0123456789")
    log_beside(tmp_path)
    try:
        raise ValueError("refused: sk-0123456789")
    except ValueError:
        logging.getLogger("trueval.x").exception("with sk-0123456789")
    text = (tmp_path / LOG_FILE).read_text()
    assert "sk-0123456789" not in text
    assert text.count("[SOME_API_KEY]") == 3  # with the line of the program


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_log_that_cannot_be_written_ends_no_work(tmp_path: Path) -> None:
    (tmp_path / LOG_FILE).symlink_to("/dev/full")
    log_beside(tmp_path)
    logging.getLogger("trueval.x").warning("lost")


def test_verbose_logs_to_stderr_what_is_done(trueval, tmp_path: Path) -> None:
    assert "INFO" not in retrieve(trueval, tmp_path / "a").err
    assert "INFO trueval.retrieval.pipeline.stage_runner: stage " in retrieve(trueval, tmp_path / "b", "--verbose").err


KINDS = {each.name: each.value for each in entry_points(group="trueval.kinds") if each.value.startswith("trueval.")}
BESIDE = {"result.json": "json", "result.txt": "text"}


def broken_kind(monkeypatch: pytest.MonkeyPatch, name: str, error: Exception, where: str) -> Kind:
    """A kind whose page or figures raise an error, and whose files hold whatever its result is."""

    def fails(*arguments: object) -> object:
        raise error

    def made(*arguments: object) -> Part:
        return Part()

    module, _, attribute = KINDS[name].partition(":")
    text = {"json": to_json, "text": lambda result: "text"}
    page = fails if where == "page" else made
    kind = getattr(import_module(module), attribute)._replace(
        text=text,
        files=BESIDE,
        page=page,
        figures=fails if where == "figures" else None,
    )
    monkeypatch.setattr(import_module(module), attribute, kind)
    return kind


@pytest.mark.parametrize("where", ["page", "figures"])
@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_page_that_cannot_be_made_leaves_the_results(
    trueval, tmp_path: Path, monkeypatch, name: str, where: str
) -> None:
    kind, out = broken_kind(monkeypatch, name, KeyError("gone"), where), tmp_path / "out"
    result = {"kind": name, "format": kind.format}
    monkeypatch.setattr("trueval.cli.main.app", lambda: save(out, (kind, result), page=True))
    told = trueval()
    assert told.status == 70
    assert "report.html could not be made; all results are written (KeyError: 'gone')" in told.err
    assert "in fails" in (out / LOG_FILE).read_text()
    assert {path.name for path in out.iterdir()} == {*BESIDE, LOG_FILE}
    assert json.loads((out / "result.json").read_text())["kind"] == name
    # The page alone, of the same results: they are as we wrote them, so it is no fault of theirs.
    (out / LOG_FILE).unlink()
    (out / "report.html").write_text("mine")
    monkeypatch.setattr("trueval.cli.main.app", lambda: save_page(out))
    told = trueval()
    assert told.status == 70, told.err
    assert f"with the traceback in {out / LOG_FILE}." in told.err
    assert "in fails" in (out / LOG_FILE).read_text()
    assert {path.name for path in out.iterdir()} == {*BESIDE, LOG_FILE, "report.html"}


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 0, "(No space left on device). Make room"),
        (FileNotFoundError(errno.ENOENT, "No such file", "page.css"), 70, "page.css"),
        (RecursionError("too deep"), 70, "too deep"),
    ],
)
def test_a_page_that_meets_a_full_disk_leaves_the_results_too(
    trueval, tmp_path: Path, monkeypatch, error: Exception, status: int, said: str
) -> None:
    kind, out = broken_kind(monkeypatch, "cuts", error, "page"), tmp_path / "out"
    monkeypatch.setattr(
        "trueval.cli.main.app", lambda: save(out, (kind, {"kind": "cuts", "format": kind.format}), page=True)
    )
    told = trueval()
    assert told.status == status
    assert "could not be made; all results are written" in told.err
    assert said in told.err
    assert {path.name for path in out.iterdir()} - {LOG_FILE} == set(BESIDE)


def test_a_result_that_nobody_stamped_is_refused_where_no_page_can_be_made(trueval, tmp_path: Path) -> None:
    (tmp_path / "cuts.json").write_text('{"kind": "cuts", "format": 1, "stages": 7}')
    told = trueval("report", tmp_path)
    assert told.status == 1
    assert "a result of kind cuts lacks this value" in " ".join(told.err.split())
    assert not (tmp_path / LOG_FILE).exists()


def test_a_command_that_meets_a_full_disk_says_where_and_the_cure(trueval, monkeypatch) -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "out/queries.parquet")

    monkeypatch.setattr("trueval.cli.main.app", full)
    told = trueval()
    assert told.status == 1
    assert told.err.endswith(
        "out/queries.parquet: No space left on device. Make room, and run the same command again.\n"
    )
