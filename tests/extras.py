"""Test modules that need a library of an extra."""

from __future__ import annotations

from importlib.util import find_spec

import pytest


def need(*modules: str, extra: str) -> None:
    """Skip the calling test module where one of these is not installed; none is imported before a test runs.

    pytest.importorskip imports, and what it imports at the top of test modules was most of the time that pytest took
    to collect them.
    """
    for module in modules:
        if find_spec(module) is None:
            pytest.skip(f"{module}, of the extra {extra}, is not installed", allow_module_level=True)
