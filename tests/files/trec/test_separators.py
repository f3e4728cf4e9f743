"""Regular text: the same rows and lines whatever the chunk size, against line-by-line Python."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from trueval.files.trec import separators
from trueval.files.trec.separators import make_regular


def naive(data: bytes) -> tuple[bytes, list[int]]:
    text, lines = b"", []
    for number, line in enumerate(data.split(b"\n"), start=1):
        fields = [field for field in re.split(rb"[ \t\r\v\f]+", line) if field]
        if fields and not fields[0].startswith(b"#"):
            text += b" ".join(fields) + b"\n"
            lines.append(number)
    return text, lines


@given(
    st.lists(st.sampled_from([b"a", b"#", b" ", b"\t", b"\r", b"\n", b"\f", b"bc", b"\xc3\xa9"]), max_size=60),
    st.integers(0, 20),
)
@examples(500)
def test_agrees_with_line_by_line_python(pieces: list[bytes], chunk: int) -> None:
    data = b"\n" + b"".join(pieces)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(separators, "CHUNK", chunk)
        regular = make_regular(data)
    assert (regular.text, regular.lines.tolist()) == naive(data)
