"""The page of an audit in Chromium: by keyboard alone, with hostile texts, without its server, with a screen reader."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.golden.audit.rater import come, passage, press, saved, until
from tests.golden.audit.served import Process, drawn, plain, served

from trueval.golden.audit.store.audit_store import AuditStore

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A rater's browser; whatever it complains of fails the test."""
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if "ERR_CONNECTION_REFUSED" not in said.text else None)
    # The page warns whoever leaves with labels that are not sent; no other box may open.
    page.on("dialog", lambda box: box.accept() if box.type == "beforeunload" else complaints.append(box.message))
    yield page
    context.close()
    assert not complaints


def given(store: AuditStore, rater: str) -> dict[str, tuple[int | None, str]]:
    """Passage or texts → what a rater said of it, and the note."""
    return {
        " / ".join(store.read_item(item).texts): (label.grade, label.note)
        for item, labels in store.labels().items()
        for label in labels
        if label.rater == rater
    }


def test_a_rater_grades_with_the_keyboard_alone(page: Page, tmp_path: Path) -> None:
    with served(drawn(tmp_path / "a", grades=plain(7), orders=[("which", "first", "second")] * 1)) as here:
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        come(page, here.address.url("127.0.0.1"), "Ann")
        assert here.address.token not in page.url
        shown = [passage(page)]
        for key in "5", "1", "s":
            press(page, key)
            shown.append(passage(page))
        held = "{key: '5', code: 'Digit5', repeat: true, bubbles: true}"  # a key that is not let go of
        page.evaluate(f"document.body.dispatchEvent(new KeyboardEvent('keydown', {held}))")
        press(page, "u")  # the skip
        assert passage(page) == shown[2]
        press(page, "u")
        assert passage(page) == shown[1]
        assert page.inner_text("#before") == "You said 1."
        page.keyboard.press("n")
        page.keyboard.type("looks like 1, 5 or u")
        page.keyboard.press("Control+Enter")
        press(page, "4")
        assert passage(page) == shown[2]
        for key in "3", "2", "3", "4", "5":
            press(page, key)
        page.keyboard.press("7")  # no such grade here
        assert page.inner_text("#texts .text:first-child .words") == "first"
        press(page, "ArrowLeft")
        saved(page)
        assert page.inner_text("#message-title") == "Nothing is left for you"
        assert page.inner_text("#counts") == "8 by you · 8 of 8 by all"
        found = given(here.store, "Ann")
        assert [found[words] for words in shown[:3]] == [(5, ""), (4, "looks like 1, 5 or u"), (3, "")]
        assert found["first / second"] == (1, "")
        assert len(found) == 8
        assert {url.split("/", 3)[2] for url in requests} == {here.host}
        assert not [url for url in requests if here.address.token in url.partition("#")[0]]


# Work comes late: after the first items, window.late milliseconds after the server has given it.
LATE = """const soon = window.fetch;
window.late = 0;
window.fetch = async (path, how) => {
  const answer = await soon(path, how);
  if (path === "/api/items") await new Promise((done) => setTimeout(done, window.late));
  return answer;
};"""


def test_a_key_grades_what_is_shown_and_nothing_that_is_still_to_come(page: Page, tmp_path: Path) -> None:
    with served(drawn(tmp_path / "a", grades=plain(14))) as here:
        page.add_init_script(LATE)
        come(page, here.address.url("127.0.0.1"), "Ann")
        page.evaluate("window.late = 2000")
        for _ in range(6):  # there are four passages: the page asks for more after the first key
            page.keyboard.press("2")
        assert page.inner_text("#message-title") == "One moment"
        page.evaluate("window.late = 300")
        page.wait_for_selector("#item:visible")
        for _ in range(10):
            press(page, "3")
        saved(page)
        assert page.inner_text("#message-title") == "Nothing is left for you"
        assert sorted(str(grade) for grade, _ in given(here.store, "Ann").values()) == [*"2222", *"3" * 10]


HOSTILE = (
    "<script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 2'>",
    "<svg onload=window.hacked=3><a href='javascript:window.hacked=4'>x</a>",
    "</div></article><iframe srcdoc='<script>parent.hacked=5</script>'></iframe>",
    "{{constructor.constructor('window.hacked=6')()}}<base href='http://evil.example/'>",
    "\u202egnp.exe <style>*{display:none}</style>",
)


def test_texts_names_and_notes_are_inert(page: Page, tmp_path: Path) -> None:
    with served(drawn(tmp_path / "a", grades=[(f"{text} ?", text) for text in HOSTILE])) as here:
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        come(page, here.address.url("127.0.0.1"), HOSTILE[1])
        for _ in HOSTILE:
            words = page.evaluate("document.querySelector('.words').textContent")
            assert words in HOSTILE
            assert page.evaluate("document.getElementById('query').textContent") == f"{words} ?"
            page.keyboard.press("n")
            page.keyboard.insert_text(words.replace("\u202e", ""))
            page.keyboard.press("Control+Enter")
            assert page.evaluate(
                "[window.hacked, frames.length, document.querySelectorAll('#item script, #item img, #noted *').length]"
            ) == [None, 0, 0]
            press(page, "3")
        saved(page)
        assert page.inner_text("#name") == HOSTILE[1]
        assert page.evaluate("window.hacked") is None
        assert {url.split("/", 3)[2] for url in requests} == {here.host}
        assert len(given(here.store, HOSTILE[1])) == len(HOSTILE)


