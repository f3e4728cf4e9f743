"""The quick parser reads and writes what `json` does, to the last bit."""

import json
import math
import random
import struct

import pytest

from trueval.files.json.quick_json import read_json, write_json

TEXTS = [
    "null",
    "-0.0",
    "1e999",
    "[NaN, -Infinity]",
    r'"\ud800 and \ud83d\ude00"',
    '{"a": 1, "a": 2}',
    "[" * 300 + "]" * 300,
    "123456789012345678901234567890",
    " [1.0, 2]\r\n",
]


@pytest.mark.parametrize("text", TEXTS)
def test_values_are_those_of_json(text: str) -> None:
    expected = json.loads(text)
    assert repr(read_json(text)) == repr(expected) == repr(read_json(text.encode()))
    assert repr(json.loads(write_json(expected))) == repr(expected)


@pytest.mark.parametrize("text", ["", "[1,]", "01", '"\x01"', "{'a': 1}", "[1] 2", "\ufeff1", "1" * 5000, "tru"])
def test_what_json_refuses_is_refused_in_its_words(text: str) -> None:
    with pytest.raises(ValueError) as expected:  # noqa: PT011 - the message is compared
        json.loads(text)
    with pytest.raises(ValueError) as found:  # noqa: PT011
        read_json(text)
    assert str(found.value) == str(expected.value)


def test_numbers_keep_every_bit() -> None:
    rng = random.Random(1)
    drawn = (struct.unpack("d", rng.randbytes(8))[0] for _ in range(20_000))
    for number in [each for each in drawn if math.isfinite(each)]:
        assert read_json(repr(number)) == number
        assert json.loads(write_json(number)) == number
