"""The address of an audit's page: its token and port, stored in the folder of the audit.

They outlive the server, so that an open page continues with the next server of the same audit and finds what the
browser stored (labels not yet sent): browsers store data by host and port.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from pathlib import Path
from typing import Final, NamedTuple

from trueval.errors import Place

FILE: Final = "address.json"
BYTES: Final = 32  # bytes of the token: 256 bits
_TOKEN: Final = re.compile(r"[0-9A-Za-z_-]{43}")  # 32 bytes in base64 without padding


class Address(NamedTuple):
    """The address of an audit's page.

    Attributes:
        token: secret that allows reading and grading the items.
        port: port of the last server; 0 before the first.
    """

    token: str
    port: int

    def url(self, host: str) -> str:
        """The URL for raters. The part after # is never sent to a server or leaked to other sites.

        >>> Address("secret", 8001).url("127.0.0.1")
        'http://127.0.0.1:8001/#token=secret'
        """
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/#token={self.token}"


def read_address(folder: Path) -> Address:
    """The address that an audit had last, with a new token where it had none.

    Raises:
        InputError: the file is not one that was written here.
    """
    path = folder / FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        token, port = found["token"], found["port"]
        if not _TOKEN.fullmatch(token) or type(port) is not int or not 0 <= port < 65536:
            raise ValueError("no token or no port")
    except FileNotFoundError:
        return Address(secrets.token_urlsafe(BYTES), 0)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Place(str(path)).error(
            f"cannot be read ({error}). Remove it; raters then need the new address, and what their browsers kept for "
            "the old one is not sent."
        ) from None
    return Address(token, port)


def write_address(folder: Path, address: Address) -> None:
    """Write the address atomically, readable by its owner alone.

    Raises:
        InputError: the folder cannot be written.
    """
    path, fresh = folder / FILE, folder / f".{FILE}.{os.getpid()}"
    try:
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump(address._asdict(), file)
        fresh.replace(path)
    except OSError as error:
        raise Place(str(path)).error(f"cannot be written ({error.strerror}). Make the folder writable.") from None
