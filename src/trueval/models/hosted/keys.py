"""Keys of services: they are in environment variables, and in no setting, file or message."""

from __future__ import annotations

import os
import re
from functools import cache
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from trueval.errors import InputError
from trueval.models.hosted.services import is_this_machine

SHORTEST: Final = 6  # characters of a secret; servers of one's own are given words such as EMPTY, which any text holds


class Secret(NamedTuple):
    """A key as it goes out, which is taken out of all that comes back: some servers repeat it.

    Attributes:
        value: the key; "" where none is sent.
        variable: the environment variable that holds it.
    """

    value: str = ""
    variable: str = ""

    def taken_out_of(self, said: str) -> str:
        r"""A text without the key, also where JSON writes characters of it as escapes.

        >>> Secret("sk-secret", "MINE").taken_out_of(r"sk-secret, SK-SECRET and \u0073k-secret")
        '[MINE], [MINE] and [MINE]'
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
        # Vectors are large, and neither hold the key nor a backslash, which an escape begins with.
        holds = len(self.value) >= SHORTEST and ("\\" in text or self.value.lower() in text.lower())
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
    # So many backslashes at most: any number of them would make a text of backslashes slow.
    each = (rf"\\{{0,8}}(?:{re.escape(one)}|u{ord(one):04x})" for one in key)
    return re.compile("".join(each), re.IGNORECASE)


class Key(NamedTuple):
    """Where the key of a service is.

    Attributes:
        variable: the environment variable that holds it; "" where none is sent.
    """

    variable: str

    def read(self, model: str, url: str) -> Secret:
        """What the variable holds; an empty one where no key is sent.

        Args:
            model: what an error calls the model.
            url: of the server that gets the key.

        Raises:
            InputError: the variable is not set, what it holds cannot be a key, or anybody on the way could read it.
        """
        if not self.variable:
            return Secret()
        host = urlsplit(url).netloc
        if urlsplit(url).scheme != "https" and not is_this_machine(url):
            raise InputError(
                f"{model}: the key in {self.variable} would go to {host} over plain http, where anybody on the way can "
                "read it. Give a base_url that begins with https://. Nothing of this was sent."
            )
        key = os.environ.get(self.variable, "").strip()
        if not (key and key.isascii() and key.isprintable()):
            what = "holds no key, which is ASCII without line breaks" if key else "is not set"
            raise InputError(
                f"{model}: the environment variable {self.variable} {what}. Set it to the key of {host}, or name "
                "another variable in api_key_env. Nothing of this was sent."
            )
        return Secret(key, self.variable)
