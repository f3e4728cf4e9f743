"""Keys of services: they are in environment variables, and in no setting, file or message."""

from __future__ import annotations

import html
import os
import re
from functools import cache
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from trueval.errors import InputError
from trueval.models.hosted.services import is_this_machine

SHORTEST: Final = 6  # characters of a secret; servers of one's own are given words such as EMPTY, which any text holds
_ESCAPES: Final = ("\\", "%", "&")  # what begins a character in JSON, URLs and HTML


class Secret(NamedTuple):
    """A key as it goes out, which is taken out of all that comes back: some servers repeat it.

    Attributes:
        value: the key; "" where none is sent.
        variable: the environment variable that holds it.
    """

    value: str = ""
    variable: str = ""

    def taken_out_of(self, said: str) -> str:
        r"""A text without the key, also where JSON, a URL or HTML writes characters of it in their ways.

        >>> Secret("sk-secret/", "MINE").taken_out_of(r"SK-SECRET/, \u0073k-secret/, sk-secret%2F and sk-secret&#47;")
        '[MINE], [MINE], [MINE] and [MINE]'
        """
        if len(self.value) < SHORTEST:
            return said
        return _pattern(self.value).sub(f"[{self.variable}]", said)

    def taken_out_of_json(self, found: Any, text: str) -> Any:
        """The same of every text of a JSON value.

        Args:
            found: the value.
            text: that it was read from.
        """
        # Vectors are large, and hold neither the key nor what an escape begins with.
        holds = len(self.value) >= SHORTEST and (
            any(begin in text for begin in _ESCAPES) or self.value.lower() in text.lower()
        )
        return self._without(found) if holds else found

    def _without(self, found: Any) -> Any:
        if isinstance(found, str):
            return self.taken_out_of(found)
        if isinstance(found, list):
            return [self._without(each) for each in found]
        if isinstance(found, dict):
            return {self.taken_out_of(name): self._without(each) for name, each in found.items()}
        return found


@cache
def _pattern(key: str) -> re.Pattern[str]:
    """The key, each character as it is or as an escape, in JSON inside of JSON too, in either case."""
    return re.compile("".join(map(_character_pattern, key)), re.IGNORECASE)


def _character_pattern(one: str) -> str:
    """A character as texts, JSON, URLs (a % may be written as %25 once more) and HTML have it."""
    code, named = ord(one), html.escape(one)
    # So many backslashes at most: any number of them would make a text of backslashes slow.
    ways = [
        rf"\\{{0,8}}(?:{re.escape(one)}|u{code:04x})",
        f"%(?:25){{0,2}}{code:02x}",
        f"&#(?:0{{0,6}}{code}|x0{{0,6}}{code:x});",
    ]
    return f"(?:{'|'.join([*ways, re.escape(named)] if named != one else ways)})"


class ApiKey(NamedTuple):
    """Where the key of a service is.

    Attributes:
        variable: the environment variable that holds it; "" where none is sent.
    """

    variable: str

    def read(self, model: str, url: str, address: str = "base_url") -> Secret:
        """What the variable holds; an empty one where no key is sent.

        Args:
            model: what an error calls the model.
            url: of the server that gets the key.
            address: the setting that holds the URL.

        Raises:
            InputError: the variable is not set, what it holds cannot be a key, or anybody on the way could read it.
        """
        if not self.variable:
            return Secret()
        host = urlsplit(url).netloc
        if urlsplit(url).scheme != "https" and not is_this_machine(url):
            raise InputError(
                f"{model}: the key in {self.variable} would go to {host} over plain http, where anybody on the way can "
                f"read it. {address} must begin with https://. Nothing of this was sent."
            )
        key = os.environ.get(self.variable, "").strip()
        if not (key and key.isascii() and key.isprintable()):
            what = "holds no key, which is ASCII without line breaks" if key else "is not set"
            raise InputError(
                f"{model}: the environment variable {self.variable} {what}. Set it to the key of {host}, or name "
                "another variable in api_key_env. Nothing of this was sent."
            )
        return Secret(key, self.variable)
