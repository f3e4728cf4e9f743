"""JSON as json.dumps writes it, without its slow way."""

import json
import math
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueval.report.formats import json_parts, to_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=4))
def test_json_is_as_json_dumps_indents_it(value: dict[str, Any]) -> None:
    assert to_json(value) == json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def test_json_takes_iterables_and_names_that_are_no_text() -> None:
    value = {1: iter([{"a": (1, 2)}, {"b": {}}, {"c": []}]), "d": range(3), None: iter(()), "e": np.float64(0.1)}
    like = {1: [{"a": [1, 2]}, {"b": {}}, {"c": []}], "d": [0, 1, 2], None: [], "e": 0.1}
    assert to_json(value) == json.dumps(like, indent=1) + "\n"


@pytest.mark.parametrize("value", [{"a": math.nan}, {"a": [math.inf]}, {"a": [{"b": 1.0}, {"b": math.nan}]}])
def test_json_has_no_nan(value: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json(value)


def test_an_object_of_texts_and_numbers_is_one_part() -> None:
    """Written by the part of json that is in C: 100,000 rows are 10 parts for 10,000 rows each, and a few more."""
    assert len(list(json_parts({"rows": [{"query": str(row), "value": 0.5} for row in range(100_000)]}))) < 20


def test_any_mapping_is_an_object() -> None:
    assert to_json({"a": MappingProxyType({"b": 1, "c": None})}) == to_json({"a": {"b": 1, "c": None}})
