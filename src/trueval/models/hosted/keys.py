"""Keys of services: they are in environment variables, and in no setting, file or message."""

from __future__ import annotations

import os
from typing import NamedTuple

from trueval.errors import InputError


class Key(NamedTuple):
    """A key that a service wants.

    Attributes:
        variable: the environment variable that holds it; "" where none is sent.
    """

    variable: str

    def read(self, model: str, host: str) -> str:
        """What the variable holds; "" where none is sent.

        Args:
            model: what an error calls the model.
            host: that would get the key.

        Raises:
            InputError: the variable is not set, or what it holds cannot be a key.
        """
        key = self._held()
        if self.variable and not (key and key.isascii() and key.isprintable()):
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