@pytest.mark.evidence
def test_labels_outlive_a_server_that_is_killed_and_a_page_that_is_closed(page: Page, tmp_path: Path) -> None:
    process = Process(drawn(tmp_path / "a", grades=plain(9)))
    address = process.address
    try:
        come(page, address, "Ann")
        press(page, "1")
        saved(page)
        until(page, "performance.getEntriesByName(location.origin + '/api/items').length > 1")
        process.kill()
        for key in "2", "u", "3", "4", "u":
            press(page, key)
        until(page, "document.getElementById('saved').textContent === '5 kept here, server away'")
        page.goto("about:blank")
        process.start()
        assert process.address == address
        page.goto(address)
        page.wait_for_selector("#item:visible")
        saved(page)
        for _ in range(7):  # what was taken back without the server is there again
            press(page, "5")
        saved(page)
        assert page.inner_text("#message-title") == "Nothing is left for you"
    finally:
        assert process.stop() == 0
    with AuditStore.open(tmp_path / "a") as store:
        grades = [label.grade for labels in store.labels().values() for label in labels]
    assert sorted(map(str, grades)) == ["1", "3", *"5555555"]


LONG = "Grenzüberschreitungsverfahrensbeschleunigungsgesetz" * 12
ARABIC = "ما هو الرقم الذي يأتي بعد السبعة؟\nالرقم ثمانية يأتي بعد السبعة."
TEXTS = [("line breaks", "one\n\ntwo\n  three"), (LONG, LONG), ("ما هو الرقم؟", ARABIC), ("long", "many words " * 1500)]

# Texts whose color is too near to that of the ground that they are on, as WCAG 2 counts contrast.
CONTRAST = """() => {
  const parts = (color) => color.match(/[\\d.]+/g).map(Number);
  const linear = (value) => value / 255 <= .03928 ? value / 255 / 12.92 : ((value / 255 + .055) / 1.055) ** 2.4;
  const light = (color) => [.2126, .7152, .0722].reduce((sum, weight, place) => sum + weight * linear(color[place]), 0);
  const ground = (node) => {
    const color = parts(getComputedStyle(node).backgroundColor);
    return color[3] !== 0 ? color : node.parentElement ? ground(node.parentElement) : [255, 255, 255];
  };
  const ratio = (node) => {
    const [a, b] = [light(parts(getComputedStyle(node).color)), light(ground(node))];
    return (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  };
  const has = (node) => [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
  return [...document.querySelectorAll("body *")].filter((node) => node.checkVisibility() && has(node))
    .filter((node) => !node.closest(":disabled"))
    .filter((node) => ratio(node) < 4.5).map((node) => `${node.tagName} ${node.id} ${ratio(node)}`);
}"""
TOO_WIDE = "document.documentElement.scrollWidth - innerWidth"
BELOW = "document.getElementById('choices').getBoundingClientRect().bottom - innerHeight"


def test_long_texts_and_scripts_from_the_right_fit_every_screen(browser: Browser, tmp_path: Path) -> None:
    with served(drawn(tmp_path / "a", grades=TEXTS, orders=[("which", LONG, ARABIC)])) as here:
        for width, scheme in ((390, "light"), (1280, "dark")):
            context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)  # type: ignore[arg-type]
            page = context.new_page()
            come(page, here.address.url("127.0.0.1"), f"rater {width}")
            for _ in range(6):
                assert page.evaluate(TOO_WIDE) <= 0
                assert page.evaluate(CONTRAST) == []
                assert page.evaluate(BELOW) <= 0
                words = passage(page)
                if words.startswith("ما"):
                    assert page.evaluate("getComputedStyle(document.querySelector('.words')).direction") == "rtl"
                if "three" in words:
                    assert words == "one\n\ntwo\n  three"
                if words:
                    press(page, "s")
            context.close()


