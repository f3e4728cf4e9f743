"""Lines of TOML keys: what tomllib has read, where it begins in the file."""

from __future__ import annotations

import tomllib

import pytest

from trueval.errors import InputError
from trueval.files.toml import Toml

TEXT = '''# a comment
top = 1

[a.b]
long = [
  1, # inside
  2,
]
"odd key" = """
[not.a.table]
"""
after = { inner = 1 }
[[list]]
x = 1
[[list]]

y = 2
[a.c]
'''
LINES = {
    ("top",): 2,
    ("a",): 4,
    ("a", "b"): 4,
    ("a", "b", "long"): 5,
    ("a", "b", "odd key"): 9,
    ("a", "b", "after"): 12,
    ("a", "b", "after", "inner"): 12,
    ("list",): 13,
    ("list", 0, "x"): 14,
    ("list", 1): 15,
    ("list", 1, "y"): 17,
    ("a", "c"): 18,
    ("not",): None,
    ("list", 2): None,
    ("list", "x"): None,
    ("top", "x"): None,
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("keys", LINES)
def test_keys_have_the_lines_that_they_begin_in(keys, newline: str) -> None:
    text = TEXT.replace("\n", newline)
    assert Toml("a.toml", text, tomllib.loads(text)).line(*keys) == LINES[keys]


def test_errors_name_file_and_line(tmp_path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("﻿" + TEXT, encoding="utf-8")  # with the mark that Windows puts before it
    toml = Toml.read(path, "a file")
    error = toml.error("is wrong.", "list", 1, "y")
    assert (str(error), error.line) == (f"{path}:17: is wrong.", 17)
    assert str(toml.error("is wrong.")) == f"{path}: is wrong."


@pytest.mark.parametrize("data", [b"a = ", b"a = 1\na = 2", b"\xff"])
def test_what_is_not_toml_is_said(data: bytes, tmp_path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(data)
    with pytest.raises(InputError, match="not TOML"):
        Toml.read(path, "a file")
