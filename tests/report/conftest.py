"""One browser for the tests of a module."""

from collections.abc import Iterator

import pytest
from tests.report.browser import Tab, browser, find_browser


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    program = find_browser()
    if program is None:
        pytest.skip("no Chromium here; Debian has it as the package chromium")
    with browser(program, tmp_path_factory.mktemp("profile")) as opened:
        yield opened
