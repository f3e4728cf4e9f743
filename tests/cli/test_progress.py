import io
import time

from rich.console import Console

from trueval.cli.progress import progress


def draw(*, seconds: float, patience: float, terminal: bool) -> str:
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=80, force_interactive=terminal)
    with progress(2, patience=patience, console=console) as begin:
        begin("qrels.trec")
        time.sleep(seconds)
        begin("bm25.trec")
    return text.getvalue()


def test_a_long_wait_shows_what_is_being_read() -> None:
    assert "reading qrels.trec" in draw(seconds=0.4, patience=0.05, terminal=True)


def test_a_short_wait_shows_nothing() -> None:
    assert draw(seconds=0.0, patience=30.0, terminal=True) == ""


def test_no_terminal_no_bar() -> None:
    assert draw(seconds=0.2, patience=0.01, terminal=False) == ""
