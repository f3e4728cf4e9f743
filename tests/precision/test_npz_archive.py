"""Hostile .npz files: every one is an error of ours, and none takes the memory that it asks for."""

import io
import os
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueval as tv
from trueval.collection import Collection
from trueval.errors import InputError
from trueval.precision.logits import read_logits
from trueval.precision.logits_files import read_passes
from trueval.precision.npz_archive import read_archive

SOUND: dict[str, Any] = {
    "query": ["q1", "q1", "q2"],
    "doc": ["a", "b", "a"],
    "grade": [1, 0, 1],
    "float32": np.float32([2, 1, 3]),
}
JUDGMENTS = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}}


def npy(array: Any, **header: Any) -> bytes:
    """An array as a member holds it, with another header where one is given."""
    buffer, array = io.BytesIO(), np.asarray(array)
    if not header:
        np.lib.format.write_array(buffer, array, allow_pickle=True)
        return buffer.getvalue()
    said = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape} | header
    np.lib.format.write_array_header_1_0(buffer, said)
    return buffer.getvalue() + array.tobytes()


def packed(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return path


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"float32": np.complex64([2, 1, 3])}, "float32 holds values of type complex64"),
        ({"float32": np.array([2, 1, None], dtype=object)}, "float32 holds values of type object"),
        ({"float32": np.zeros(3, dtype=[("a", "f4")])}, r"float32 holds values of type \[\('a', '<f4'\)\]"),
        ({"float32": np.array(["2", "1", "3"])}, "float32 holds values of type <U1. Logits must be real"),
        ({"float32": np.float32([2, 1, 3]).view("V4")}, r"float32 holds values of type \|V4"),
        ({"float32": np.zeros((3, 1, 1), np.float32)}, r"float32 has shape \(3, 1, 1\)"),
        ({"float32": np.float32(2)}, r"float32 has shape \(\)"),
        ({"float32": np.float32([2, np.nan, 3])}, r"1 logits that are not finite: 'b' \(query 'q1'\)"),
        ({"query": np.array(["2020-01-01"] * 3, "M8[D]")}, "query holds values of type datetime64"),
        ({"query": [1.0, 1.0, 2.0]}, "query has shape .* and type float64"),
        ({"query": [["q1"], ["q1"], ["q2"]]}, r"query has shape \(3, 1\)"),
        ({"query": ["q1", "", "q2"]}, "query number 2 is ''"),
        ({"query": ["q1", "q\ud800", "q2"]}, r"query number 2 is 'q\\ud800'"),
        ({"query": np.frombuffer(b"\xff" * 12, "<U1")}, "query holds ids that are not Unicode"),
        ({"query": np.array([b"q1", b"q\xff", b"q2"])}, "query holds ids that are not Unicode"),
        ({"doc": ["a", "a", "a"]}, "document 'a' of query 'q1' is there twice"),
        ({"doc": ["a", "b"]}, "one row for each of 3 queries and 2 documents"),
        ({"grade": [1, 0]}, r"grade has shape \(2,\)"),
        ({"grade": [1, 0, np.inf]}, "grade holds infinite numbers"),
        ({"grade": ["1", "0", "1"]}, "grade has shape .* and type <U1"),
    ],
)  # fmt: skip
def test_arrays_of_other_values_are_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", **(SOUND | changes))
    with pytest.raises(InputError, match=message) as caught:
        read_logits(tmp_path / "m.npz")
    assert caught.value.source == str(tmp_path / "m.npz")


def test_ids_may_be_integers_and_bytes_and_other_arrays_are_not_looked_at(tmp_path: Path) -> None:
    other = {"query": np.array(["é".encode()] * 3), "doc": [1, 2, 3], "note": np.array([None], dtype=object)}
    np.savez(tmp_path / "m.npz", **(SOUND | other))
    found = read_logits(tmp_path / "m.npz")
    assert (found.query_ids, found.doc_ids) == (("é",) * 3, ("1", "2", "3"))


@pytest.mark.parametrize("shape", [(1 << 40,), (1 << 20, 1 << 21), (-3,), (2,), (0, 1 << 62)])
def test_a_header_that_asks_for_more_than_its_bytes_takes_no_memory(shape: tuple[int, ...], tmp_path: Path) -> None:
    members = {name: npy(array) for name, array in SOUND.items()}
    path = packed(tmp_path / "m.npz", members | {"float32": npy(SOUND["float32"], shape=shape)})
    tracemalloc.start()
    with pytest.raises(InputError, match=r"float32 has the shape .*, which its bytes do not have"):
        read_logits(path)
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()


def test_an_array_that_is_there_twice_and_odd_members_are_refused(tmp_path: Path) -> None:
    members = {name: npy(array) for name, array in SOUND.items()}
    path = packed(tmp_path / "m.npz", members)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("doc.npy", members["doc"])
    with pytest.raises(InputError, match="the array doc is there twice"):
        read_logits(path)
    for data in (b"", b"\x93NUMPY\x01\x00\x10\x00{'a': ((((((((((", b"\x93NUMPY\x09\x00" + b"x" * 40, b"PK\x03\x04"):
        with pytest.raises(InputError, match=r"m\.npz: not an .npz file, or a damaged one"):
            read_logits(packed(path, members | {"float32": data}))
    for data in (b"PK\x03\x04", b"", npy(SOUND["doc"]), b"\x80\x04."):
        path.write_bytes(data)
        with pytest.raises(InputError, match=r"m\.npz: not an .npz file, or a damaged one"):
            read_logits(path)


def test_a_file_with_any_byte_changed_or_cut_is_read_alike_or_refused(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "m.npz", **SOUND)
    data, rng = (tmp_path / "m.npz").read_bytes(), np.random.default_rng(0)
    sound = read_logits(tmp_path / "m.npz")
    refused = 0
    for at in rng.integers(len(data), size=400).tolist():
        changed = bytearray(data)
        changed[at] ^= int(rng.integers(1, 256))
        (tmp_path / "m.npz").write_bytes(changed if at % 4 else data[:at])
        try:
            found = read_logits(tmp_path / "m.npz")
        except InputError:
            refused += 1
        else:  # a byte of a date, a name that nobody reads, the length of a comment
            assert found.logits["float32"].tolist() == sound.logits["float32"].tolist()
            assert (found.query_ids, found.doc_ids) == (sound.query_ids, sound.doc_ids)
    assert refused > 200


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "m.npz")
    with pytest.raises(InputError, match="not a regular file, and stored logits are read twice"):
        read_archive(str(tmp_path / "m.npz"), ["query"])


def test_grades_are_those_of_the_judgments(tmp_path: Path) -> None:
    texts = ({"a": "one", "b": "two"}, {"q1": "x", "q2": "y"})
    collection = Collection("c", "c", *texts, tv.Judgments.from_dict(JUDGMENTS))
    path = tmp_path / "m.npz"
    np.savez(path, **SOUND)
    read_passes(collection, path)
    np.savez(path, **(SOUND | {"grade": [1, np.nan, 1]}))
    read_passes(collection, path)
    np.savez(path, **(SOUND | {"grade": [1, 1, 1]}))
    with pytest.raises(InputError, match="1 of 3 grades are not those of c: document 'b' of query 'q1' has 1, and is"):
        read_passes(collection, path)
    np.savez(path, **(SOUND | {"grade": [4, 2, 4]}))
    read_passes(collection, path, grades={4: 1, 2: 0})
