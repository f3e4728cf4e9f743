"""Long jobs: progress bars, remarks while they run, and what is kept after an interruption."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import typer

from trueval.cli.output import say
from trueval.cli.progress import Heartbeat
from trueval.errors import TruevalWarning
from trueval.printable import printable

if TYPE_CHECKING:
    from trueval.models.outputs import Step

INTERRUPTED: Final = 130  # 128 + SIGINT, the convention of shells


@contextmanager
def interruptible(kept: str) -> Iterator[None]:
    """After Ctrl-C, say what is kept and how to resume, and exit with the status of SIGINT.

    Args:
        kept: what is kept, in one or two sentences.
    """
    try:
        yield
    except KeyboardInterrupt:
        say(f"trueval: interrupted. {kept}")
        raise typer.Exit(INTERRUPTED) from None


@contextmanager
def remarks() -> Iterator[None]:
    """Print warnings of the library on stderr at once, such as that of a halved batch size."""

    def remark(message: Warning | str, category: type[Warning], *rest: object, **named: object) -> None:
        if issubclass(category, TruevalWarning):
            say(f"note: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", TruevalWarning)
        warnings.showwarning = remark
        yield


@contextmanager
def bars() -> "Iterator[Callable[[str], Step]]":
    """Show a progress bar for each forward pass on stderr; without a terminal, print the progress every minute.

    Yields:
        A function from a name to the function that `model_outputs` calls after every shard with the name of a part, the
        amount done and the total, 0 if unknown.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress, ProgressColumn, Task
    from rich.text import Text

    from trueval.cli.progress import speed_text

    console = Console(stderr=True)
    if not console.is_terminal:
        with Heartbeat() as beat:
            yield lambda name: _report_to_heartbeat(beat, name)
        return

    class Speed(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(speed_text(task.speed or 0))

    with Progress(*Progress.get_default_columns(), Speed(), console=console, transient=True) as shown:

        def bar(name: str) -> "Step":
            tasks: dict[str, Any] = {}

            def step(part: str, done: int, total: int) -> None:
                if part not in tasks:
                    tasks[part] = shown.add_task(printable(escape(f"{name}: {part}")), total=total or None)
                shown.update(tasks[part], completed=done, total=total or None)

            return step

        yield bar


def _report_to_heartbeat(beat: Heartbeat, name: str) -> "Step":
    """A step function for work without a progress bar."""
    beat.tell(name)
    return lambda part, done, total: beat.tell(f"{name}: {part}", done, total)
