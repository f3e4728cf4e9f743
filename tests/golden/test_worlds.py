"""The worlds of `golden simulate`."""

import re

import pytest

from trueval.golden.worlds import WORLDS


@pytest.mark.parametrize("name", WORLDS)
def test_a_world_has_as_many_documents_as_it_says(name: str) -> None:
    said = re.match(r"\d+(?= documents)", WORLDS[name].about)
    assert sum(count for _, count in WORLDS[name].sizes) == int(said.group() if said else 40)
