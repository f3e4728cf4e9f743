"""Formats of other packages: found by their entry points where they are named, and held to what ours are held to."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

from trueval import Judgments, Run
from trueval.errors import InputError, PolicyError
from trueval.files import FORMATS, format_detection

LETOR = b"2 q1 d1\n0 q1 d2\n1 q2 d1\n"


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "plugin"))


@pytest.mark.usefixtures("plugin")
def test_a_format_of_another_package_is_read_and_unpacked() -> None:
    rows = [("q1", "d1", 2.0), ("q1", "d2", 0.0), ("q2", "d1", 1.0)]
    assert Judgments.read(io.BytesIO(LETOR), format="letor").frame.rows() == rows
    assert Run.read(io.BytesIO(gzip.compress(LETOR)), format="letor").frame.rows() == rows


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize(
    ("data", "line", "got"),
    [
        (b"2 q1 d1\n0 q1\n", 2, "a line must be: grade query document"),
        (b"2 q1 d1\nx q1 d2\n", 2, "the grade is 'x'"),
        (b"2 q1 d1\n1 q2 d1\n0 q1 d1\n", 3, "twice (first on line 1)"),
    ],
)
def test_its_errors_have_file_and_line(data: bytes, line: int, got: str) -> None:
    with pytest.raises(InputError) as caught:
        Judgments.read(io.BytesIO(data), format="letor")
    assert (caught.value.source, caught.value.line) == ("<file object>", line)
    assert got in str(caught.value)


def test_an_unknown_format_names_those_that_were_found(request: pytest.FixtureRequest) -> None:
    with pytest.raises(PolicyError, match=rf"format must be one of {', '.join(FORMATS)}\. Got 'letor'\."):
        Judgments.read(io.BytesIO(LETOR), format="letor")
    request.getfixturevalue("plugin")
    with pytest.raises(PolicyError, match=rf"{', '.join(FORMATS)}, letor, missing, wrong\. Got 'leter'\."):
        Judgments.read(io.BytesIO(LETOR), format="leter")


@pytest.mark.usefixtures("plugin")
def test_a_reader_that_cannot_be_loaded_or_gives_something_else_is_named() -> None:
    with pytest.raises(PolicyError, match=r"format 'missing', example_plugin\.nowhere:read, cannot be loaded"):
        Run.read(io.BytesIO(LETOR), format="missing")
    with pytest.raises(TypeError, match="format 'wrong' must give a Table with"):
        Run.read(io.BytesIO(LETOR), format="wrong")


@pytest.mark.usefixtures("plugin")
def test_formats_of_ours_cannot_be_replaced_and_look_for_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(format_detection, "entry_points", lambda **_: pytest.fail("looked for packages"))
    data = b"query_id,doc_id,score\nq1,d1,2.5\n"
    for format in ("csv", None):
        assert Run.read(io.BytesIO(data), format=format).frame["score"].to_list() == [2.5]
