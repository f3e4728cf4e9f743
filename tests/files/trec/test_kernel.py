"""The compiled kernel: exact numbers, strings of any length in any part, and nothing written outside its memory."""

from __future__ import annotations

import gc
import math
import pickle
import shutil
import struct
import sys
import sysconfig
from decimal import Decimal, localcontext
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples

from trueval import Run
from trueval.errors import InputError
from trueval.files import format_detection
from trueval.files.source.line_parts import LineParts, parts_in_memory
from trueval.files.source.source_bytes import SourceBytes
from trueval.files.trec.kernel import scan
from trueval.files.trec.row_forms import find_row_form

HEADER = Path(sysconfig.get_paths()["include"], "Python.h")
CAN_COMPILE = shutil.which((sysconfig.get_config_var("CC") or "cc").split()[0]) is not None and HEADER.exists()
ROLES = "q-drn-"


def test_the_kernel_is_there_where_it_could_be_compiled() -> None:
    if not CAN_COMPILE or sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("no compiler, no headers of Python or no lock, so the kernel may be absent")
    assert scan.is_compiled, "Compile the kernel: pip install -e ."


needs_kernel = pytest.mark.skipif(not scan.is_compiled, reason="the kernel was not compiled")


def kernel(text: bytes, roles: str = ROLES, *, rows: int | None = None, longest: int = 1000, separator: bytes = b" "):
    """What the kernel says of a text, and the columns that it wrote."""
    count = scan._scan.count_lines(text) if rows is None else rows
    views, numbers, ranks = np.zeros((count, 2), np.uint64), np.zeros(count), np.zeros(count, np.int32)
    powers = scan._powers_of_five()
    said = scan._scan.scan(text, roles, separator[0], 0, longest, powers, views, numbers, ranks)
    return said, views, numbers, ranks


def parsed(text: str) -> float | None:
    """A score as the kernel reads it; None if it leaves it to others."""
    said, _, numbers, _ = kernel(f"q Q0 d 1 {text} t\n".encode())
    return None if said is None else float(numbers[0])


def same(one: float, other: float) -> bool:
    """Equal, and of one sign where both are 0."""
    return struct.pack("d", one) == struct.pack("d", other)


# --- numbers ----------------------------------------------------------------------------------------------------------

ORDINARY = st.floats(1e-40, 1e40) | st.floats(-1e40, -1e-40) | st.just(0.0) | st.just(-0.0)


@needs_kernel
@given(ORDINARY, st.sampled_from(["r", ".6f", ".17g", ".18f", ".25e", ".3g", ".40f"]))
@examples(2000)
def test_every_ordinary_number_is_read_and_is_the_nearest_double(score: float, style: str) -> None:
    text = repr(score) if style == "r" else format(score, style)
    value = parsed(text)
    assert value is not None
    assert same(value, float(text))


@pytest.mark.slow
@needs_kernel
@given(st.from_regex(r"\A[+-]?[0-9]{0,30}\.?[0-9]{0,30}([eE][+-]?[0-9]{0,4})?\Z"))
@examples(3000)
def test_any_decimal_is_the_nearest_double_or_left_to_others(text: str) -> None:
    value = parsed(text)
    assert value is None or same(value, float(text))


@pytest.mark.slow
@needs_kernel
@given(st.integers(2**52, 2**53 - 1), st.integers(-110, 60), st.sampled_from(["below", "at", "above"]))
@examples(2000)
def test_numbers_near_the_middle_of_two_doubles(mantissa: int, power: int, side: str) -> None:
    """The hardest numbers: every digit counts, of up to 150.

    Of 19 digits the kernel tells all but the middle itself; of more it may leave each to others.
    """
    with localcontext(prec=400):
        middle = Decimal(2 * mantissa + 1) * Decimal(2) ** power
    for digits in (len(middle.as_tuple().digits), 19):
        with localcontext(prec=digits):
            number = {"below": middle.next_minus(), "at": +middle, "above": middle.next_plus()}[side]
        text = f"{number:f}"
        value = parsed(text)
        assert value is None or same(value, float(text))
        assert value is not None or digits > 19 or side == "at"
        assert same(Run.read(BytesIO(f"q Q0 d 1 {text} t\n".encode())).documents["score"].item(), float(text))


