"""Two raters by keyboard alone while their server is killed again and again: no label lost, none counted twice."""

from __future__ import annotations

import random
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.golden.audit.rater import come, passage, press, saved, until
from tests.golden.audit.served import Process, drawn, plain

from trueval.golden.audit.store.audit_store import EVENTS, AuditStore

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.evidence

KILLS, ITEMS = 20, 150
# From a key to the frame after the one that shows the next passage.
CLOCK = """
window.times = [];
addEventListener("keydown", ({ timeStamp, key }) => /^[1-5]$/.test(key) && requestAnimationFrame(() => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => window.times.push(performance.now() - timeStamp);
  port2.postMessage(null);
}), true);
"""


class Rater:
    """A person at a keyboard, who remembers what they said of which passage."""

    def __init__(self, page: object, name: str, rng: random.Random) -> None:
        self.page, self.name, self.rng = page, name, rng
        self.said: list[tuple[str, str]] = []
        self.pressed = {"grade": 0, "skip": 0, "undo": 0}

    def act(self) -> None:
        shown = passage(self.page)
        if not shown:
            return
        key = self.rng.choice("1234512345su")
        if key == "u" and not self.said:
            return
        self.pressed["undo" if key == "u" else "skip" if key == "s" else "grade"] += 1
        if key == "u":
            self.said.pop()
        else:
            self.said.append((shown, key))
        press(self.page, key)

    def finish(self) -> None:
        while True:
            until(self.page, "!document.getElementById('item').hidden || !document.getElementById('retry').hidden")
            if not (shown := passage(self.page)):
                return
            self.said.append((shown, "3"))
            self.pressed["grade"] += 1
            press(self.page, "3")


def test_no_label_is_lost_and_none_counts_twice_when_the_server_is_killed(browser: Browser, tmp_path: Path) -> None:
    rng = random.Random(18)
    process = Process(drawn(tmp_path / "a", grades=plain(ITEMS), raters=2))
    kills_at_work, times = 0, []
    raters = []
    for name in "Ann", "Bob":
        page = browser.new_context().new_page()
        page.add_init_script(CLOCK)
        come(page, process.address, name)
        raters.append(Rater(page, name, rng))
    for _ in range(KILLS):
        for _ in range(rng.randrange(1, 6)):
            for each in raters:
                each.act()
        kills_at_work += any(each.page.inner_text("#saved") != "All saved" for each in raters)
        process.kill()  # with events on their way: the last key is a moment old
        for _ in range(rng.randrange(0, 4)):
            for each in raters:
                each.act()
        time.sleep(rng.random() / 2)
        process.start()
    for each in raters:
        each.finish()
        saved(each.page)
        times += each.page.evaluate("window.times")
        assert each.page.evaluate("document.getElementById('refused').hidden")
    assert process.stop() == 0
    with AuditStore.open(tmp_path / "a") as store:
        texts = {item: store.read_item(item).texts[0] for item in store.items}
        labels = store.labels()
    for each in raters:
        kept = {texts[item]: label.grade for item, said in labels.items() for label in said if label.rater == each.name}
        assert kept == {text: None if key == "s" else int(key) for text, key in each.said}
        assert len(each.said) == ITEMS
    every = "SELECT rater, kind, count(*), count(DISTINCT event) FROM events GROUP BY 1, 2"
    with closing(sqlite3.connect(tmp_path / "a" / EVENTS)) as base:
        rows = base.execute(every).fetchall()
    counted = {(rater, kind): (count, distinct) for rater, kind, count, distinct in rows}
    assert counted == {
        (each.name, kind): (count, count) for each in raters for kind, count in each.pressed.items() if count
    }
    assert kills_at_work > 0
    times.sort()
    events, given = sum(count for count, _ in counted.values()), sum(map(len, labels.values()))
    median, late = times[len(times) // 2], times[int(len(times) * 0.95)]
    print(f"\n{KILLS} kills, {kills_at_work} with events on their way; {events} events, {given} labels")
    print(f"from key to next passage: median {median:.0f} ms, 95 % {late:.0f} ms of {len(times)}")
