"""Corrected values as Python shows them."""

import re
from pathlib import Path

from tests.golden.audited_world import written

import trueval as tv


def test_printed_it_is_a_table(tmp_path: Path) -> None:
    world = written(tmp_path, design="documents", sampled=80)
    runs = {f"<{path.stem}>": str(path) for path in world.runs[:2]}
    found = tv.correct(runs, str(world.golden), tv.AuditSample.read(world.audit), "DCG@5 RR(rel=4)")
    shown = repr(found)
    value = found.of("<honest>", "DCG@5").corrected.estimate
    assert f"{value:.4f}" in shown
    assert shown.startswith("<honest> is first in DCG@5 by people's labels, with ")
    assert "RR(rel=4): not corrected: " in shown
    assert max(map(len, shown.splitlines())) <= 100
    html = found._repr_html_()
    assert "&lt;honest&gt; - &lt;flattered&gt;" in html
    assert "<honest>" not in html
    assert len(re.findall("<table", html)) == 2