@needs_kernel
@pytest.mark.parametrize(
    "text",
    [
        *("9007199254740993", "9007199254740991", "9007199254740992.5", "18446744073709551615", "18446744073709551616"),
        *("0.3", "1e22", "1e23", "8.5e22", "123456789012345678901234567890", "0.1000000000000000055511151231257827"),
        *("5e-64", "1e64", "9999999999999999999", "99999999999999999999", "-0", "-0.0e3", "0e9999", "00012.50"),
        *("2.2250738585072011e-308", "1.7976931348623157e308", "4.9e-324"),
        "0." + "0" * 300 + "1", "1" + "0" * 300, "0." + "1" * 700,
    ],
)  # fmt: skip
def test_hard_numbers_come_out_right(text: str) -> None:
    value = parsed(text)
    assert value is None or same(value, float(text))
    assert Run.read(BytesIO(f"q Q0 d 1 {text} t\n".encode())).documents["score"].item() == float(text)


@needs_kernel
@pytest.mark.parametrize(
    "text",
    [
        *("", "-", "+1", ".5", "5.", "-.5", "1e", "1e+", "e5", "1e5.", "1e5.0", "1.2.3", "--1", "1e55555", "0x10"),
        *("1_0", "nan", "inf", "-inf", "Infinity", "1d5", "1,5", "1e400", "1e-400", "1e65", "½"),
    ],
)  # fmt: skip
def test_what_is_no_plain_number_is_left_to_others(text: str) -> None:
    assert parsed(text) is None


@needs_kernel
def test_powers_of_five_are_the_largest_of_128_bits_below_them() -> None:
    for power, row in enumerate(scan._powers_of_five().tolist(), start=-scan.LARGEST_POWER):
        high, low, shift, exact = row
        shift = shift - 2**64 if shift >= 2**63 else shift
        bits, true = high << 64 | low, Fraction(5) ** power
        unit = Fraction(2) ** shift
        assert 2**127 <= bits < 2**128 - 1
        assert bits * unit <= true < (bits + 1) * unit
        assert exact == (bits * unit == true)


@needs_kernel
@pytest.mark.parametrize(("text", "rank"), [("1", 1), ("-7", -7), ("000000012", 12), ("999999999", 999_999_999)])
def test_ranks_are_read(text: str, rank: int) -> None:
    said, _, _, ranks = kernel(f"q Q0 d {text} 1 t\n".encode())
    assert said is not None
    assert ranks.tolist() == [rank]


@needs_kernel
@pytest.mark.parametrize("text", ["-", "+1", "1.0", "1000000000", "1e3", "x", "0x1"])
def test_what_is_no_plain_rank_is_left_to_others(text: str) -> None:
    assert kernel(f"q Q0 d {text} 1 t\n".encode())[0] is None


# --- lines ------------------------------------------------------------------------------------------------------------


@needs_kernel
@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"q Q0 d 1 1 t", b"q Q0 d 1 1 t\n", b"q Q0 d 1 1 t\r\n", b"q Q0 d 1 1 t\r\nq Q0 e 1 1 t\n"),
        *(b"q Q0 d#1 1 1 t\n", b'q Q0 "d" 1 1 "t\n'),
    ],
)
def test_regular_lines(text: bytes) -> None:
    said = kernel(text)[0]
    assert said is not None
    assert said[0] == len(text.splitlines())


@needs_kernel
@pytest.mark.parametrize(
    "text",
    [
        *(b"\n", b"q Q0 d 1 1 t\n\n", b" q Q0 d 1 1 t\n", b"q  Q0 d 1 1 t\n", b"q Q0 d 1 1 t \n", b"q Q0 d 1 1\n"),
        *(b"q Q0 d 1 1 t u\n", b"q Q0 d 1 1 t\r", b"q Q0 d 1 1 t\rq Q0 e 1 1 t\n", b"q\tQ0 d 1 1 t\n", b"q Q0 d 1 1 "),
        *(b"#q Q0 d 1 1 t\n", b"q Q0 \xc3\xa9 1 1 t\n", b"q Q0 d\x7f 1 1 t\n", b"q Q0 d\x00 1 1 t\n", b"q"),
        *(b"q Q0 d 1 1 t\v\n", b"q Q0 d 1 1 t\n#", b"q Q0 d 1 1 t\x85\n", b"q Q0 " + b"d" * 2000 + b" 1 1 t\n"),
    ],
)
def test_irregular_lines_are_left_to_others(text: bytes) -> None:
    assert kernel(text)[0] is None


@needs_kernel
def test_a_text_with_more_rows_than_there_is_room_for_is_left_to_others() -> None:
    """A file that grew between counting and reading."""
    said, views, numbers, _ = kernel(b"q Q0 a 1 1 t\n" * 3, rows=2)
    assert said is None
    assert views.shape == (2, 2)
    assert numbers.tolist() == [1, 1]


