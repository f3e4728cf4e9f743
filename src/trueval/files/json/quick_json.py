"""JSON by the parser of pydantic, in two fifths of the time of `json`, and written in a sixth of it."""

from __future__ import annotations

import json
from typing import Any


def read_json(text: str | bytes) -> Any:
    r"""The value of a text of JSON.

    What the parser of pydantic refuses, `json` decides: it takes halves of surrogate pairs and deeper nesting.

    Raises:
        ValueError: as `json.loads` says it.
        RecursionError: it is nested too deeply.

    >>> read_json('{"d7": [0.83, NaN]}'), read_json(r'"\ud800"')
    ({'d7': [0.83, nan]}, '\ud800')
    """
    from pydantic_core import from_json  # late: most commands need none

    try:
        return from_json(text)
    except ValueError:
        return json.loads(text)


def write_json(value: object) -> bytes:
    r"""A value of JSON types as UTF-8 of one line; infinities and NaN as `json` writes them.

    >>> write_json({"d7": [0.83, float("nan")]}), write_json("\ud800")
    (b'{"d7":[0.83,NaN]}', b'"\\ud800"')
    """
    from pydantic_core import PydanticSerializationError, to_json

    try:
        return to_json(value, inf_nan_mode="constants")
    except PydanticSerializationError:  # half of a surrogate pair, which UTF-8 cannot say
        return json.dumps(value).encode()
