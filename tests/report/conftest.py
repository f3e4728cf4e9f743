"""A page of the browser for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from tests.report.browser import Tab

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Tab]:
    context = browser.new_context(no_viewport=True)  # its width is that of Tab.open
    yield Tab(context.new_page())
    context.close()