@needs_kernel
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_a_line_may_be_as_long_as_the_careful_reader_says(end: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    line = b"q Q0 d 1 1 t" + end
    longest = len(line.removesuffix(b"\n"))
    assert kernel(line, longest=longest)[0] is not None
    assert kernel(line, longest=longest - 1)[0] is None
    monkeypatch.setenv("TRUEVAL_MAX_LINE", str(longest - 1))
    with pytest.raises(InputError, match="<file object>:1: a line of more than"):
        Run.read(BytesIO(line))


@needs_kernel
def test_lines_may_be_allowed_more_bytes_than_there_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRUEVAL_MAX_LINE", str(sys.maxsize + 1))
    assert Run.read(BytesIO(b"q Q0 d 1 1 t\n")).documents["doc_id"].to_list() == ["d"]


@needs_kernel
def test_a_part_that_views_cannot_point_into_is_left_to_others() -> None:
    """A line without end, behind a first one that is in order and is not even read; zeros take no memory until then."""
    line = b"q Q0 a 1 7 t\n"
    try:
        text = np.zeros(2**31, np.uint8)
    except MemoryError:
        pytest.skip("the system gives no 2 GiB")
    text[: len(line)] = list(line)
    said, _, numbers, _ = kernel(text, rows=1)
    assert said is None
    assert numbers.tolist() == [0.0]


def scanned(text: LineParts) -> object:
    """What the kernel makes of a run."""
    return scan.scan_text(text, " ", find_row_form(["q", "Q0", "d", "1", "1", "t"], "run", "run.trec", False))


@needs_kernel
def test_no_memory_is_asked_for_rows_that_cannot_be() -> None:
    """Rows take more memory than empty lines: those of a file of 1 GiB would take 28."""
    text = SourceBytes(b"q Q0 d 1 1 t\n" + b"\n" * 1000, "run.trec", "run")
    with patch.object(scan.np, "empty", lambda *_: pytest.fail("memory for rows")):
        assert scanned(parts_in_memory(text)) is None
    assert Run.read(BytesIO(text.data)).documents.height == 1


@needs_kernel
def test_a_file_that_was_emptied_meanwhile_is_left_to_others() -> None:
    head = SourceBytes(b"q Q0 d 1 1 t\n", "run.trec", "run")
    assert scanned(LineParts(head, lambda _: [slice(0, len(head.data))], lambda _: b"", lambda _: b"")) is None


@needs_kernel
@pytest.mark.parametrize("crooked", ["powers", "numbers", "ranks"])
def test_memory_that_is_not_aligned_is_refused(crooked: str) -> None:
    sizes = {"powers": scan._powers_of_five().nbytes, "views": 16, "numbers": 8, "ranks": 4}
    memory = {name: memoryview(bytearray(size + 1))[name == crooked :][:size] for name, size in sizes.items()}
    with pytest.raises(ValueError, match=crooked):
        scan._scan.scan(b"q Q0 a 1 1 t\n", ROLES, 32, 0, 1000, *memory.values())


@needs_kernel
@pytest.mark.parametrize("short", ["powers", "views", "ranks", "roles", "many roles", "text"])
def test_arguments_that_are_too_small_are_refused(short: str) -> None:
    text: object = b"q Q0 a 1 1 t\n"
    powers, views, numbers, ranks = scan._powers_of_five(), np.zeros((1, 2), np.uint64), np.zeros(1), np.zeros(1, "i4")
    roles = {"roles": "", "many roles": "-" * 65}.get(short, ROLES)
    if short == "powers":
        powers = powers[1:]
    if short == "views":
        views = views[:, 0].copy()
    if short == "ranks":
        ranks = ranks[:0]
    if short == "text":
        text = "not bytes"
    with pytest.raises(ValueError if short != "text" else TypeError):
        scan._scan.scan(text, roles, 32, 0, 1000, powers, views, numbers, ranks)


@needs_kernel
def test_memory_that_must_not_be_written_is_refused() -> None:
    numbers = np.zeros(1)
    numbers.flags.writeable = False
    with pytest.raises((TypeError, BufferError, ValueError)):
        scan._scan.scan(b"", ROLES, 32, 0, 1000, scan._powers_of_five(), b"", numbers, b"")


@needs_kernel
@pytest.mark.parametrize("arguments", [("x", b"", []), ("u", b"", ()), ("u", 7, []), ("u", b"", [7]), ("u", b"")])
def test_columns_of_anything_else_are_refused(arguments: tuple[object, ...]) -> None:
    with pytest.raises((TypeError, ValueError, BufferError)):
        scan._scan.export(*arguments)


@needs_kernel
@given(st.binary(max_size=3000) | st.lists(st.sampled_from([b"a\n", b"\n", b"bb"]), max_size=900).map(b"".join))
@examples(200)
def test_lines_are_counted(text: bytes) -> None:
    assert scan._scan.count_lines(text) == text.count(b"\n") + (text != b"" and not text.endswith(b"\n"))


# --- strings ----------------------------------------------------------------------------------------------------------

VISIBLE = st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="#")
LENGTHS = [(1, 5), (11, 14), (40, 60)]  # a view holds 12 bytes
IDS = st.one_of(st.text(VISIBLE, min_size=least, max_size=most) for least, most in LENGTHS)


