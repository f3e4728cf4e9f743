"""API keys: read from environment variables, and kept out of settings, files and messages."""

from __future__ import annotations

import html
import os
import re
from functools import cache
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from trueval.errors import InputError
from trueval.models.hosted.services import is_this_machine

SHORTEST: Final = 6  # minimum length of a secret; users' own servers get words such as EMPTY, which occur in any text
_ESCAPES: Final = ("\\", "%", "&")  # characters that begin an escape in JSON, URLs and HTML


class Secret(NamedTuple):
    """An API key, which is redacted from all responses: some servers echo it.

    Attributes:
        value: the key; "" for none.
        variable: environment variable of the key.
    """

    value: str = ""
    variable: str = ""

    def redact(self, said: str) -> str:
        r"""A text with the key redacted, also in its JSON, URL and HTML escapes.

        >>> Secret("sk-secret/", "MINE").redact(r"SK-SECRET/, \u0073k-secret/, sk-secret%2F and sk-secret&#47;")
        '[MINE], [MINE], [MINE] and [MINE]'
        """
        if len(self.value) < SHORTEST:
            return said
        return _pattern(self.value).sub(f"[{self.variable}]", said)

    def redact_json(self, found: object, text: str) -> Any:
        """A JSON value with the key redacted in every text.

        Args:
            found: JSON value.
            text: text from which it was parsed.
        """
        # Vectors are large, and contain neither the key nor a character that begins an escape.
        holds = len(self.value) >= SHORTEST and (
            any(begin in text for begin in _ESCAPES) or self.value.lower() in text.lower()
        )
        return self._without(found) if holds else found

    def _without(self, found: object) -> Any:
        if isinstance(found, str):
            return self.redact(found)
        if isinstance(found, list):
            return [self._without(each) for each in found]
        if isinstance(found, dict):
            return {self.redact(name): self._without(each) for name, each in found.items()}
        return found


@cache
def _pattern(key: str) -> re.Pattern[str]:
    """A pattern for the key, each character literal or escaped, in nested JSON too, in upper or lower case."""
    return re.compile("".join(map(_character_pattern, key)), re.IGNORECASE)


def _character_pattern(one: str) -> str:
    """A pattern for a character in text, JSON, URLs (also with % escaped as %25) and HTML."""
    code, named = ord(one), html.escape(one)
    # A limited number of backslashes: an unlimited one would make texts of backslashes slow.
    ways = [
        rf"\\{{0,8}}(?:{re.escape(one)}|u{code:04x})",
        f"%(?:25){{0,2}}{code:02x}",
        f"&#(?:0{{0,6}}{code}|x0{{0,6}}{code:x});",
    ]
    return f"(?:{'|'.join([*ways, re.escape(named)] if named != one else ways)})"


class ApiKey(NamedTuple):
    """The environment variable of a service's API key.

    Attributes:
        variable: environment variable of the key; "" for none.
    """

    variable: str

    def read(self, model: str, url: str, address: str = "base_url") -> Secret:
        """Read the key; empty where no key is sent.

        Args:
            model: name of the model in errors.
            url: URL of the server that gets the key.
            address: setting that contains the URL.

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
