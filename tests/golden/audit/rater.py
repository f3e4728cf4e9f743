"""Pages of an audit as raters use them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page


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


# Another passage than before, or the end; "One moment" is neither: until the next passage is there, keys mean nothing.
WENT_ON = """document.querySelector('#texts').firstChild !== window.before
  || document.getElementById('item').hidden && document.getElementById('message-title').textContent !== 'One moment'"""


def press(page: Page, key: str) -> None:
    """A key, and the next passage, or the end."""
    page.evaluate("window.before = document.querySelector('#texts').firstChild")
    page.keyboard.press(key)
    until(page, WENT_ON)


def saved(page: Page) -> None:
    """Wait until the server has everything."""
    until(page, "document.getElementById('saved').textContent === 'All saved'")