def test_a_screen_reader_finds_what_changes_and_what_to_press(page: Page, tmp_path: Path) -> None:
    with served(drawn(tmp_path / "a", grades=plain(3))) as here:
        come(page, here.address.url("127.0.0.1"), "Ann")
        assert page.evaluate("document.activeElement.id") == "item"
        assert page.evaluate("[...document.querySelectorAll('main, header, article, [aria-live]')].length") == 4
        tree = page.locator("body").aria_snapshot()
        for line in ("- banner:", "- main:", "- article", "- progressbar", 'button "5: It answers the query in full'):
            assert line in tree
        unnamed: list[Any] = page.evaluate(
            "[...document.querySelectorAll('button, input, textarea')].filter((each) => !each.labels?.length && "
            "!each.ariaLabel && !each.textContent.trim()).map((each) => each.id)"
        )
        assert unnamed == []
        press(page, "2")
        assert page.inner_text("#told") == "Said 2. Next: Query and passage."
        assert page.evaluate("document.activeElement.id") == "item"
        page.keyboard.press("?")
        assert page.evaluate("document.activeElement.closest('dialog')?.id") == "help-box"
        page.keyboard.press("1")  # a dialog takes its own keys: nothing is graded behind it
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.id") == "item"
        page.keyboard.press("?")
        page.uncheck("#shortcuts")
        page.keyboard.press("Escape")
        page.keyboard.press("1")  # single keys are off: whoever dictates says words, not grades
        saved(page)
        assert len(given(here.store, "Ann")) == 1
        page.evaluate("() => new Promise((done) => setTimeout(done, 100))")  # a closed dialog gives its focus back late
        page.focus("#choices button:nth-child(4)")
        until(page, "document.activeElement === document.querySelector('#choices button:nth-child(4)')")
        press(page, "Enter")
        saved(page)
        assert sorted(grade for grade, _ in given(here.store, "Ann").values()) == [2, 4]  # type: ignore[type-var]


def test_help_that_is_asked_for_as_soon_as_it_is_closed_stays_open(page: Page, tmp_path: Path) -> None:
    with served(drawn(tmp_path / "a", grades=plain(3))) as here:
        come(page, here.address.url("127.0.0.1"), "Ann")
        page.keyboard.press("?")
        page.evaluate("""() => {
            const box = document.getElementById("help-box");
            window.closings = new Promise((done) => box.addEventListener("close", () => setTimeout(done, 0)));
            box.close();
            document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "?", bubbles: true }));
            return window.closings;
        }""")
        assert page.evaluate("document.getElementById('help-box').open")
        page.keyboard.press("Escape")
        until(page, "document.activeElement.id === 'item'")


@pytest.mark.evidence
def test_two_raters_are_shown_different_items_where_one_label_is_wanted(browser: Browser, tmp_path: Path) -> None:
    with served(drawn(tmp_path / "a", grades=plain(10))) as here:
        pages = []
        for rater in "Ann", "Bob":
            page = browser.new_context().new_page()
            come(page, here.address.url("127.0.0.1"), rater)
            pages.append(page)
        for _ in range(5):
            for page in pages:
                press(page, "3")
        for page in pages:
            saved(page)
            page.context.close()
        assert [len(given(here.store, rater)) for rater in ("Ann", "Bob")] == [5, 5]
        assert all(len(labels) == 1 for labels in here.store.labels().values())


def test_keys_of_other_keyboards_grade_by_their_place(page: Page, tmp_path: Path) -> None:
    with served(drawn(tmp_path / "a", grades=plain(6))) as here:
        come(page, here.address.url("127.0.0.1"), "  Ann \u00a0 Lee ")
        for key, code, shift in (
            ("(", "Digit5", False),  # French: digits need Shift
            ("\u0661", "Digit1", False),  # Arabic digits
            ("\u044b", "KeyS", False),  # Russian: skip
            ("!", "Digit1", True),  # American: a letter of its own, which means nothing
            ("Process", "KeyS", False),  # an input method is at work
            ("2", "Numpad2", False),
        ):
            how = f"{{key: '{key}', code: '{code}', shiftKey: {str(shift).lower()}, bubbles: true}}"
            page.evaluate(f"document.body.dispatchEvent(new KeyboardEvent('keydown', {how}))")
        saved(page)
        said = [label.grade for labels in here.store.labels().values() for label in labels]
        assert sorted(map(str, said)) == ["1", "2", "5", "None"]
        assert list(here.store.progress()[0].raters) == ["Ann Lee"]


NO_STORAGE = """for (const name of ["localStorage", "sessionStorage"]) {
  Object.defineProperty(window, name, { get() { throw new DOMException("no", "SecurityError"); } });
}"""


@pytest.mark.evidence
def test_a_browser_that_keeps_nothing_grades_and_says_what_is_not_saved(page: Page, tmp_path: Path) -> None:
    process = Process(drawn(tmp_path / "a", grades=plain(6)))
    page.add_init_script(NO_STORAGE)
    come(page, process.address, "Ann")
    press(page, "1")
    saved(page)
    until(page, "performance.getEntriesByName(location.origin + '/api/items').length > 1")
    process.kill()
    press(page, "2")
    until(page, "document.getElementById('saved').textContent === '1 not saved: do not close'")
    process.start()
    saved(page)
    assert process.stop() == 0
    with AuditStore.open(tmp_path / "a") as store:
        grades = [label.grade for labels in store.labels().values() for label in labels]
    assert sorted(map(str, grades)) == ["1", "2"]
