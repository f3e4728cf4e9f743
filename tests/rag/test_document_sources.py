"""Sources of documents, read from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from trueval.errors import InputError
from trueval.rag.document_sources import read_sources

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "text",
    [
        "a\tmy paper\nb\tmy paper\n",
        "doc_id,source\na, my paper\n\nb,my paper\n",
        '"a" "my paper"\r\nb "my paper"\r\n',
        '{"id": "a", "source": "my paper"}\n{"doc_id": "b", "source": "my paper"}\n',
    ],
)
def test_sources_are_read_in_each_form(tmp_path: Path, text: str) -> None:
    (tmp_path / "sources").write_bytes(text.encode())
    assert read_sources(str(tmp_path / "sources")) == {"a": "my paper", "b": "my paper"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a,x\nb\xff,y\n", ":2: byte 0xff is not UTF-8"),
        (b'a,x\n"b,y\n', ":2: quotes must surround a whole field"),
        (b"a x\nb my paper\n", ":2: not two fields. A line must hold a document id and its source, separated by a tab"),
        (b"a,x\na,y\n", ":2: document 'a' has two sources, 'x' and 'y'"),
        (b'{"id": "a", "id": "b", "source": "x"}', ":1: the key 'id' is twice"),
        (b'{"id": "a", "source": ["x"]}', ":1: the source must be a string"),
        (b'{"id": "a", "source": "\\ud800"}', ":1: the source must be a string"),
        (b'{"id": null, "source": "x"}', ":1: a line must be an object with id and source"),
    ],
)
def test_bad_sources_are_named_with_their_line(tmp_path: Path, text: bytes, message: str) -> None:
    (tmp_path / "sources").write_bytes(text)
    with pytest.raises(InputError, match=message):
        read_sources(str(tmp_path / "sources"))
