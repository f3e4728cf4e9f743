"""Progress: a bar after two seconds; in a pipe, one line per minute."""

import itertools
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread, Timer
from typing import TYPE_CHECKING

from trueval.cli.output import say
from trueval.printable import printable_message

if TYPE_CHECKING:
    from rich.console import Console

PATIENCE = 2.0  # seconds without a bar
EVERY = 60.0  # seconds between two lines without a terminal


class Heartbeat:
    """Prints the progress on stderr every minute if that is not a terminal, for the logs of long jobs."""

    def __init__(self) -> None:
        self._what, self._done, self._of = "", 0, 0
        self._began = time.perf_counter()
        # Where the speed of a part is counted from: its begin, with what an earlier command did; then its first
        # progress, before which workers start.
        self._from = self._before = (0, self._began)
        self._moved = False
        self._over = Event()
        self._thread = Thread(target=self._say_every_minute, daemon=True)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def tell(self, what: str, done: int = 0, of: int = 0) -> None:
        """Receive the progress of the work.

        Args:
            what: work in progress.
            done: amount done.
            of: total amount; 0 if unknown.
        """
        if what != self._what:
            self._from, self._moved = (done, time.perf_counter()), False
        elif done > self._done and not self._moved and done < of:
            self._before, self._from, self._moved = self._from, (done, time.perf_counter()), True
        self._what, self._done, self._of = what, done, of

    def pace(self, now: float) -> float:
        """Items a second of the part since its first progress; until there is more, since its begin."""
        first, since = self._before if self._moved and self._done == self._from[0] else self._from
        return (self._done - first) / max(now - since, 1e-9)

    def seconds_left(self, now: float) -> float | None:
        """Seconds until the part ends, by its speed; None if unknown.

        Args:
            now: of `time.perf_counter`.
        """
        speed = self.pace(now)
        return (self._of - self._done) / speed if self._of > self._done and speed > 0 else None

    def _say_every_minute(self) -> None:
        while not self._over.wait(EVERY):
            if self._what:
                say(self._line(time.perf_counter()))

    def _line(self, now: float) -> str:
        what, done, of = self._what, self._done, self._of
        far = f", {done:,} of {of:,}" if of else f", {done:,}" if done else ""
        share = f" ({100 * done / of:.0f} %)" if of and done else ""
        speed, seconds = self.pace(now), self.seconds_left(now)
        left = f", about {_time(seconds)} left" if seconds is not None else ""
        pace = f", {speed_text(speed)}" if speed > 0 else ""
        return f"{what}{far}{share}{pace}, after {_time(now - self._began)}{left}"


def speed_text(speed: float) -> str:
    """Items a second in words; empty for none.

    >>> speed_text(1234.5), speed_text(0.25), speed_text(0)
    ('1,234 a second', '15 a minute', '')
    """
    if speed <= 0:
        return ""
    return f"{speed:,.0f} a second" if speed >= 10 else f"{60 * speed:,.3g} a minute"


def _time(seconds: float) -> str:
    """A duration in words.

    >>> _time(45), _time(200), _time(9000)
    ('45 s', '3 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextmanager
def progress(
    steps: int, *, verb: str = "reading", patience: float = PATIENCE, console: "Console | None" = None
) -> Iterator[Callable[[str], None]]:
    """Show on stderr how many steps are done, once they take longer than `patience`.

    Args:
        steps: number of steps.
        verb: verb before the name of each step.
        patience: seconds before the bar appears.
        console: console to draw on, stderr by default. Without a terminal, a line is printed every minute.

    Yields:
        A function to call with the name of each step as it begins.
    """
    if console is None and not sys.stderr.isatty():
        with Heartbeat() as beat:
            count = itertools.count()
            yield lambda name: beat.tell(f"{verb} {name}", next(count), steps)
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield lambda name: None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=console, transient=True)
    task, begun = bar.add_task("", total=steps), 0

    def begin(name: str) -> None:
        nonlocal begun
        bar.update(task, description=printable_message(f"{verb} {name}"), completed=begun)
        begun += 1

    # A timer starts the bar, since a long read does not return control; a quick command never shows it.
    timer = Timer(patience, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield begin
    finally:
        timer.cancel()
        timer.join()  # the timer may be starting the bar right now, which would then stay on the screen
        if bar.live.is_started:
            bar.stop()
