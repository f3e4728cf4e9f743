"""An engine behind a command: a process for each query, which prints JSON."""

from __future__ import annotations

import json
import shlex
import subprocess
from typing import Any

from trueval.errors import PolicyError
from trueval.models.hosted.failures import BROKEN, SHOWN, CallError, FailureKind


class EngineCommand:
    r"""A program that answers a query.

    Args:
        command: its line, without a shell; {text} and {k} in an argument are replaced, and without {text} the query is
            its standard input.
        timeout: seconds that it may take.

    Raises:
        PolicyError: the line has no end of a quote, or is empty.

    >>> EngineCommand("echo '[[\"d7\", {k}]]'", 10.0).answer("a query", 5)
    [['d7', 5]]
    """

    def __init__(self, command: str, timeout: float) -> None:
        try:
            self.arguments = shlex.split(command)
        except ValueError as error:
            raise PolicyError(f"command must be a line as a shell reads it ({error}). Got {command!r}.") from None
        if not self.arguments:
            raise PolicyError("command must name a program. Got an empty line.")
        self.timeout = timeout
        self.reads_text = not any("{text}" in each for each in self.arguments)

    def answer(self, text: str, k: int) -> Any:
        """The JSON that the program prints for a query.

        Raises:
            CallError: it fails, takes too long or prints something else.
        """
        line = [each.replace("{k}", str(k)).replace("{text}", text) for each in self.arguments]
        given = text if self.reads_text else ""
        try:
            ended = subprocess.run(  # noqa: S603 - the user's own command, without a shell
                line,
                check=False,
                input=given,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=self.timeout,
            )
        except subprocess.TimeoutExpired:
            reason = f"timeout: {line[0]} did not end within {self.timeout:g} seconds"
            raise CallError(FailureKind.BUSY, reason) from None
        except OSError as error:
            raise CallError(FailureKind.REFUSED, f"{line[0]} cannot be run ({error.strerror})") from None
        if ended.returncode:
            said = ended.stderr.strip().rpartition("\n")[2][:SHOWN] or "nothing on stderr"
            raise CallError(FailureKind.REFUSED, f"{line[0]} ended with status {ended.returncode}: {said}")
        try:
            return json.loads(ended.stdout)
        except (ValueError, RecursionError):
            shown = ended.stdout.strip()[:80]
            raise CallError(FailureKind.REFUSED, f"{BROKEN}: {line[0]} printed no JSON but {shown!r}") from None
