"""Timing collects garbage before what it times."""

import gc

import pytest


@pytest.fixture(scope="module", autouse=True)
def collections_search_new_objects_only() -> None:
    """Collecting goes through all objects: a third of a second each time, after the tests of other rooms."""
    gc.collect()
    gc.freeze()