@needs_kernel
@given(st.lists(st.tuples(IDS, IDS, st.integers(-9, 9)), min_size=1, max_size=60, unique_by=lambda row: row[:2]))
@examples(300)
def test_ids_of_any_length_in_any_part_come_back(rows: list[tuple[str, str, int]]) -> None:
    text = "".join(f"{query} Q0 {document} 1 {score} tag\n" for query, document, score in rows).encode()
    others = patch.object(format_detection, "read_trec", lambda *_: pytest.fail("not by the kernel"))
    with patch.object(scan, "PART", 100), others:
        run = Run.read(BytesIO(text), format="trec")
    first = {query: place for place, query in reversed(list(enumerate(row[0] for row in rows)))}
    expected = sorted(((q, d, float(s)) for q, d, s in rows), key=lambda row: first[row[0]])
    assert run.frame.select("query_id", "doc_id", "score").rows() == expected
    assert run.query_ids.to_list() == list(dict.fromkeys(query for query, _, _ in rows))


@needs_kernel
def test_columns_keep_their_memory_as_long_as_anything_needs_it() -> None:
    rows = [(f"query-{place // 50:020d}", f"document-{place:020d}", place / 7) for place in range(5000)]
    text = "".join(f"{q} Q0 {d} 1 {s!r} t\n" for q, d, s in rows).encode()
    with patch.object(scan, "PART", 1000):
        run = Run.read(BytesIO(text))
    documents, scores, queries = run.documents["doc_id"][::7], run.documents["score"].to_numpy()[::7], run.query_ids
    again = pickle.loads(pickle.dumps(run))
    del run
    gc.collect()
    waste = [np.full((1000, 2), place, np.uint64) for place in range(100)]
    assert documents.to_list() == [document for _, document, _ in rows[::7]]
    assert scores.tolist() == [score for _, _, score in rows[::7]]
    assert queries.to_list() == [rows[place][0] for place in range(0, 5000, 50)]
    assert again.frame.select("query_id", "doc_id", "score").rows() == rows
    assert len(waste) == 100


@needs_kernel
def test_queries_do_not_keep_the_texts_of_documents_in_memory() -> None:
    """Views of long strings point into the texts of all."""
    text = "".join(f"query-of-{place // 9:020d} Q0 document-{place:020d} 1 1 t\n" for place in range(99)).encode()
    texts: list[list[bytes]] = []
    kept = scan._series
    with patch.object(scan, "_series", lambda *given: texts.append(given[3:]) or kept(*given)):
        run = Run.read(BytesIO(text))
    (buffers,) = texts[0]
    queries, references = run.query_ids, sys.getrefcount(buffers[0])
    del run
    gc.collect()
    left = sys.getrefcount(buffers[0])
    assert left < references
    assert queries.to_list() == [f"query-of-{place:020d}" for place in range(11)]


@needs_kernel
def test_a_column_that_nobody_takes_is_given_back() -> None:
    values = bytearray(32)
    capsules = scan._scan.export("u", values, [])
    with pytest.raises(BufferError):
        values.extend(b"x")
    del capsules
    values.extend(b"x")


@needs_kernel
@pytest.mark.skipif(sys.version_info < (3, 12), reason="buffers made in Python came with 3.12")
def test_a_text_that_leaves_its_list_while_it_is_asked_for_memory() -> None:
    class Text:
        def __buffer__(self, flags: int) -> memoryview:
            texts.clear()
            return memoryview(b"text")

    texts: list[object] = [Text(), Text()]
    with pytest.raises(IndexError):
        scan._scan.export("u", bytes(16), texts)


@needs_kernel
def test_infinities_and_words_come_from_the_others() -> None:
    run = Run.read(BytesIO(b"q Q0 a 1 inf t\nq Q0 b 2 1 t\n"))
    assert run.documents["score"].to_list() == [math.inf, 1.0]
