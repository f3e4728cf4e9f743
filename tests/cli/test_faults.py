"""Faults of trueval: exit status 70, the traceback in a log beside the results, and nothing lost that was computed."""

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.cli.conftest import Outcome

from trueval import sample
from trueval.logging import LOG_FILE, log_beside


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
    return trueval("retrieve", SAMPLE, "--index", "bm25", "--depth", "5", *places, *more)


@pytest.mark.parametrize("place", ["trueval.report.page.page", "trueval.retrieval.views.stages.build"])
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
    monkeypatch.setattr("trueval.rag.evaluation.evaluate_files", broken)
    told = trueval("evaluate", SAMPLE / "qrels.trec", SAMPLE / "runs" / "bm25.trec", "-m", "RR")
    assert (told.status, told.out) == (70, "")
    assert "in broken" in told.err
    assert "This is a fault of trueval. Please report it with the traceback above." in told.err


def test_a_file_that_ends_too_early_is_not_aborted(trueval, monkeypatch) -> None:
    """NumPy raises EOFError for an empty .npy; typer printed "Aborted." for it, and no file."""

    def ended(*arguments: object, **named: object) -> object:
        raise EOFError("No data left in file")

    monkeypatch.setattr("trueval.rag.evaluation.evaluate_files", ended)
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
    assert "INFO trueval.retrieval.stages.work: stage " in retrieve(trueval, tmp_path / "b", "--verbose").err
