"""Lines of TOML keys: what tomllib has read, where it begins in the file."""

from __future__ import annotations

import time
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
    error = toml.place("list", 1, "y").error("is wrong.")
    assert (str(error), error.line) == (f"{path}:17: is wrong.", 17)
    assert str(toml.place().error("is wrong.")) == f"{path}: is wrong."
    assert toml.place("list", 1, "z").line == toml.line("list", 1) == 15  # where it would be


@pytest.mark.parametrize("data", [b"a = ", b"a = 1\na = 2", b"\xff", b"a = " + b"1" * 5_000])
def test_what_is_not_toml_is_said(data: bytes, tmp_path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(data)
    with pytest.raises(InputError, match="not TOML"):
        Toml.read(path, "a file")


@pytest.mark.parametrize("number", ["9223372036854775808", "0x8000000000000001", "0x" + "f" * 5_000])
def test_integers_beyond_those_of_toml_are_refused_with_their_line(number: str, tmp_path) -> None:
    """Python writes no number of 4,301 digits, so that no message could."""
    path = tmp_path / "a.toml"
    path.write_text(f"[a]\nb = [\n 1,\n {number}]\n")
    with pytest.raises(InputError, match=r"a\.toml:2: b must be between -2\^63 and 2\^63"):
        Toml.read(path, "a file")


def test_a_long_file_is_indexed_once_and_in_linear_time() -> None:
    """Each line was parsed again for each key: 400 configurations took minutes."""
    block = "[[configuration]]\nname = 'c'\n[configuration.embed]\ndimension = [\n 1,\n 2]\n"
    text = block * 2_000
    toml = Toml("a.toml", text, tomllib.loads(text))
    parsed = []

    def loads(statement: str) -> object:
        parsed.append(len(statement))
        return read(statement)

    read = tomllib.loads
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tomllib, "loads", loads)
        for number in range(2_000):
            assert toml.line("configuration", number, "embed", "dimension") == 6 * number + 4
    assert sum(parsed) < 4 * len(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n" + ".".join(["a"] * 50_000) + " = 1", ":2: a key has more than 100 parts"),
        ("[" + ".".join(["'a'"] * 50_000) + "]", ":1: a key has more than 100 parts"),
        ("x = " + "[" * 100_000 + "]" * 100_000, "nested too deep"),
        ("x = " + "{ a = " * 100_000 + "1" + "}" * 100_000, "nested too deep"),
    ],
)
def test_hostile_nesting_is_refused_at_once(tmp_path, text: str, message: str) -> None:
    path = tmp_path / "a.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        Toml.read(path, "the TOML file of a sweep")


def test_long_words_and_sentences_are_no_long_keys(tmp_path) -> None:
    path = tmp_path / "a.toml"
    prose = "One sentence. " * 90 + "... " * 300
    path.write_text(f'x = \'{"a" * 300_000}\'\ny = """\n{prose}\n"""\n')
    assert len(Toml.read(path, "a file").tables["x"]) == 300_000


@pytest.mark.parametrize("row", ["[1],", "'''x]''',", "{a = 1}, # ]", r'"\\]",'])
def test_a_long_value_with_brackets_is_read_once(row: str) -> None:
    text = "rows = [\n" + f"{row}\n" * 2000 + "]\nafter = 1\n"
    toml = Toml("a.toml", text, tomllib.loads(text))
    began = time.process_time()
    assert toml.line("after") == 2003
    assert time.process_time() - began < 1, "each line with a bracket is read with all before it"


@pytest.mark.parametrize(
    "value",
    [
        "'#]'",
        r'"a\"]#"',
        "'''\n]\n'''",
        "''''x'''''",
        '"""\n"]"\n"""',
        '"""\\\n  [""""',
        "[[1],\n[2] # [\n]",
        '["]", "["]',
        '""',
        "[\n'''\n]''',\n[]\n]",
    ],
)
def test_a_value_ends_where_tomllib_ends_it(value: str) -> None:
    text = f"a = {value} # ] ' \n# [\nb = 1\n"
    toml = Toml("a.toml", text, tomllib.loads(text))
    assert (toml.line("a"), toml.line("b")) == (1, text.count("\n"))
