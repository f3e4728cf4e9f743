"""Where models run: the option --on, bound to an executor."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from trueval.threads import Executor


@contextmanager
def executor_on(where: str | None) -> "Iterator[Executor | None]":
    """The executor that --on names, which ends with the work; None for this process.

    Args:
        where: "threads", "processes:N", "ray" or "ray:HOST:PORT"; None for threads.

    Raises:
        typer.BadParameter: it is none of these.
    """
    kind, _, rest = (where or "threads").partition(":")
    count = int(rest) if kind == "processes" and rest.isdecimal() else 0
    if (kind, rest) == ("threads", "") or count == 1:
        yield None
    elif count:
        from trueval.threads import Processes

        with Processes(count) as processes:
            yield processes
    elif kind == "ray":
        from trueval.scale.ray_executor import Ray

        with Ray(rest or None) as cluster:
            yield cluster
    else:
        told = f"must be threads, processes:N, ray or ray:HOST:PORT. Got {where!r}."
        raise typer.BadParameter(told, param_hint="--on")
