"""A progress bar for whoever waits longer than two seconds, and for nobody else."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

from trueval.printable import printable_message

if TYPE_CHECKING:
    from rich.console import Console

PATIENCE = 2.0  # seconds without a bar


@contextmanager
def progress(
    steps: int, *, verb: str = "reading", patience: float = PATIENCE, console: "Console | None" = None
) -> Iterator[Callable[[str], None]]:
    """Shows on stderr how many of the steps are done, once the wait is longer than the patience.

    Args:
        steps: how many there are.
        verb: what is done, before the name of each step.
        patience: seconds before the bar appears.
        console: where to draw; stderr by default. Nothing is drawn where it is not a terminal.

    Yields:
        A function to call with the name of each step as it begins.
    """
    if console is None and not sys.stderr.isatty():
        yield lambda name: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield lambda name: None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True)
    task, begun = bar.add_task("", total=steps), 0

    def begin(name: str) -> None:
        nonlocal begun
        bar.update(task, description=printable_message(f"{verb} {name}"), completed=begun)
        begun += 1

    # A timer starts the bar, as a long read gives no other moment to look at the clock; a quick command never shows it.
    timer = Timer(patience, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield begin
    finally:
        timer.cancel()
        timer.join()  # it may be starting the bar right now, which would then stay on the screen
        if bar.live.is_started:
            bar.stop()
