"""Call owners: which process asked a question or sent a call, and whether it is still running.

A killed process leaves its claims and calls behind. On the same machine its process id shows that it has ended, so that
the next process continues at once; process ids are reused, so an owner also has a random token.
"""

from __future__ import annotations

import os
import re
import secrets
import socket
from pathlib import Path
from typing import Final

_HOST: Final = socket.gethostname()
_NUMBER: Final = re.compile("[1-9][0-9]{0,8}")  # maximum process id
_WORD: Final = secrets.token_hex(8)
OWNER: Final = f"{_HOST}:{os.getpid()}:{_WORD}"


def is_alive(owner: str) -> bool:
    """Whether a process may still be running; True for one of another machine, which cannot be checked.

    Args:
        owner: value of `OWNER` in that process; an invalid one is not running.

    >>> is_alive(OWNER), is_alive(f"{OWNER}, before"), is_alive("nobody")
    (True, False, False)
    """
    host, number, word = ["", "", *owner.rsplit(":", 2)][-3:]
    if not _NUMBER.fullmatch(number):
        return False
    if host != _HOST:
        return True
    pid = int(number)
    if pid == os.getpid():
        return word == _WORD  # another token belongs to a process that had our id before
    return os.name != "posix" or _runs(pid)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # a process of another user
        return True
    try:
        # An ended process whose parent has not waited for it is a zombie: Z after the name in parentheses.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1] != "Z"
    except OSError:
        return True
