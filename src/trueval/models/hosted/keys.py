"""Keys of services: they are in environment variables, and in no setting, file or message."""

from __future__ import annotations

import os
from typing import NamedTuple
from urllib.parse import urlsplit

from trueval.errors import InputError
from trueval.models.hosted.services import is_this_machine


class Key(NamedTuple):
    """A key that a service wants.

    Attributes:
        variable: the environment variable that holds it; "" where none is sent.
    """

    variable: str

    def read(self, model: str, url: str) -> str:
        """What the variable holds; "" where no key is sent.

        Args:
            model: what an error calls the model.
            url: of the server that gets the key.

        Raises:
            InputError: the variable is not set, what it holds cannot be a key, or anybody on the way could read it.
        """
        if not self.variable:
            return ""
        host = urlsplit(url).netloc
        if urlsplit(url).scheme != "https" and not is_this_machine(url):
            raise InputError(
                f"{model}: the key in {self.variable} would go to {host} over plain http, where anybody on the way can "
                "read it. Give a base_url that begins with https://. Nothing of this was sent."
            )
        key = self._held()
        if not (key and key.isascii() and key.isprintable()):
            what = "holds no key, which is ASCII without line breaks" if key else "is not set"
            raise InputError(
                f"{model}: the environment variable {self.variable} {what}. Set it to the key of {host}, or name "
                "another variable in api_key_env. Nothing of this was sent."
            )
        return key

    def taken_out_of(self, said: str) -> str:
        """What a service says, without the key: some repeat the one that they refuse."""
        key = self._held()
        return said.replace(key, f"[{self.variable}]") if key else said

    def _held(self) -> str:
        return os.environ.get(self.variable, "").strip() if self.variable else ""
