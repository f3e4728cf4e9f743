"""Debian's Chromium, driven by playwright: pages of an audit as raters use them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser; the test is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip("no Chromium here; Debian has it as the package chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=OPTIONS)
        yield browser
        browser.close()


def until(page: Page, condition: str, patience: float = 20.0) -> None:
    """Wait until something holds. playwright's own way asks for `eval`, which the policy of the page forbids."""
    deadline = time.monotonic() + patience
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, f"{condition}: {page.inner_text('body')}"
        page.wait_for_timeout(10)


def come(page: Page, address: str, rater: str) -> None:
    """Open the page and give a name, by keyboard."""
    page.goto(address)
    until(page, "document.activeElement?.id === 'rater'")
    page.keyboard.press("Control+A")  # the last name that this browser knew
    page.keyboard.type(rater)
    page.keyboard.press("Enter")
    page.wait_for_selector("#item:visible, #retry:visible")


def passage(page: Page) -> str:
    """What is shown below the query; empty where nothing is to be graded."""
    return page.evaluate("document.getElementById('item').hidden ? '' : document.getElementById('texts').innerText")


def press(page: Page, key: str) -> None:
    """A key, and the next passage, or the end."""
    page.evaluate("window.before = document.querySelector('#texts').firstChild")
    page.keyboard.press(key)
    until(
        page, "document.querySelector('#texts').firstChild !== window.before || document.getElementById('item').hidden"
    )


def saved(page: Page) -> None:
    """Wait until the server has everything."""
    until(page, "document.getElementById('saved').textContent === 'All saved'")
